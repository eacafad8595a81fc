"""Builds the drop-in library and the test programs for a big-endian machine (s390x).

An existing build folder is brought up to date.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import subprocess
import sys

# Program -> the Debian package that contains it.
NEEDED = {
    "s390x-linux-gnu-g++": "g++-s390x-linux-gnu",
    "qemu-s390x-static": "qemu-user-static",
    "ninja": "ninja-build",
}


# A library that has only headers works for any machine. The rest of this folder works only for this
# one.
HEADERS = pathlib.Path("/usr/include")
XXHASH = "xxhash.h"
JSON = "nlohmann"


def missing_packages() -> list[str]:
    packages = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    headers = {XXHASH: "libxxhash-dev", JSON: "nlohmann-json3-dev"}
    missing = [package for name, package in headers.items() if not (HEADERS / name).exists()]
    return packages + missing


def build(cmake: str, source: pathlib.Path, work: pathlib.Path) -> int:
    headers = work / "include"
    headers.mkdir(parents=True, exist_ok=True)
    shutil.copy2(HEADERS / XXHASH, headers)
    shutil.copytree(HEADERS / JSON, headers / JSON, dirs_exist_ok=True)
    options = [
        f"-DXXHASH_INCLUDE_DIR={headers}",
        f"-DOUTBOARD_JSON_INCLUDE_DIR={headers}",
        f"--toolchain={source}/cmake/toolchains/s390x.cmake",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1",  # takes half the time of -O3, and keeps assertions
        "-DOUTBOARD_CLIENT_ONLY=ON",
        "-DOUTBOARD_TESTS=OFF",
    ]
    configure = [cmake, "-S", str(source), "-B", str(work), "-G", "Ninja", *options]
    targets = ["byte_order_client", "byte_order_program", "outboard_preload"]
    for command in (configure, [cmake, "--build", str(work), "--target", *targets]):
        code = subprocess.run(command, check=False).returncode
        if code != 0:
            print(f"{' '.join(command)} ended with status {code}", file=sys.stderr)
            return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="the build folder")
    arguments = parser.parse_args()
    missing = missing_packages()
    if missing:
        print(
            "a big-endian client cannot be built or run (programs or headers are missing) "
            f"apt-get install {' '.join(missing)}",
            file=sys.stderr,
        )
        return 1
    return build(arguments.cmake, arguments.source, arguments.work)


if __name__ == "__main__":
    sys.exit(main())
