"""Runs clang-tidy over the compiled sources. A file that passed is checked again after its next
change."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from outboard.build import default_jobs
from outboard_testing.tally import Tally, one

_ERROR_LINES = 60


class Tidy:
    """One run over the files of compile_commands.json in src/ and apps/."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._cache_file = folder / "clang-tidy-passed.json"
        self._commands = folder / "clang-tidy"

    def run(self, say: Callable[[str], None]) -> Tally:
        """Counts one passed or failed for each file."""
        if not (self._root / ".clang-tidy").is_file():
            return Tally()
        passed = self._load_cache()
        keys = {file: self._key(file) for file in self._files()}
        open_files = [file for file, key in keys.items() if passed.get(str(file)) != key]
        tally = Tally(passed=len(keys) - len(open_files))
        say(f"clang-tidy: {len(open_files)} files to look at, {tally.passed} unchanged")
        with concurrent.futures.ThreadPoolExecutor(default_jobs()) as pool:
            for file, output in zip(open_files, pool.map(self._tidy, open_files), strict=True):
                name = str(file.relative_to(self._root))
                tally.add(one(f"clang-tidy {name}", output is None))
                if output is None:
                    passed[str(file)] = keys[file]
                else:
                    say(f"clang-tidy {name}: FAILED\n{output}")
        self._cache_file.write_text(json.dumps(passed))
        return tally

    def _files(self) -> list[Path]:
        """Returns our files. Writes their commands to the place where clang-tidy reads them."""
        entries = json.loads((self._folder / "compile_commands.json").read_text())
        single = [one_file for entry in entries for one_file in _without_unity(entry)]
        self._commands.mkdir(exist_ok=True)
        (self._commands / "compile_commands.json").write_text(json.dumps(single))
        ours = (self._root / "src", self._root / "apps")
        files = {Path(entry["directory"], entry["file"]).resolve() for entry in single}
        return sorted(f for f in files if any(f.is_relative_to(place) for place in ours))

    def _tidy(self, file: Path) -> str | None:
        """Returns None if the file is clean, else its errors."""
        result = subprocess.run(
            [
                *("clang-tidy", "-p", str(self._commands)),
                *("--quiet", "--warnings-as-errors=*", str(file)),
            ],
            cwd=self._root,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if result.returncode == 0:
            return None
        return "\n".join((result.stdout or result.stderr).splitlines()[:_ERROR_LINES])

    def _key(self, file: Path) -> str:
        """Returns a hash of the rules, the file and all headers of ours that it reaches."""
        digest = hashlib.sha256((self._root / ".clang-tidy").read_bytes())
        seen: set[Path] = set()
        waiting = [file]
        while waiting:
            current = waiting.pop()
            if current in seen or not current.is_file():
                continue
            seen.add(current)
            text = current.read_bytes()
            digest.update(text)
            for name in re.findall(rb'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
                for place in (self._root / "src", self._folder / "generated", current.parent):
                    waiting.append(place / name.decode())
        return digest.hexdigest()

    def _load_cache(self) -> dict[str, str]:
        try:
            cache = json.loads(self._cache_file.read_text())
        except (OSError, ValueError):
            return {}
        return {str(k): str(v) for k, v in cache.items()} if isinstance(cache, dict) else {}


def _without_unity(entry: dict[str, str]) -> list[dict[str, str]]:
    """Returns the entry of compile_commands.json, or one per file of a unity build."""
    source = Path(entry["directory"], entry["file"])
    if source.parent.name != "Unity":
        return [entry]
    files = re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE)
    command = entry["command"]
    return [
        {**entry, "file": file, "command": command.replace(entry["file"], file)} for file in files
    ]
