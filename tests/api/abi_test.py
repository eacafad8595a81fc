"""Tests that tools/check_abi.py finds changes that break programs, and accepts others.

abi_test.py CHECK_ABI C_COMPILER
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK, COMPILER = sys.argv[1:3]
HEADER = """
#include <stdint.h>
typedef struct { uint64_t bytes; uint32_t flags; } request;
int ask(const request* asked);
int stop(void);
"""
SOURCE = """
#include "api.h"
int ask(const request* asked) { return (int)asked->flags; }
int stop(void) { return 0; }
"""


class Abi(unittest.TestCase):
    def setUp(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        if self.check("--update", header=HEADER, source=SOURCE) == 77:
            print("skipped: abigail-tools are missing")
            sys.exit(77)

    def check(self, *options: str, header: str, source: str) -> int:
        """Builds a library, and returns the exit status of the check."""
        (self.folder / "api.h").write_text(header, encoding="utf-8")
        (self.folder / "api.c").write_text(source, encoding="utf-8")
        library = self.folder / "libapi.so"
        build = [COMPILER, "-g", "-shared", "-fPIC", str(self.folder / "api.c"), "-o", str(library)]
        subprocess.run(build, check=True)
        places = ["--description", str(self.folder / "old.abi"), "--headers", str(self.folder)]
        command = [sys.executable, CHECK, str(library), *places, *options]
        return subprocess.run(command, check=False, capture_output=True).returncode

    def test_accepts_no_change(self) -> None:
        self.assertEqual(self.check(header=HEADER, source=SOURCE), 0)

    def test_accepts_a_new_function(self) -> None:
        header = HEADER + "int more(void);"
        source = SOURCE + "int more(void) { return 1; }"
        self.assertEqual(self.check(header=header, source=source), 0)

    def test_refuses_a_changed_struct(self) -> None:
        header = HEADER.replace(
            "uint64_t bytes; uint32_t flags;", "uint32_t flags; uint64_t bytes;"
        )
        self.assertEqual(self.check(header=header, source=SOURCE), 1)
        header = HEADER.replace("uint64_t bytes;", "uint32_t bytes;")
        self.assertEqual(self.check(header=header, source=SOURCE), 1)

    def test_refuses_a_missing_function(self) -> None:
        header = HEADER.replace("int stop(void);", "")
        source = SOURCE.replace("int stop(void) { return 0; }", "")
        self.assertEqual(self.check(header=header, source=source), 1)

    def test_refuses_another_argument(self) -> None:
        header = HEADER.replace("int stop(void);", "int stop(int how);")
        source = SOURCE.replace("int stop(void)", "int stop(int how)").replace(
            "return 0", "return how"
        )
        self.assertEqual(self.check(header=header, source=source), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
