"""Each optimisation is applied where it must be and nowhere else. Results and errors are those of
the byte code of level 0."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_temps import job, random_temps

from outboard import paths
from outboard.sial.assemble import assemble
from outboard.sial.bytecode import read, write
from outboard.sial.compiler import Options, compile_text
from outboard.sial.disassemble import disassemble
from outboard.sial.notes import notes_of
from outboard.sial_jobs import compile_sources

pytestmark = pytest.mark.end_to_end
HEAD = """sial temps
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  aoindex k = 1:n
  aoindex few = 1:2
  index q = 1:4
  predefined static s[i,j]
  static out[i,j]
  distributed d[i,j]
  temp t[i,j]
  temp u[i,j]
  temp part[few,j]
  local l[i,j]
  scalar x
  int c
  {procs}
"""
NEST = "  pardo i, j\n    t[i,j] = 1.0\n    do k\n{}\n    enddo k\n{}\n  endpardo i, j"
PRODUCT = "      u[i,j] = s[i,k] * s[k,j]\n"
ADDED = PRODUCT + "      t[i,j] += u[i,j]"
KEPT = "    out[i,j] = t[i,j]"


def notes(text: str, level: int = 2) -> dict[str, list[int]]:
    """Returns the lines of each optimisation that was applied."""
    result = compile_text(text, "temps.sial", Options(level=level))
    assert result.program is not None, result.render()
    found: dict[str, list[int]] = {}
    for _, line, note in notes_of(result.program):
        found.setdefault(note.partition(":")[0], []).append(line)
    return found


def program(body: str, procs: str = "") -> str:
    return f"{HEAD.format(procs=procs)}{body}\nendsial temps\n"


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def run(
    native: paths.Native, folder: Path, text: str, level: int, *options: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    result = compile_text(text, "temps.sial", Options(level=level))
    assert result.code is not None, result.render()
    (folder / "temps.sialc").write_bytes(result.code)
    (folder / "temps.toml").write_text(job())
    dump = folder / "state.json"
    dump.unlink(missing_ok=True)
    command = [str(native.daemon.parent / "outboard-sial"), str(folder / "temps.toml")]
    done = subprocess.run(
        [*command, "--dump-state", str(dump), *options], capture_output=True, text=True, timeout=60
    )
    return done, json.loads(dump.read_text())[0] if done.returncode == 0 else {}


def check_equal(native: paths.Native, folder: Path, text: str) -> int:
    """Compares the levels and returns the status."""
    done, state = run(native, folder, text, 0)
    for level in (1, 2):
        other, got = run(native, folder, text, level)
        assert (other.returncode, other.stderr) == (done.returncode, done.stderr), text
        if done.returncode == 0:
            # A static that nothing mentions is left out.
            wanted = np.array(state["statics"]["out"]["data"], float)
            found = np.array(got["statics"].get("out", {"data": wanted})["data"], float)
            largest = float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0))
            near = 0 if level == 1 else 1e-9 * max(1.0, largest)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=near, err_msg=text)
    return done.returncode


FUSED = {
    "contraction": (NEST.format(ADDED, KEPT), "accumulating contraction"),
    "subtracted": (NEST.format(ADDED.replace("+=", "-="), KEPT), "accumulating contraction"),
    "permuted": (
        NEST.format(ADDED, KEPT).replace("t[i,j]", "t[j,i]"),
        "accumulating contraction",
    ),
    "into a static": (
        NEST.format(PRODUCT + "      out[i,j] += u[i,j]", ""), "accumulating contraction",
    ),
    "written again before it is read": (
        NEST.format(ADDED, KEPT + "\n    u[i,j] = 2.0\n    out[i,j] += u[i,j]"),
        "accumulating contraction",
    ),
    "axpy": (NEST.format("      u[i,j] = 2.0 * s[i,j]\n      t[i,j] += u[i,j]", KEPT), "axpy"),
}  # fmt: skip


@pytest.mark.parametrize("case", FUSED)
def test_products_are_added_without_a_temp(native: paths.Native, tmp_path: Path, case: str) -> None:
    body, name = FUSED[case]
    text = program(body)
    assert notes(text)[name] == [line_of(text, "u[i,j] = ")]
    assert name not in notes(text, level=1)
    assert check_equal(native, tmp_path, text) == 0


NOT_FUSED = {
    "read again": NEST.format(ADDED, KEPT + "\n    out[i,j] += u[i,j]"),
    "read in the next iteration": NEST.format(
        "      if c > 0\n        t[i,j] += u[i,j]\n      endif\n      c += 1\n" + ADDED, KEPT
    ).replace("    t[i,j] = 1.0", "    t[i,j] = 1.0\n    u[i,j] = 0.0\n    c = 0"),
    "read behind exit": NEST.format(
        ADDED + "\n      if k == j\n        exit\n      endif\n      u[i,j] = 0.0",
        KEPT + "\n    out[i,j] += u[i,j]",
    ).replace("    t[i,j] = 1.0", "    t[i,j] = 1.0\n    u[i,j] = 0.0"),
    "read behind cycle": NEST.format(
        "      t[i,j] += u[i,j]\n"
        + ADDED
        + "\n      if k == j\n        cycle\n      endif\n      u[i,j] = 0.0",
        KEPT,
    ).replace("    t[i,j] = 1.0", "    t[i,j] = 1.0\n    u[i,j] = 0.0"),
    # The block u[i,k] is u[i,j] in one iteration.
    "other labels": "  do k\n    do i\n      u[i,k] = 0.0\n      do j\n        t[i,j] = 1.0\n"
    "        u[i,j] = 2.0 * s[i,j]\n        t[i,j] += u[i,j]\n        out[i,j] += t[i,j]\n"
    "      enddo j\n      out[i,k] += u[i,k]\n    enddo i\n  enddo k",
    "destination not proven": NEST.format(
        "      if k == 1\n        l[i,j] = 0.0\n      endif\n" + PRODUCT + "      l[i,j] += u[i,j]",
        "    out[i,j] = l[i,j]",
    ),
    "destination deallocated": NEST.format(
        PRODUCT + "      l[i,j] += u[i,j]", "    out[i,j] = l[i,j]\n    deallocate l[i,j]"
    ).replace("    t[i,j] = 1.0", "    l[i,j] = 1.0"),
    "operand is the destination": NEST.format(
        "      u[i,j] = t[i,k] * s[k,j]\n      t[i,j] += u[i,j]", KEPT
    ).replace("    t[i,j] = 1.0", "    t[i,j] = 1.0\n    do k\n      t[i,k] = 1.0\n    enddo k")
    .replace("    do k\n      t[i,k] = 1.0\n    enddo k\n    do k\n",
             "    do k\n      t[i,k] = 1.0\n"),
    "something between": NEST.format(ADDED.replace("\n", "\n      c += 1\n"), KEPT),
    "assigned": NEST.format(ADDED.replace("+=", "="), KEPT),
    "no temp": NEST.format(ADDED, KEPT).replace("u[i,j]", "l[i,j]"),
    "axpy of another order": NEST.format(
        "      u[i,j] = 2.0 * s[i,j]\n      t[j,i] += u[i,j]", "    out[j,i] = t[j,i]"
    ).replace("    t[i,j] = 1.0", "    t[j,i] = 1.0"),
}  # fmt: skip
MERGES = ("accumulating contraction", "axpy", "accumulating outer product")


@pytest.mark.parametrize("case", NOT_FUSED)
def test_temps_that_something_needs_are_made(
    native: paths.Native, tmp_path: Path, case: str
) -> None:
    text = program(NOT_FUSED[case])
    assert not any(name in notes(text) for name in MERGES)
    check_equal(native, tmp_path, text)


def test_a_temp_that_a_proc_mentions_is_made(native: paths.Native, tmp_path: Path) -> None:
    proc = "proc later\n    out[i,j] += u[i,j]\n  endproc later"
    body = NEST.format(ADDED, KEPT + "\n    call later")
    text = program(body.replace("t[i,j] = 1.0", "t[i,j] = 1.0\n    u[i,j] = 0.0", 1), proc)
    assert not any(name in notes(text) for name in MERGES)
    assert check_equal(native, tmp_path, text) == 0


ERRORS = {  # of a pair that may be merged: the error, and the line that reports it
    "operand": (NEST.format(ADDED.replace("s[k,j]", "d[k,j]"), KEPT), "R01", "d[k,j]"),
    "destination": (
        NEST.format(ADDED.replace("t[i,j] +=", "l[i,j] +="), KEPT), "R03", "l[i,j] +=",
    ),
    "range of the temp": (
        NEST.format(ADDED.replace("u[i,j]", "part[i,j]"), KEPT), "R05", "part[i,j] =",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_keep_their_code_and_line(native: paths.Native, tmp_path: Path, case: str) -> None:
    body, code, part = ERRORS[case]
    text = program(body)
    assert check_equal(native, tmp_path, text) == 3
    done, _ = run(native, tmp_path, text, 2)
    assert f"temps:{line_of(text, part)}: error {code}" in done.stderr


def test_last_use_frees_memory(native: paths.Native, tmp_path: Path) -> None:
    """A chain of temps needs the memory of two of them."""
    names = [f"t{number}" for number in range(8)]
    declared = "\n  ".join(f"temp {name}[i,j]" for name in names)
    chain = "\n".join(
        f"    {to}[i,j] = 2.0 * {start}[i,j]" for start, to in itertools.pairwise(names)
    )
    body = f"  pardo i, j\n    t0[i,j] = s[i,j]\n{chain}\n    out[i,j] = t7[i,j]\n  endpardo i, j"
    text = program(body, declared)
    assert len(notes(text, 1)["last use"]) == 6  # the last two have nobody behind them
    assert check_equal(native, tmp_path, text) == 0
    # Two statics of 36 elements, then blocks of up to 9.
    limit = ("--worker-memory", str(8 * (2 * 36 + 4 * 9)))
    assert "error R10" in run(native, tmp_path, text, 0, *limit)[0].stderr
    assert run(native, tmp_path, text, 1, *limit)[0].returncode == 0


NOT_FREED = {
    "nothing is made afterwards": "  pardo i, j\n    t[i,j] = s[i,j]\n    out[i,j] = t[i,j]\n"
    "    x += 1.0\n  endpardo i, j",
    "read in the next iteration": NEST.format(
        "      t[i,j] += u[i,j]\n      l[i,j] = 1.0", KEPT
    ).replace("    t[i,j] = 1.0", "    t[i,j] = 1.0\n    u[i,j] = 0.0"),
    # It would be made again inside of the loop, and end there.
    "made again for the next iteration": NEST.format(
        "      t[i,j] += u[i,j]\n      l[i,j] = 1.0\n      u[i,j] = 2.0", KEPT
    ).replace("    t[i,j] = 1.0", "    t[i,j] = 1.0\n    u[i,j] = 0.0"),
    "other labels": "  do k\n    do i\n      u[i,k] = 1.0\n      do j\n        u[i,j] = 2.0\n"
    "        l[i,j] = 1.0\n      enddo j\n      out[i,k] += u[i,k]\n    enddo i\n  enddo k",
}


@pytest.mark.parametrize("case", NOT_FREED)
def test_temps_that_are_needed_stay(native: paths.Native, tmp_path: Path, case: str) -> None:
    text = program(NOT_FREED[case])
    assert not any("u[" in one for one in freed(text)) and "last use: t" not in str(freed(text))
    assert check_equal(native, tmp_path, text) == 0


def freed(text: str) -> list[str]:
    result = compile_text(text, "temps.sial", Options())
    assert result.program is not None
    return [note for _, _, note in notes_of(result.program) if note.startswith("last use")]


WHERE = {  # clauses, and how many of them become bounds
    "triangle": (["i < j"], 1),
    "sums": (["i + 1 <= 2 * j", "i == c"], 2),
    "not equal": (["i != j", "i <= j"], 1),
    "sum with an int": (["i < j + c", "i <= j"], 0),
    "behind one that may fail": (["s[(index) i, (index) j] > 0.5", "i <= j"], 0),
    "product of indices": (["i * j > 2", "i <= j"], 0),
    "scalars": (["x < 1.0", "i <= j"], 1),
    "no index of the loop": (["c < 3"], 0),
}


@pytest.mark.parametrize("case", WHERE)
def test_where_clauses_become_bounds(native: paths.Native, tmp_path: Path, case: str) -> None:
    clauses, count = WHERE[case]
    lines = "\n".join(f"    where {one}" for one in clauses)
    body = f"  c = 2\n  pardo i, j\n{lines}\n    out[i,j] += 1.0\n  endpardo i, j"
    if "s[(" in lines:
        body = body.replace("s[(index) i, (index) j]", "x * x + 1.0 / x").replace(
            "  c = 2", "  c = 2\n  x = 1.0"
        )
    text = program(body)
    assert len(notes(text, 1).get("narrowed range", [])) == count
    assert check_equal(native, tmp_path, text) == 0


def test_an_error_in_a_where_clause_stays(native: paths.Native, tmp_path: Path) -> None:
    for clauses in ("    where 1 / (i - 2) < 9\n    where i > 2", "    where i < j + c"):
        body = f"  c = 9223372036854775807\n  pardo i, j\n{clauses}\n    x += 1.0\n  endpardo i, j"
        text = program(body)
        assert check_equal(native, tmp_path, text) == 3
        assert "error R07" in run(native, tmp_path, text, 2)[0].stderr


def test_an_int_that_the_loop_changes_is_a_bound_anew(native: paths.Native, tmp_path: Path) -> None:
    body = (
        "  c = 1\n  do i\n    where i <= c\n    c += 1\n    do j\n      out[i,j] = 1.0\n"
        "    enddo j\n  enddo i"
    )
    text = program(body)
    assert notes(text)["narrowed range"] == [line_of(text, "where i")]
    assert check_equal(native, tmp_path, text) == 0


@pytest.mark.parametrize("schedule", ["static", "balanced"])
def test_shares_are_those_of_level_0(native: paths.Native, tmp_path: Path, schedule: str) -> None:
    body = (
        "  pardo i, j\n    where i <= j\n    x += 1.0\n  endpardo i, j\n"
        "  pardo j, i\n    where j == i + 1\n    x += 100.0\n  endpardo j, i"
    )
    options = ["--workers", "3", "--schedule", schedule]
    shares = []
    for level in (0, 1):
        result = compile_text(program(body), "temps.sial", Options(level=level))
        assert result.code is not None
        (tmp_path / "temps.sialc").write_bytes(result.code)
        (tmp_path / "temps.toml").write_text(job())
        dump = tmp_path / "state.json"
        command = [str(native.daemon.parent / "outboard-sial"), str(tmp_path / "temps.toml")]
        subprocess.run([*command, "--dump-state", str(dump), *options], check=True, timeout=60)
        shares.append([one["scalars"]["x"] for one in json.loads(dump.read_text())])
    assert shares[0] == shares[1]
    assert sum(shares[0]) == 6 + 200


def test_a_long_triangle_ends(native: paths.Native, tmp_path: Path) -> None:
    """9e8 tuples would take a minute."""
    body = (
        "  pardo a, b\n    where a <= b\n    where b < a + 3\n    x += 1.0\n  endpardo a, b\n"
        "  do i\n    do j\n      out[i,j] = x\n    enddo j\n  enddo i"
    )
    text = program(body, "index a = 1:30000\n  index b = 1:30000")
    done, state = run(native, tmp_path, text, 2)
    assert done.returncode == 0, done.stderr
    assert state["scalars"]["x"] == 3 * 30000 - 3


def test_the_disassembly_names_what_was_done() -> None:
    text = program(NEST.format(ADDED, KEPT + "\n    x = 2.0 * 3.0 + x"))
    result = compile_text(text, "temps.sial", Options())
    assert result.program is not None
    shown = disassemble(result.program)
    found = dict(re.findall(r"^; optimised temps.sial:(\d+): ([^:]+):", shown, re.MULTILINE))
    assert found[str(line_of(text, "u[i,j] ="))] == "accumulating contraction"
    assert found[str(line_of(text, "x = 2.0"))] == "constants"
    assert found[str(line_of(text, "temp part"))] == "dead declaration"
    assert found[str(line_of(text, "temp u["))] == "dead declaration"
    assert notes_of(assemble(shown)) == notes_of(result.program)
    assert notes_of(read(write(result.program))) == notes_of(result.program)
    plain = compile_text(text, "temps.sial", Options(level=0))
    assert plain.program is not None and notes_of(plain.program) == []


def test_a_job_is_compiled_again_for_another_level(tmp_path: Path) -> None:
    (tmp_path / "temps.sial").write_text(program("  x = 1.0 + 2.0"))
    (tmp_path / "temps.toml").write_text(job().replace("temps.sialc", "temps.sial"))
    code, made = tmp_path / "temps.sialc", []
    for level in (2, 0, 0, 1, 2):
        compile_sources(tmp_path / "temps.toml", (), level)
        made.append(
            (read(code.read_bytes())["program"][0]["optimisation"], code.stat().st_mtime_ns)
        )
    assert [level for level, _ in made] == [2, 0, 0, 1, 2]
    assert made[1] == made[2], "it was compiled again without need"


def test_random_temps_have_the_results_of_level_0(native: paths.Native, tmp_path: Path) -> None:
    """The programs read and write temps in all orders; some end with an error, the same one."""
    given = os.environ.get("OUTBOARD_TEST_SEED", random.SystemRandom().randrange(1, 1 << 30))
    seed, count = int(given), int(os.environ.get("OUTBOARD_TEST_PROGRAMS", "25"))
    print(f"seed {seed} (repeat with OUTBOARD_TEST_SEED={seed})")
    for number in range(seed, seed + count):
        print(f"program {number}")
        check_equal(native, tmp_path, random_temps(number))
