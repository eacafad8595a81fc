"""Tests that Python packages with forbidden imports are refused, and packages without are not."""

from __future__ import annotations

import unittest

from tree import TreeTest

import check_python_layers


class CheckPythonLayersTest(TreeTest):
    def complaints(self, files: dict[str, str]) -> list[str]:
        """Returns the complaints about packages whose modules hold the given lines."""
        for path, text in files.items():
            place = check_python_layers.PLACES[path.split("/")[0]]
            self.write(f"{place}/{path}", text)
        return check_python_layers.check(self.root)

    def test_arrows_and_what_they_reach_are_allowed(self) -> None:
        files = {
            "outboard/errors.py": "",
            "outboard/paths.py": "from outboard.errors import OutboardError\n",
            "outboard/tune/__init__.py": "",
            "outboard/tune/calls.py": "import outboard.tune.plan\nfrom outboard import paths\n",
            "outboard/tune/plan.py": "import json\nfrom outboard.errors import OutboardError\n",
            "outboard/commands/_options.py": "",
            "outboard/commands/run.py": "from outboard.commands import _options\n",
            "outboard/commands/bench.py": "def f():\n    import outboard_bench\n",
            "outboard_bench/__init__.py": "from outboard_bench import rows\n",
            "outboard_bench/rows.py": "from outboard import paths\n",
            "outboard/commands/test.py": "from outboard_testing import tally\n",
            "outboard_testing/tally.py": "",
        }
        self.assertEqual(self.complaints(files), [])

    def test_each_forbidden_import_is_named_with_file_and_line(self) -> None:
        modules = ("errors", "paths", "launch", "doctor/elf", "tune/plan", "commands/run", "cli")
        files = {f"outboard/{module}.py": "" for module in modules}
        files["outboard_bench/__init__.py"] = ""
        for importer, line, target in [
            ("errors", "from outboard import paths", "outboard.paths"),
            ("paths", "import outboard.launch", "outboard.launch"),
            ("doctor/elf", "from outboard.tune.plan import Size", "outboard.tune.plan"),
            ("launch", "from outboard.commands import run", "outboard.commands.run"),
            ("commands/demo", "from outboard.commands.run import f", "outboard.commands.run"),
            ("commands/run", "from outboard import cli", "outboard.cli"),
            ("launch", "import outboard_bench", "outboard_bench"),
            ("commands/test", "import outboard_bench", "outboard_bench"),
            ("errors", "def f():\n    from outboard import paths", "outboard.paths"),
        ]:
            with self.subTest(importer=importer, target=target):
                self.setUp()
                path = f"outboard/{importer}.py"
                found = self.complaints({**files, path: f"import os\n{line}\n"})
                self.assertEqual(len(found), 1, found)
                number = 2 + line.count("\n")
                self.assertIn(f"python/{path}:{number}: imports {target}", found[0])

    def test_benchmarks_do_not_import_commands(self) -> None:
        files = {
            "outboard/commands/run.py": "",
            "outboard_bench/a.py": "from outboard.commands import run\n",
        }
        (found,) = self.complaints(files)
        self.assertIn("bench/outboard_bench/a.py:1: imports outboard.commands.run", found)

    def test_cycles_are_found(self) -> None:
        files = {
            "outboard/tune/a.py": "from outboard.tune import b\n",
            "outboard/tune/b.py": "def f():\n    from outboard.tune.a import g\n",
        }
        (found,) = self.complaints(files)
        self.assertIn("cycle outboard.tune.a -> outboard.tune.b -> outboard.tune.a", found)

    def test_unknown_units_need_arrows(self) -> None:
        (found,) = self.complaints({"outboard/helpers.py": ""})
        self.assertIn("python/outboard/helpers.py: unknown unit", found)


if __name__ == "__main__":
    unittest.main()
