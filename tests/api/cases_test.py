"""Compares the functions of the device API with those that each language reaches, so that no
language misses a new function. C and Fortran must call it in a test program, which runs in all
places; the headers of C++ and the binding of Python must know it.

cases_test.py HEADER TESTS BINDING
"""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

HEADER, TESTS, BINDING = (Path(a) for a in sys.argv[1:4])

C_COMMENTS = r"/\*.*?\*/|//[^\n]*"
COMMENTS = {
    ".c": C_COMMENTS,
    ".cpp": C_COMMENTS,
    ".hpp": C_COMMENTS,
    ".f90": r"![^\n]*",
    ".py": r"(?m)^\s*#[^\n]*",
}
# Functions that a language has no use for.
ELSEWHERE = {
    "python": {
        "ob_write_2d": "arrays are packed before they are written",
        "ob_read_2d": "arrays are packed",
        "ob_copy_2d": "arrays are packed",
        "ob_queue_accuracy": "its functions have the standard accuracy",
    }
}


def declared() -> set[str]:
    text = re.sub(C_COMMENTS, "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"\b(ob_\w+)\(", text))


def called(files: list[Path]) -> set[str]:
    found: set[str] = set()
    for file in files:
        text = re.sub(COMMENTS[file.suffix], "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        found |= set(re.findall(r"\bob_\w+", text))
    return found


class Cases(unittest.TestCase):
    def test_c_calls_every_function(self) -> None:
        self.assertEqual(declared() - called(sorted(TESTS.glob("*.c"))), set())

    def test_fortran_calls_every_function(self) -> None:
        self.assertEqual(declared() - called(sorted(TESTS.glob("*.f90"))), set())

    def test_python_binds_every_function_that_it_uses(self) -> None:
        missing = declared() - called(sorted(BINDING.glob("*.py")))
        self.assertEqual(missing, ELSEWHERE["python"].keys())

    def test_cxx_reaches_every_function(self) -> None:
        """The headers wrap functions, or programs call those of C."""
        files = [*sorted(HEADER.parent.glob("*.hpp")), *sorted(TESTS.glob("*.cpp"))]
        self.assertEqual(declared() - called(files), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
