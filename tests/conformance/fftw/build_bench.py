"""Builds FFTW's own test program `bench` against the system's FFTW library, in double and in float.

The sources are those of the system's own package (tools/source_package.py). Finished programs are
kept, and reused as long as they were made with the same options.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from source_package import MissingError, run, source

# With threads, bench asks the threaded planner even for one thread (-onthreads=1).
OPTIONS = "--disable-fortran --disable-doc --enable-shared --disable-static --enable-threads"
PRECISIONS = {"bench": ("", "fftw3"), "benchf": ("--enable-float", "fftw3f")}


def options(name: str) -> str:
    return f"{OPTIONS} {PRECISIONS[name][0]}".strip()


def is_built(work: pathlib.Path, name: str) -> bool:
    stamp = work / f"{name}.options"
    return (work / name).exists() and stamp.exists() and stamp.read_text() == options(name)


def build(sources: pathlib.Path, work: pathlib.Path, name: str, log: pathlib.Path) -> None:
    """Compiles bench from FFTW's files and links it with the system's shared libraries."""
    folder = work / f"build_{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run([str(sources / "configure"), *shlex.split(options(name))], folder, log)
    run(["make", "-j2", "-C", "libbench2"], folder, log)
    run(["make", "-j2", "-C", "tests", "bench.o", "hook.o", "fftw-bench.o"], folder, log)
    library = PRECISIONS[name][1]
    objects = [f"tests/{part}.o" for part in ("bench", "hook", "fftw-bench")]
    libraries = ["libbench2/libbench2.a", f"-l{library}_threads", f"-l{library}", "-lm", "-pthread"]
    run(["cc", "-o", str(work / name), *objects, *libraries], folder, log)
    (work / f"{name}.options").write_text(options(name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=pathlib.Path, required=True, help="folder for everything made here"
    )
    work: pathlib.Path = parser.parse_args().work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.environ.pop("LD_PRELOAD", None)
    log = work / "build.log"
    try:
        sources = source("fftw3", work, log)  # check.pl is in these sources
        missing = [name for name in PRECISIONS if not is_built(work, name)]
        for name in missing:
            build(sources, work, name, log)
    except (MissingError, OSError) as reason:
        print(f"FFTW's bench cannot be built ({reason})", file=sys.stderr)
        return 1
    print(f"built {', '.join(missing) or 'nothing anew'} in {work}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
