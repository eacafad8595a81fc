"""Follows docs/adding-a-routine.md, with the row that the page shows.

The row goes into a copy of the tables. Emitters and compiler make a library with its entries, with
a stand-in for the device behind them (tests/interpose/entry_standin.cpp). An unmodified program
runs twice: with its own LAPACK alone, and with the library in front. Both runs must print the same
numbers, and every call with work in it must go to the stand-in.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CODEGEN = ROOT / "codegen"
sys.path.insert(0, str(CODEGEN))

import table  # noqa: E402

FILE = "lapack_orthogonal"  # the page puts the row at the end of this file
EPSILON = {"s": 2.0**-23, "c": 2.0**-23, "d": 2.0**-52, "z": 2.0**-52}


class FailedError(Exception):
    """A check failed. The message describes the error for people."""


@dataclasses.dataclass
class Call:
    """One call of the program: its header, exact values and numbers by name."""

    what: str
    exact: dict[str, int] = dataclasses.field(default_factory=dict)
    near: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    @property
    def epsilon(self) -> float:
        found = re.search(r"\?=(\w)", self.what)
        assert found
        return EPSILON[found[1]]


def run(*command: str | Path, **environment: str) -> str:
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if result.returncode != 0:
        shown = " ".join(str(part) for part in command)
        said = f"{result.stdout[-500:]}\n{result.stderr[-5000:]}"
        raise FailedError(f"status {result.returncode} of {shown}\n{said}")
    return result.stdout


def row_of(document: Path) -> str:
    """Returns the row of the page: its only block of TOML."""
    blocks = re.findall(r"^```toml\n(.*?)^```$", document.read_text("utf-8"), re.DOTALL | re.M)
    if len(blocks) != 1:
        raise FailedError(f"{document} has {len(blocks)} blocks of TOML (the row is the only one)")
    return str(blocks[0])


def copy_tables(folder: Path, row: str) -> list[Path]:
    """Copies all tables, and adds the row at the end of its file."""
    (new,) = tomllib.loads(row)["routine"]
    paths = sorted((ROOT / "routines").glob("blas*.toml")) + sorted(
        (ROOT / "routines").glob("lapack*.toml")
    )
    if any(r.name == new["name"] for r in table.load(paths)):
        raise FailedError(f"{new['name']} is in the table already (the page needs another example)")
    folder.mkdir(parents=True)
    for path in paths:
        shutil.copy(path, folder)
    with (folder / f"{FILE}.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{row}")
    return [folder / path.name for path in paths]


def emit(work: Path, tables: list[Path]) -> None:
    """Emits everything that is made from the table, by the emitters that the build runs."""
    outputs: dict[str, list[str | Path]] = {
        "descriptors.cpp": ["emit_descriptors.py"],
        "thunks.cpp": ["emit_cpu_thunks.py"],
        "entries.cpp": ["emit_entries.py", "--file", FILE],
        "exports.map": ["emit_exports.py"],
        "coverage.md": ["emit_coverage.py", "--fftw", ROOT / "routines" / "fftw.toml",
                        "--backends", ROOT / "src" / "backend"],
    }  # fmt: skip
    for output, (script, *options) in outputs.items():
        command = [sys.executable, "-B", CODEGEN / str(script), "--output", work / output]
        run(*command, *options, *tables)


def build(options: argparse.Namespace, work: Path) -> tuple[Path, Path]:
    """Returns the library to preload, and the program."""
    flags = [f for f in options.flags.split(" ") if f]
    compiler = [c for c in (options.launcher, options.cxx) if c]
    includes = [f"-I{ROOT / 'src'}", f"-I{ROOT / 'tests'}"]
    sources = [work / f"{name}.cpp" for name in ("entries", "thunks", "descriptors")]
    sources += [ROOT / "tests/interpose/entry_standin.cpp", HERE / "adding_a_routine_probe.cpp"]
    objects = [work / f"{source.stem}.o" for source in sources]

    def compile_one(source: Path, target: Path) -> None:
        modes = ["-std=c++20", "-O0", "-fPIC", "-fvisibility=hidden"]
        run(*compiler, *modes, *flags, *includes, "-c", source, "-o", target)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, sources, objects))
    library, program = work / "libadded.so", work / "program"
    # The stand-in's device has gemmt even if its library does not. Its thunks are compiled above.
    parts = ("backend_cpu", "executor", "device", "entries", "routines", "wire", "base")
    archives = [options.build / "lib" / f"libob_{a}.a" for a in parts]
    run(options.cxx, *flags, "-shared", *objects, *archives, "-o", library, "-ldl", "-pthread",
        "-Wl,-z,defs", f"-Wl,--version-script={work / 'exports.map'}")  # fmt: skip
    # The program is linked like any other: the library that calls xerbla_ finds the program's.
    run(options.cc, *flags, "-O1", "-rdynamic", HERE / "adding_a_routine_program.c", "-o", program,
        options.lapacke, options.lapack)  # fmt: skip
    return library, program


def calls_of(text: str) -> tuple[list[Call], dict[str, int]]:
    """Returns the program's calls, and by precision the number of calls that had work in them."""
    calls: list[Call] = []
    out: dict[str, int] = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "call":
            calls.append(Call(rest))
        elif kind == "exact":
            name, value = rest.split()
            calls[-1].exact[name] = int(value)
        elif kind == "near":
            name, *numbers = rest.split()
            calls[-1].near[name] = [float.fromhex(n) for n in numbers]
        elif kind == "out":
            letter, count = rest.split()
            out[letter] = int(count)
    return calls, out


def differences(expected: Call, got: Call) -> Iterator[str]:
    if (expected.what, expected.exact) != (got.what, got.exact):
        yield f"{got.what}: {got.exact}, not {expected.exact}"
    for name, numbers in expected.near.items():
        others = got.near.get(name, [])
        scale = max((abs(x) for x in numbers), default=0)
        # Both results are backward stable: errors of p(m, n) eps |A| with a small p, and the
        # matrices are well conditioned (Higham, Accuracy and Stability, 2nd edition, theorem 19.4).
        allowed = 1000 * expected.epsilon * scale
        # A NaN is refused, too, because the stand-in's memory is full of them.
        if len(numbers) != len(others) or not all(
            abs(x - y) <= allowed for x, y in zip(numbers, others, strict=True)
        ):
            yield f"{got.what}: {name} differs"


def householder_flops(m: int, n: int) -> float:
    """Returns the operations of an RQ factorization, reflector by reflector: 4 for each element of
    the rows above that it touches."""
    k = min(m, n)
    return sum(4.0 * (n - k + i + 1) * (m - k + i) for i in range(k))


def check_probe(text: str, out: dict[str, int]) -> Iterator[str]:
    """Checks the records of the library: calls that left, and operation counts."""
    lines = [line.split() for line in text.splitlines()]
    done = {line[1][0]: int(line[2]) for line in lines if line[0] == "done"}
    if done != out:
        yield f"carried out elsewhere: {done} calls, not {out}"
    for name, m, n, value in (line[1:] for line in lines if line[0] == "flops"):
        expected = householder_flops(int(m), int(n)) * (4 if name[0] in "cz" else 1)
        if abs(float(value) - expected) > 0.01 * expected:
            yield f"flops of {name} for {m} x {n}: {value}, not about {expected:g}"


def check_page(page: str, name: str) -> Iterator[str]:
    """Checks the routine's line: all names in every interface, and local only if there is no
    work."""
    names = " | ".join(p + name for p in "sdcz")
    lines = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    start, end = f"| {name} | {names} | LP64 ILP64 | LP64 ILP64 | yes |", "| `m == 0 or n == 0` |"
    if len(lines) != 1 or not (lines[0].startswith(start) and lines[0].endswith(end)):
        yield f"the coverage page says {lines}"


def check(options: argparse.Namespace, work: Path, seed: int) -> list[str]:
    row = row_of(options.document)
    (new,) = tomllib.loads(row)["routine"]
    emit(work, copy_tables(work / "routines", row))
    library, program = build(options, work)
    expected, out = calls_of(run(program, str(seed)))
    probe = work / "probe.txt"
    got, _ = calls_of(
        run(program, str(seed), LD_PRELOAD=str(library), OB_STANDIN="compute", OB_PROBE=str(probe))
    )
    found = [] if out and all(out.values()) else ["the program did no work"]
    if len(got) != len(expected):
        found.append(f"{len(got)} calls with the library, {len(expected)} without")
    for one, other in zip(expected, got, strict=False):
        found += differences(one, other)
    found += check_probe(probe.read_text(), out)
    found += check_page((work / "coverage.md").read_text("utf-8"), new["name"])
    return found


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "adding-a-routine.md")
    parser.add_argument("--build", type=Path, required=True, help="folder with built libraries")
    parser.add_argument("--work", type=Path, required=True, help="made anew")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--launcher", default="", help="in front of the C++ compiler: ccache")
    parser.add_argument("--flags", default="", help="of compiler and linker, separated by blanks")
    parser.add_argument("--lapack", required=True, help="the program's own library")
    parser.add_argument("--lapacke", required=True)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    seed: Any = os.environ.get("OUTBOARD_TEST_SEED") or random.SystemRandom().getrandbits(63) | 1
    print(f"seed: OUTBOARD_TEST_SEED={seed}")
    shutil.rmtree(options.work, ignore_errors=True)
    try:
        found = check(options, options.work, int(seed))
    except (FailedError, OSError, table.TableError) as error:
        found = [str(error)]
    for line in found[:20]:
        print(line)
    print("ok" if not found else f"FAILED: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
