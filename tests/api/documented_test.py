"""Tests that the page of the device API shows the example programs as they are.

documented_test.py PAGE EXAMPLES
"""

from __future__ import annotations

import sys
import textwrap
import unittest
from pathlib import Path

PAGE, EXAMPLES = (Path(a) for a in sys.argv[1:3])


class Documented(unittest.TestCase):
    def test_the_page_shows_every_example(self) -> None:
        page = PAGE.read_text(encoding="utf-8")
        programs = sorted(EXAMPLES.glob("first.*"))
        self.assertEqual(len(programs), 4)
        for program in programs:
            with self.subTest(program.name):
                text = program.read_text(encoding="utf-8")
                shown = textwrap.indent(text, "    ", lambda line: line.strip() != "")
                self.assertIn(shown, page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
