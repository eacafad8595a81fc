"""The profiles that the drop-in library writes and reads. docs/decision.md describes them."""

from __future__ import annotations

import math
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FIRST_LINE = "outboard-profile 1"
_NAME = re.compile(r"(library|server)-[0-9a-f]{16}\.profile")


class DamagedError(ValueError):
    """A file that is no profile of this version. The message gives the reason."""


@dataclass(frozen=True)
class Rate:
    """The time that `flop` of one routine took."""

    routine: str
    flop: float
    seconds: float

    @property
    def gflops(self) -> float:
        return self.flop / self.seconds / 1e9


@dataclass(frozen=True)
class Transfer:
    """The time to send or fetch `count` bytes, the round trip included."""

    count: float
    seconds: float


@dataclass(frozen=True)
class Whole:
    """Remote calls as a whole: the time that the model predicted, and the time that they took."""

    routine: str
    flop: float
    predicted_s: float
    seen_s: float


@dataclass
class Profile:
    """One file. Only files of servers have a link, devices and whole calls."""

    file: Path
    key: str = ""
    written: float | None = None  # seconds since 1970
    round_trip_s: float | None = None
    to: list[Transfer] = field(default_factory=list)
    back: list[Transfer] = field(default_factory=list)
    local: list[Rate] = field(default_factory=list)
    device: list[Rate] = field(default_factory=list)
    whole: list[Whole] = field(default_factory=list)

    @property
    def of_library(self) -> bool:
        return self.file.name.startswith("library-")

    @property
    def server(self) -> tuple[str, str]:
        """Returns address and device of a server's profile."""
        address, _, device = self.key.partition(" ")
        return address, device


def parse(text: str, file: Path) -> Profile:
    """Parses the profile in `text`. Lines with unknown first words are skipped. Raises
    DamagedError."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != FIRST_LINE:
        raise DamagedError(f"does not begin with '{FIRST_LINE}'")
    profile = Profile(file)
    for number, line in enumerate(lines[1:], start=2):
        try:
            _read_line(line.strip(), profile)
        except ValueError as error:
            raise DamagedError(f"line {number}: {error}") from error
    if not profile.key:
        raise DamagedError("names no key")
    return profile


def _read_line(line: str, profile: Profile) -> None:
    word, _, rest = line.partition(" ")
    if word == "key":
        profile.key = rest.strip()
    elif word == "written":
        profile.written = _number(rest)
    elif word == "link":
        _read_link(rest, profile)
    elif word in ("local", "device"):
        flop, seconds, routine = _fields(rest, 3)
        rates = profile.local if word == "local" else profile.device
        rates.append(Rate(routine, _number(flop), _number(seconds)))
    elif word == "whole":
        flop, predicted, seen, routine = _fields(rest, 4)
        one = Whole(routine, _number(flop), _number(predicted), _number(seen))
        profile.whole.append(one)


def _read_link(rest: str, profile: Profile) -> None:
    kind, _, rest = rest.partition(" ")
    if kind == "round_trip":
        profile.round_trip_s = _number(rest)
    elif kind in ("to", "from"):
        count, seconds = _fields(rest, 2)
        transfers = profile.to if kind == "to" else profile.back
        transfers.append(Transfer(_number(count), _number(seconds)))


def _fields(text: str, count: int) -> list[str]:
    """Splits `text` into exactly `count` words. The last one may hold blanks."""
    words = text.split(None, count - 1)
    if len(words) != count:
        raise ValueError(f"'{text}' has {len(words)} of {count} values")
    return words


def _number(text: str) -> float:
    """Parses a finite number above zero. No time and no size in a profile is zero."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"'{text}' is no number above zero")
    return value


def default_folder(environment: Mapping[str, str]) -> Path:
    """Returns the folder of profiles if OUTBOARD_PROFILE names none."""
    state = environment.get("XDG_STATE_HOME")
    base = Path(state) if state else Path(environment.get("HOME") or Path.home()) / ".local/state"
    return base / "outboard" / "profiles"


def folder_in_use(given: str | None, environment: Mapping[str, str]) -> Path | None:
    """Returns the folder for `--profile` or OUTBOARD_PROFILE; None if that is "off"."""
    chosen = given or environment.get("OUTBOARD_PROFILE")
    if chosen == "off":
        return None
    return Path(chosen).absolute() if chosen else default_folder(environment)


def of_host(folder: Path) -> Path:
    """Returns this host's part of `folder`, because many hosts may share a home folder."""
    return folder / socket.gethostname()


def files(folder: Path) -> list[Path]:
    """Returns this host's profiles in `folder`."""
    try:
        found = [Path(one.path) for one in os.scandir(of_host(folder)) if _NAME.fullmatch(one.name)]
    except OSError:
        return []
    return sorted(found)


def read_all(folder: Path) -> tuple[list[Profile], list[str]]:
    """Returns this host's profiles, and a note for each file that is no profile."""
    profiles, notes = [], []
    for file in files(folder):
        try:
            profiles.append(parse(file.read_text(encoding="utf-8"), file))
        except (OSError, ValueError) as error:
            notes.append(f"{file}: {error}; it counts as absent (`outboard tune` writes it again)")
    return profiles, notes


def forget(folder: Path) -> int:
    """Removes this host's profiles and returns their number."""
    found = files(folder)
    for file in found:
        file.unlink()
    host = of_host(folder)
    if host.is_dir() and not any(host.iterdir()):
        host.rmdir()
    return len(found)
