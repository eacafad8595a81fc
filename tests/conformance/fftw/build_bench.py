"""Builds FFTW's own test program `bench` against the system's FFTW library, in double and in float.

The sources are those of the system's own package (tools/source_package.py). Finished programs are
kept and reused.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from source_package import MissingError, run, source


def build(sources: pathlib.Path, work: pathlib.Path, name: str, log: pathlib.Path) -> None:
    """Compiles bench from FFTW's files and links it with the system's shared library."""
    single = name == "benchf"
    folder = work / f"build_{name}"
    folder.mkdir(exist_ok=True)
    options = ["--disable-fortran", "--disable-doc", "--enable-shared", "--disable-static"]
    run(
        [str(sources / "configure"), *options, *(["--enable-float"] if single else [])], folder, log
    )
    run(["make", "-j2", "-C", "libbench2"], folder, log)
    run(["make", "-j2", "-C", "tests", "bench.o", "hook.o", "fftw-bench.o"], folder, log)
    library = "-lfftw3f" if single else "-lfftw3"
    objects = [f"tests/{name}.o" for name in ("bench", "hook", "fftw-bench")]
    run(
        ["cc", "-o", str(work / name), *objects, "libbench2/libbench2.a", library, "-lm"],
        folder,
        log,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=pathlib.Path, required=True, help="folder for everything made here"
    )
    work: pathlib.Path = parser.parse_args().work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.environ.pop("LD_PRELOAD", None)
    missing = [name for name in ("bench", "benchf") if not (work / name).exists()]
    if not missing:
        print(f"bench is there already ({work})")
        return 0
    log = work / "build.log"
    try:
        sources = source("fftw3", work, log)
        for name in missing:
            build(sources, work, name, log)
    except (MissingError, OSError) as reason:
        print(f"FFTW's bench cannot be built ({reason})", file=sys.stderr)
        return 1
    print(f"built {', '.join(missing)} in {work}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
