"""Tests the needed libraries, the exported names and the behaviour of an unused drop-in library.

preload_library_test.py LIBRARY VERSION_SCRIPT TESTING_LIBRARY TESTING_VERSION_SCRIPT TABLE...
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "codegen"))

import names
import table

LIBRARY, SCRIPT, TESTING_LIBRARY, TESTING_SCRIPT = (Path(a) for a in sys.argv[1:5])
ROWS = table.load([Path(a) for a in sys.argv[5:]])


def output(*command: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


def shown(library: Path) -> set[str]:
    lines = output("nm", "-D", "--defined-only", str(library)).splitlines()
    return {line.split()[-1] for line in lines}


def wanted(script: Path) -> set[str]:
    return set(re.findall(r"^  (\w+);$", script.read_text(encoding="utf-8"), re.MULTILINE))


def names_of(level: int) -> set[str]:
    """Returns the names in every affix and calling convention. LAPACK has level 3."""
    return {n.symbol for n in names.all_names([r for r in ROWS if r.level == level])}


class PreloadLibrary(unittest.TestCase):
    def test_needs_only_libc(self) -> None:
        needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", str(LIBRARY)))
        # The loader itself is in every process that can load this library.
        self.assertEqual([n for n in needed if not n.startswith("ld-")], ["libc.so.6"])

    def test_shows_exactly_the_names_of_the_version_script(self) -> None:
        for library, script in ((LIBRARY, SCRIPT), (TESTING_LIBRARY, TESTING_SCRIPT)):
            with self.subTest(library.name):
                self.assertEqual(shown(library), wanted(script))

    def test_shows_every_row_of_level_3_and_of_lapack(self) -> None:
        self.assertGreater(len(names_of(3)), 3000)
        for library in (LIBRARY, TESTING_LIBRARY):
            with self.subTest(library.name):
                self.assertEqual(names_of(3) - shown(library), set())

    # Programs call these routines millions of times with little work in each, so not even a jump is
    # added.
    def test_only_the_one_for_tests_shows_levels_1_and_2(self) -> None:
        for level in (1, 2):
            with self.subTest(level):
                self.assertGreater(len(names_of(level)), 400)
                self.assertEqual(names_of(level) & shown(LIBRARY), set())
                self.assertEqual(names_of(level) - shown(TESTING_LIBRARY), set())
        for name in ("ddot_", "cblas_zdotc_sub", "dgemv_", "DAXPY", "scipy_cblas_dgemv64_"):
            self.assertIn(name, shown(TESTING_LIBRARY))
            self.assertNotIn(name, shown(LIBRARY))

    def test_the_two_differ_in_nothing_else(self) -> None:
        self.assertEqual(shown(TESTING_LIBRARY) - shown(LIBRARY), names_of(1) | names_of(2))

    def test_is_silent_and_idle_in_a_process_that_calls_nothing(self) -> None:
        env = {**os.environ, "LD_PRELOAD": str(LIBRARY)}
        env.pop("ASAN_OPTIONS", None)
        program = "import os; print(*(len(os.listdir('/proc/self/' + d)) for d in ('task', 'fd')))"
        plain = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        loaded = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=env
        )
        self.assertEqual((loaded.stdout, loaded.stderr), (plain.stdout, plain.stderr))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
