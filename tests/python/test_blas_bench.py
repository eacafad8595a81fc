"""Tests `outboard bench blas`, `copies`, `products`, `fftw_flops`: sizes, lines, refused
options."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import blas, copies, fft, fftw_flops, native_program, products
from outboard_bench.blas_problems import SIZES, Call, calls
from outboard_bench.fft_problems import Problem


def test_bytes_and_flops_by_hand() -> None:
    assert (Call("dgemm", 10).bytes_to, Call("dgemm", 10).bytes_from) == (1600, 800)
    assert (Call("dgemv", 10).bytes_to, Call("dgemv", 10).bytes_from) == (880, 80)
    assert (Call("ddot", 10).bytes_to, Call("ddot", 10).bytes_from) == (160, 8)
    assert [Call(name, 10).flops for name in SIZES] == [2000, 200, 20]
    assert Call.parse(str(Call("dgemm", 10))) == Call("dgemm", 10)


def test_calls_of_a_run() -> None:
    most = {"dgemm": 1000, "dgemv": 1, "ddot": 100_000}
    found = [str(call) for call in calls(tuple(SIZES), most)]
    assert found == ["dgemm 250", "dgemm 500", "dgemm 1000", "ddot 10000", "ddot 100000"]


def test_levels_1_and_2_need_the_library_of_the_tests(tmp_path: Path) -> None:
    native = paths.Native(tmp_path)
    assert blas._library(native, ("dgemm",)) == native.preload
    with pytest.raises(OutboardError, match="OUTBOARD_TESTS"):
        blas._library(native, ("dgemm", "ddot"))


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutboardError, match="blas_calls is missing"):
        native_program.require(paths.Native(tmp_path), blas.PROGRAM_NAME)


@pytest.mark.parametrize(
    ("parse", "arguments", "words"),
    [
        (blas.parse, ["--routines", "dtrsm"], "'dtrsm'"),
        (copies.parse, ["--sizes", "1k"], "'1k'"),
        (copies.parse, ["--blocks", "0"], "'0'"),
        (copies.parse, ["--runs", "0"], "1 or more"),
        (fft.parse, ["--shapes", "8x8,axb"], "'8x8,axb'"),
        (fft.parse, ["--shapes", "2x2x2x2"], "'2x2x2x2'"),
        (products.parse, ["--parts", "4,0"], "'4,0'"),
    ],
)
def test_bad_options_are_named(
    capsys: pytest.CaptureFixture[str], parse: object, arguments: list[str], words: str
) -> None:
    assert callable(parse)
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_just_these_shapes() -> None:
    options = fft.parse(["--kinds", "c2c", "--shapes", "12,3x4", "--links", "none"])
    assert fft._problems(options) == [Problem("c2c", (12,)), Problem("c2c", (3, 4))]


def test_a_line_of_the_copies() -> None:
    over_link = copies._Way("link 1 Gb/s", "a", "none", "stream")
    row = over_link.row("from,1048576,65536,0,20,10,30", (100.0, 50.0))
    assert row.case == "link 1 Gb/s, device to host, blocks of 64 KiB"
    assert (row.bytes, row.value, row.min, row.max, row.runs) == (1 << 20, 20, 10, 30, 3)
    assert (row.ceiling, row.ratio) == (50, 0.4)
    here = copies._Way("tcp", "a", "socket", "raw socket")
    row = here.row("to,65536,0,200,100", here.limits(check=True))
    assert (row.case, row.ceiling, row.ratio) == ("tcp, host to device, whole", 200, 0.5)


PRODUCTS = """#!{python}
import sys
parts = sys.argv[sys.argv.index("--parts") + 1]
print("link 1 2 GB/s")
print(f"whole,{{parts}},0.5,1.0,2.0,3.0")
print("chosen: hybrid,12,0.25,0.5")
"""


def test_products_by_parts(tmp_path: Path) -> None:
    program = tmp_path / "product_orders"
    program.write_text(PRODUCTS.format(python=sys.executable))
    program.chmod(0o755)
    options = products.parse(["--parts", "1,8", "--loopback"])
    lines = products._by_parts(list, program, "a", 100, 1.0, options)
    assert lines[:2] == ["whole,1,0.5,1.0,2.0,3.0", "whole,8,0.5,1.0,2.0,3.0"]
    assert lines[2:] == ["chosen: hybrid,12,0.25,0.5"]
    row = products._row("loopback n=100 rho=1", lines[1], 100)
    assert (row.case, row.value, row.ceiling) == ("loopback n=100 rho=1 whole 8", 2000, 500)


def test_operations_of_small_transforms_by_hand() -> None:
    """Two points are a sum and a difference of complex numbers. Four points are eight of those."""
    library = fftw_flops._library()
    assert fftw_flops.operations(library, Problem("c2c", (2,))) == (4, 0, 0)
    assert fftw_flops.operations(library, Problem("c2c", (4,))) == (16, 0, 0)


@pytest.mark.end_to_end
@pytest.mark.parametrize("routine", SIZES)
def test_the_program_notices_wrong_results(
    native: paths.Native, tmp_path: Path, routine: str
) -> None:
    program = native.root / "bin" / blas.PROGRAM_NAME
    if not program.exists():
        pytest.fail(f"{program} is not built (configure with OUTBOARD_BENCH=ON)")
    saved, wrong, short = (tmp_path / name for name in ("saved", "wrong", "short"))

    def ask(lines: str) -> list[str]:
        command = [str(program), routine, "30", "1", "5"]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return str(done.stdout).split("\n")[1:-1]

    assert ask(f"run 1\nsave {saved}\n")[1] == "saved"
    data = bytearray(saved.read_bytes())
    assert len(data) == Call(routine, 30).bytes_from
    (value,) = struct.unpack_from("<d", data, 0)
    struct.pack_into("<d", data, 0, value * (1 + 1e-6))
    wrong.write_bytes(data)
    short.write_bytes(data[:-8])
    unwritten, _, good, bad, cut = ask(
        f"compare {saved}\nrun 3\ncompare {saved}\ncompare {wrong}\ncompare {short}\n"
    )
    assert float(good) <= Call(routine, 30).error_bound
    assert 1e-10 < float(bad) < 1e-5
    assert [unwritten, cut] == ["nan", "nan"]  # the array is poisoned until the first run
