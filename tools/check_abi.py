#!/usr/bin/env python3
"""Compares the C ABI of liboutboard.so with the committed description of release 1.0.

check_abi.py LIBRARY             fails if a program of release 1.0 might not run with it
check_abi.py LIBRARY --update    writes the description anew (before the release only)

Needs abidw and abidiff of Debian's abigail-tools, and a library with debug information. Exits with
77 if one of them is missing.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DESCRIPTION = ROOT / "tests" / "api" / "abi" / "liboutboard-1.0.abi"
HEADERS = ROOT / "include"
SKIPPED = 77
# The bits of abidiff's exit status that count: a tool's failure, its wrong use, and changes that
# break programs. New functions change the ABI, too, but break none.
FATAL = 1 | 2 | 8


def describe(library: Path, headers: Path, description: Path) -> bool:
    """Describes a library, with the types of its headers only."""
    command = [
        "abidw",
        "--headers-dir",
        str(headers),
        "--drop-private-types",
        "--no-comp-dir-path",
        "--no-corpus-path",
        "--no-show-locs",
        "--no-elf-needed",
        "--no-write-default-sizes",
        "--exported-interfaces-only",
        "--type-id-style",
        "hash",
        "--out-file",
        str(description),
        str(library),
    ]
    return subprocess.run(command, check=False).returncode == 0


def breaks(old: Path, new: Path) -> bool:
    """Compares two descriptions, and prints the differences."""
    command = ["abidiff", str(old), str(new)]
    compared = subprocess.run(command, capture_output=True, text=True, check=False)
    print(compared.stdout + compared.stderr, end="")
    return (compared.returncode & FATAL) != 0 or "[C]" in compared.stdout


def has_debug_information(library: Path) -> bool:
    command = ["readelf", "-S", str(library)]
    sections = subprocess.run(command, capture_output=True, text=True, check=True)
    return ".debug_info" in sections.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--description", type=Path, default=DESCRIPTION)
    parser.add_argument("--headers", type=Path, default=HEADERS)
    options = parser.parse_args()
    missing = [tool for tool in ("abidw", "abidiff", "readelf") if shutil.which(tool) is None]
    if missing:
        print(f"check_abi: {missing[0]} is missing; install abigail-tools and binutils")
        return SKIPPED
    library = options.library.resolve()
    if not has_debug_information(library):
        print(f"check_abi: {library} has no debug information; use the preset dev")
        return SKIPPED
    if options.update:
        options.description.parent.mkdir(parents=True, exist_ok=True)
        return 0 if describe(library, options.headers, options.description) else 1
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "new.abi"
        broken = not describe(library, options.headers, new) or breaks(options.description, new)
    print(f"check_abi: {'the ABI of release 1.0 is broken' if broken else 'ok'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
