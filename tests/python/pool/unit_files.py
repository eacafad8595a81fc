"""Reads units of systemd, as far as the tests of deploy/systemd need it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

UNITS = Path(__file__).resolve().parents[3] / "deploy" / "systemd"


class Unit:
    """The settings of one unit, each with all of its values."""

    def __init__(self, name: str) -> None:
        self.values: dict[str, list[str]] = {}
        text = re.sub(r"\\\n\s*", "", (UNITS / name).read_text())
        for line in text.splitlines():
            if line and line[0] not in "#[":
                key, _, value = line.partition("=")
                self.values.setdefault(key, []).append(value)

    def one(self, key: str) -> str:
        (value,) = self.values[key]
        return value

    def commands(self, environment: dict[str, str], credentials: Path) -> list[list[str]]:
        """Returns the words of each ExecStart. `$NAME` as a word is split at spaces, %d is the
        folder of credentials, and %% is a percent sign, as systemd.service(5) tells."""
        meant = {"%%": "%", "%d": str(credentials)}
        found = []
        for line in self.values["ExecStart"]:
            words = []
            for word in shlex.split(line):
                if re.fullmatch(r"\$[A-Z_]+", word):
                    words += environment[word[1:]].split()
                else:
                    words.append(re.sub("%.", lambda two: meant[two.group()], word))
            found.append(words)
        return found


def environment_file(name: str) -> dict[str, str]:
    lines = (UNITS / name).read_text().splitlines()
    pairs = (line.partition("=") for line in lines if line and line[0] != "#")
    return {key: value for key, _, value in pairs}
