"""Compares the functions of the device API with those that the test programs of each language call,
so that a new function is tested in all of them. The programs run in all places.

cases_test.py HEADER TESTS BINDING
"""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

HEADER, TESTS, BINDING = (Path(a) for a in sys.argv[1:4])

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
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"\b(ob_\w+)\(", text))


def called(files: list[Path]) -> set[str]:
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return set(re.findall(r"\bob_\w+", text))


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
