"""Tests the commands of "Build and run" in the page of the device API: runs them as they stand
there, with another folder and port.

documented_commands_test.py PAGE BUILD_FOLDER
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PAGE, BUILD = (Path(a).resolve() for a in sys.argv[1:3])
ROOT = PAGE.parent.parent
# The programs end with the shell, and the daemon with it.
_BEGINNING = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null; true' EXIT\n"


def commands() -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    section = re.split(r"^#+ ", text.split("### Build and run\n")[1], flags=re.MULTILINE)[0]
    return [line.strip() for line in section.splitlines() if line.startswith("    ")]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Commands(unittest.TestCase):
    def test_they_run_in_this_order(self) -> None:
        lines = commands()
        self.assertEqual(lines[0], "./outboard build")
        if shutil.which("gfortran") is None:
            lines = [line for line in lines if "gfortran" not in line and "first_f " not in line]
        has_numpy = importlib.util.find_spec("numpy") is not None
        if not has_numpy:
            lines = [line for line in lines if not line.startswith("python3 ")]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for linked in ("examples", "python"):
                (folder / linked).symlink_to(ROOT / linked)
            script = "\n".join(lines[1:])
            for shown, here in (
                ("build/release", str(BUILD)),
                ("/opt/outboard", f"{folder}/prefix"),
                ("python3 ", f"{sys.executable} "),
                ("127.0.0.1:7770", f"127.0.0.1:{free_port()}"),
            ):
                script = script.replace(shown, here)
            done = subprocess.run(
                ["bash", "-c", _BEGINNING + script],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=280,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        # The first program and the one with a kernel; in Python, numbers have a point.
        compiled = 5 if any("first_f " in line for line in lines) else 4
        self.assertEqual(done.stdout.count("12 24 36 48\n"), compiled, done.stdout)
        if has_numpy:
            self.assertIn("12.0 24.0 36.0 48.0\n", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
