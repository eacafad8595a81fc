"""Tests the byte code of statements, the file, the disassembler and the assembler."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import pytest
import xxhash
from sial_programs import names, program_of

from conftest import ROOT
from outboard.errors import OutboardError
from outboard.sial.assemble import assemble
from outboard.sial.bytecode import read, write
from outboard.sial.compiler import Options, compile_file, compile_text
from outboard.sial.disassemble import disassemble
from outboard.sial.records import NONE, SECTIONS

IMPORTED = {"transform.sial"}  # has no program of its own, so it compiles with a warning
EXAMPLES = sorted(
    file for file in (ROOT / "examples" / "sial").glob("*.sial") if file.name not in IMPORTED
)
LOOPS = "  do i\n    do j\n      do s\n        {}\n      enddo s\n    enddo j\n  enddo i"


@pytest.mark.parametrize(
    ("statement", "operations"),
    [
        ("a[i,j] = 1.0", ["push_scalar", "block_fill"]),
        ("a[i,j] *= x", ["push_scalar_variable", "block_fill"]),
        ("a[i,j] = b[j,i]", ["block_copy"]),
        ("a[i,j] += a[i,j]", ["block_copy"]),
        ("a[i,j] = a[i,j] + a[i,j]", ["block_add"]),
        ("a[i,j] = a[i,j] - m[i,j]", ["block_subtract"]),
        ("a[i,j] -= (x + 1.0) * a[i,j]", [
            "push_scalar_variable", "push_scalar", "scalar_add", "block_scale"]),
        ("a[i,j] = a[i,j] * e[s]", ["push_element", "block_scale"]),
        ("x = a[i,j] * b[j,i]", ["push_contraction", "store_scalar"]),
        ("x += e[s] * e[s]", ["push_element", "push_element", "scalar_multiply", "store_scalar"]),
        ("e[s] = e[s] * 2.0 + 1.0", [
            "push_element", "push_scalar", "scalar_multiply", "push_scalar", "scalar_add",
            "block_fill"]),
        ("e[s] = v[s]", ["block_copy"]),
        ("n = i + s", ["push_index", "push_index", "int_add", "store_int"]),
        ("m = x", ["push_scalar_variable", "static_fill"]),
        ("m += m", ["static_copy"]),
        ("region[1:2,i:i] = 1.0", [
            "push_int", "push_int", "push_index", "push_index", "push_scalar", "region_fill"]),
        ("region[i:i,j:j] = a[i,j]", ["push_index"] * 4 + ["region_store"]),
        ("a[i,j] = region[i:i,j:j]", ["push_index"] * 4 + ["region_load"]),
        ("put d[i,j] += 2.0", ["push_scalar", "put_scalar"]),
        ("put d[i,j] = m[i,j]", ["put_block"]),
        ("print e[s]", ["print_block"]),
        ("println x", ["print_scalar_variable"]),
        ("print x + 1.0", ["push_scalar_variable", "push_scalar", "scalar_add", "print_scalar"]),
        ("print m", ["print_static"]),
    ],
)  # fmt: skip
def test_operations_of_a_statement(statement: str, operations: list[str]) -> None:
    program = program_of(LOOPS.format(statement), level=0)
    assert names(program)[3:-4] == operations


def test_outer_product_and_contraction() -> None:
    declarations = "\n  aoindex i = 1:2\n  aoindex j = 1:2\n  index s = 1:2\n"
    declarations += "  temp t[i,j]\n  temp p[i]\n  temp q[j]\n  temp o[s]\n  scalar x\n"
    body = LOOPS.format("t[i,j] = p[i] ^ q[j]\n o[s] += p[i] * p[i]\n q[j] -= t[i,j] * p[i]")
    program = program_of(body, declarations=declarations)
    assert names(program)[3:-4] == ["block_outer", "block_contract", "block_contract"]
    assert [one["x"] for one in program["code"][3:-4]] == [0, 1, 2]


def test_slices() -> None:
    inner = "do ii in i\n part[ii,j] = a[ii,j]\n a[ii,j] = part[ii,j]\n enddo ii in i"
    program = program_of(LOOPS.format(inner))
    assert names(program)[4:6] == ["block_slice", "block_insert"]
    assert program["loop"][3]["kind"] == 1


def test_control_flow() -> None:
    body = """
  do i
    where i > 1
    where x < 2.0
    if i == 2
      cycle
    else
      exit
    endif
  enddo i
  call p"""
    text = "\n  aoindex i = 1:4\n  scalar x\n  proc p\n    if x > 1.0\n      return\n    endif\n"
    program = program_of(body, declarations=f"{text}  endproc p\n")
    assert names(program) == [
        "loop_begin", "push_index", "push_int", "compare_ints", "where",
        "push_scalar_variable", "push_scalar", "compare_scalars", "where",
        "push_index", "push_int", "compare_ints", "jump_if_false", "loop_cycle", "jump",
        "loop_exit", "loop_end", "call", "halt",
        "push_scalar_variable", "push_scalar", "compare_scalars", "jump_if_false", "return",
        "return",
    ]  # fmt: skip
    code = program["code"]
    assert [code[one]["a"] for one in (12, 14, 17, 22)] == [15, 16, 1, 24]
    assert (program["loop"][0]["begin"], program["loop"][0]["body"]) == (0, 9)
    assert program["loop"][0]["end"] == 16
    assert [(one["first"], one["end"]) for one in program["proc"]] == [(0, 19), (19, 25)]


def test_sections_and_accesses() -> None:
    body = """
  section
    pardo i, j "guided"
      where i < j
      do k
        get d[i,j]
        if n > 2
          get d[j,k]
        endif
        if x > 2.0
          get d[i,k]
          x = 1.0
          exit
        endif
      enddo k
    endpardo i, j
  endsection
  do i
    do j
      get d[i,j]
      sip_barrier
    enddo j
  enddo i"""
    program = program_of(body)
    accesses = [(one["flags"], one["loops"][: one["count"]]) for one in program["access"]]
    assert accesses == [(6, [1, 0]), (7, [1, 0]), (5, [1, 0]), (2, [])]
    assert [one["section"] for one in program["loop"]] == [0, NONE, NONE, NONE]
    assert program.string(program["loop"][0]["schedule"]) == "guided"


def test_level_0_keeps_what_is_not_used() -> None:
    assert len(program_of("  x = 1.0", level=0)["array"]) == 9
    assert len(program_of("  x = 1.0", level=1)["array"]) == 0


def test_the_file_is_as_the_page_says() -> None:
    data = write(program_of("  x = 1.0"))
    magic, version, rank, count, length, digest = struct.unpack_from("<8sHHIQQ", data)
    assert (magic, version, rank, count) == (b"\x89SIAL\r\n\x1a", 1, 8, 16)
    assert length == len(data)
    assert digest == xxhash.xxh3_64_intdigest(data[32 : 32 + 16 * 32])
    end = 32 + 16 * 32
    sizes = [16, 40, 0, 8, 8, 16, 16, 40, 40, 8, 16, 40, 96, 16, 12, 80]
    for kind in range(16):
        entry = struct.unpack_from("<IIQQQ", data, 32 + kind * 32)
        start = (end + 7) // 8 * 8
        end = start + entry[3]
        assert entry[0] == kind + 1
        assert entry[2] == start
        assert entry[4] == xxhash.xxh3_64_intdigest(data[start:end])
        if sizes[kind]:
            assert entry[3] == entry[1] * sizes[kind]
    assert end == len(data)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_text_and_bytes_convert_both_ways(file: Path, level: int) -> None:
    result = compile_file(file, str(file), Options(level=level))
    assert result.code is not None, result.render()
    assert result.render() == ""
    text = disassemble(read(result.code), file.parent)
    assert write(assemble(text)) == result.code
    assert any(line.startswith(";") and "sial" in line for line in text.splitlines())


def test_the_assembler_takes_code_without_meaning() -> None:
    program = program_of("  x = 1.0")
    program["code"][0].update(op=999, x=65535, a=NONE)
    program["int_constant"].append({"value": -(2**63)})
    program["scalar_constant"].append({"value": float("inf")})
    program["string"].append({"text": 'a "quoted" ; ü\n text'})
    program["array"].append(
        {"name": 77, "storage": 9, "flags": 255, "rank": 3, "indices": [1, NONE, 2] + [NONE] * 5}
    )
    data = write(program)
    assert write(assemble(disassemble(read(data)))) == data


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sial_bytecode 2",
        "sial_bytecode 1\nnothing 0 a=1",
        "sial_bytecode 1\nint_constant 1 value=1",
        "sial_bytecode 1\nint_constant 0 value=9223372036854775808",
        "sial_bytecode 1\nint_constant 0 value=1 more=2",
        "sial_bytecode 1\nint_constant 0",
        "sial_bytecode 1\nstring 0 text=5",
        "sial_bytecode 1\ncode 0 halt",
        "sial_bytecode 1\ncode 0 fly at=0:1:1",
        "sial_bytecode 1\ncode 0 halt a=4294967296 at=0:1:1",
        "sial_bytecode 1\nselector 0 array=0 indices=[1,2,3,4,5,6,7,8,9]",
        "sial_bytecode 1\nproc",
    ],
)
def test_the_assembler_refuses_other_text(text: str) -> None:
    with pytest.raises(OutboardError):
        assemble(text)


def test_the_reader_refuses_damaged_files() -> None:
    seed = int(os.environ.get("OUTBOARD_TEST_SEED", random.randrange(2**32)))
    print(f"OUTBOARD_TEST_SEED={seed}")
    chance = random.Random(seed)
    data = write(program_of("  x = 1.0\n  do i\n  enddo i"))
    for _ in range(300):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(data)) :]
        try:
            program = read(bytes(damaged))
        except OutboardError:
            continue
        # Only padding and the highest rank have no digest.
        assert write(program)[12:] == data[12:]
    assert len(SECTIONS) == 16


def test_golden_code_of_the_product() -> None:
    """The code that the runtime's authors read beside the page; see test_sial_golden.py."""
    text = (ROOT / "examples" / "sial" / "product.sial").read_text()
    result = compile_text(text, "product.sial", Options())
    assert result.program is not None
    found = disassemble(result.program)
    expected = Path(__file__).parent / "product.code.txt"
    if "OUTBOARD_TEST_UPDATE" in os.environ:
        expected.write_text(found)
    assert found == expected.read_text()
