"""What the drop-in library needs, shows and does when nobody calls it.

preload_library_test.py LIBRARY VERSION_SCRIPT
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

LIBRARY, SCRIPT = Path(sys.argv[1]), Path(sys.argv[2])


def output(*command: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


class PreloadLibrary(unittest.TestCase):
    def test_needs_only_libc(self) -> None:
        needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", str(LIBRARY)))
        # The loader itself is in every process that could load this library.
        self.assertEqual([n for n in needed if not n.startswith("ld-")], ["libc.so.6"])

    def test_shows_exactly_the_names_of_the_version_script(self) -> None:
        wanted = set(re.findall(r"^  (\w+);$", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE))
        lines = output("nm", "-D", "--defined-only", str(LIBRARY)).splitlines()
        self.assertEqual({line.split()[-1] for line in lines}, wanted)
        self.assertGreater(len(wanted), 600)

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
