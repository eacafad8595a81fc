"""Tests what programs see of liboutboard.so.1.

library_test.py LIBRARY HEADER FORTRAN_MODULE
"""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

LIBRARY, HEADER, MODULE = (Path(a) for a in sys.argv[1:4])
# With sanitizers the library needs theirs.
SANITIZED = re.compile(r"lib(asan|ubsan|tsan)\.so")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared() -> set[str]:
    """Returns the functions of the header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"\b(ob_\w+)\(", text))


class Library(unittest.TestCase):
    def test_needs_only_the_c_library(self) -> None:
        needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", str(LIBRARY)))
        if any(SANITIZED.match(name) for name in needed):
            self.skipTest("a sanitizer adds libraries")
        # libm is a part of the C library; the loader is in every process that can load this.
        others = {n for n in needed if not n.startswith("ld-")} - {"libc.so.6", "libm.so.6"}
        self.assertEqual(others, set())

    def test_stays_loaded(self) -> None:
        """Its thread would run in memory that is gone."""
        self.assertIn("NODELETE", output("readelf", "-d", str(LIBRARY)))

    def test_has_its_name(self) -> None:
        self.assertIn("SONAME", output("readelf", "-d", str(LIBRARY)))
        self.assertIn("[liboutboard.so.1]", output("readelf", "-d", str(LIBRARY)))

    def test_shows_exactly_the_functions_of_the_header(self) -> None:
        shown = set()
        for line in output("nm", "-D", "--defined-only", str(LIBRARY)).splitlines():
            name = line.split()[-1]
            if name != "OUTBOARD_1.0":
                shown.add(name)
        self.assertEqual(shown, {f"{name}@@OUTBOARD_1.0" for name in declared()})
        self.assertGreater(len(shown), 20)

    def test_fortran_has_every_function_of_the_header(self) -> None:
        text = MODULE.read_text(encoding="utf-8")
        bound = re.findall(r"^ *function (ob_\w+)\(.*\) bind\(c\)", text, flags=re.MULTILINE)
        self.assertEqual(set(bound), declared())
        self.assertEqual(len(bound), len(set(bound)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
