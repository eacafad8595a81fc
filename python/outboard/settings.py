"""What the drop-in library reads from its environment, made from options and existing variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outboard import paths, values
from outboard.errors import OutboardError

MODES = ("auto", "remote", "trace", "off")
ROUTES = ("auto", "ring", "relay")
ACCURACIES = ("standard", "strict", "fast", "emulated")
NATIVE_PLANS = ("estimate", "as-asked")
MAX_STREAMS = 16  # src/transport/striped_stream.hpp
SERVER_VARIABLES = ("OUTBOARD_SERVER", "RCPU_SERVER")  # the second is the older spelling


@dataclass(frozen=True)
class Settings:
    """One field per OUTBOARD_* variable of the library; None leaves the variable as it is."""

    mode: str | None = None
    servers: tuple[str, ...] = ()
    quiet: bool = False
    report: str | None = None  # "stderr" or "dir:PATH"
    trace: str | None = None
    native_plan: str | None = None
    routines: str | None = None
    resident: str | None = None
    track_pages: bool = False
    streams: int | None = None
    key: str | None = None  # a folder
    plain: bool = False
    verify: bool = False
    profile: str | None = None  # a folder, or "off"
    learn: bool = False
    share: str | None = None  # auto, off, or a part between 0 and 1
    devices: str | None = None  # a number, or all
    route: str | None = None  # one of ROUTES
    accuracy: str | None = None  # one of ACCURACIES

    def variables(self, preload: Path, inherited: Mapping[str, str]) -> dict[str, str]:
        """The variables to set, LD_PRELOAD included, in a fixed order."""
        result = {"LD_PRELOAD": preload_value(preload, inherited.get("LD_PRELOAD", ""))}
        chosen = {
            "OUTBOARD_MODE": self.mode,
            "OUTBOARD_SERVER": ",".join(self.servers) or None,
            "OUTBOARD_QUIET": "1" if self.quiet else None,
            "OUTBOARD_REPORT": self.report,
            "OUTBOARD_TRACE": self.trace,
            "OUTBOARD_NATIVE_PLAN": self.native_plan,
            "OUTBOARD_ROUTINES": self.routines,
            "OUTBOARD_RESIDENT": self.resident,
            "OUTBOARD_TRACK_PAGES": "1" if self.track_pages else None,
            "OUTBOARD_STREAMS": None if self.streams is None else str(self.streams),
            "OUTBOARD_KEY": self.key,
            "OUTBOARD_PLAIN": "1" if self.plain else None,
            "OUTBOARD_VERIFY": "1" if self.verify else None,
            "OUTBOARD_PROFILE": self.profile,
            "OUTBOARD_LEARN": "1" if self.learn else None,
            "OUTBOARD_SHARE": self.share,
            "OUTBOARD_DEVICES": self.devices,
            "OUTBOARD_ROUTE": self.route,
            "OUTBOARD_ACCURACY": self.accuracy,
        }
        result.update({name: value for name, value in chosen.items() if value is not None})
        return result


def preload_value(preload: Path, existing: str) -> str:
    """`preload` in front of what LD_PRELOAD holds already, without other copies of the library."""
    path = str(preload)
    if any(c in path for c in ": \t\n"):
        raise OutboardError(
            f"'{path}' cannot be preloaded (LD_PRELOAD takes no path with a blank or a colon); "
            "move it, or name another folder in OUTBOARD_NATIVE_DIR"
        )
    kept = [
        entry
        for entry in existing.replace(":", " ").split()
        if os.path.basename(entry) != paths.PRELOAD_NAME
    ]
    return ":".join([path, *kept])


def preloadable(preload: Path, folder: Path) -> Path:
    """A path without blanks and colons: LD_PRELOAD cannot hold those (ld.so(8))."""
    if not any(c in str(preload) for c in ": \t\n"):
        return preload
    link = folder / preload.name
    link.symlink_to(preload)
    return link


def inherited_mode(environment: Mapping[str, str]) -> str | None:
    """OUTBOARD_MODE as it is set already, checked."""
    mode = environment.get("OUTBOARD_MODE")
    if mode and mode not in MODES:
        raise OutboardError(f"OUTBOARD_MODE={mode} is no mode (there are {', '.join(MODES)})")
    return mode or None


def inherited_servers(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Servers named by OUTBOARD_SERVER, else by RCPU_SERVER, checked; empty if neither is set."""
    for name in SERVER_VARIABLES:
        text = environment.get(name)
        if text:
            try:
                return values.check_servers(text)
            except ValueError as error:
                raise OutboardError(f"{name}: {error}") from error
    return ()


def without_library(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` for programs of ours: nothing preloaded, no settings of the library."""
    return {
        name: value
        for name, value in environment.items()
        if name != "LD_PRELOAD" and (name not in _LIBRARY_VARIABLES)
    }


_LIBRARY_VARIABLES = {
    *SERVER_VARIABLES,
    "OUTBOARD_MODE",
    "OUTBOARD_QUIET",
    "OUTBOARD_REPORT",
    "OUTBOARD_TRACE",
    "OUTBOARD_NATIVE_PLAN",
    "OUTBOARD_ROUTINES",
    "OUTBOARD_RESIDENT",
    "OUTBOARD_TRACK_PAGES",
    "OUTBOARD_STREAMS",
    "OUTBOARD_KEY",
    "OUTBOARD_PLAIN",
    "OUTBOARD_VERIFY",
    "OUTBOARD_PROFILE",
    "OUTBOARD_LEARN",
    "OUTBOARD_DEVICES",
    "OUTBOARD_ROUTE",
    "OUTBOARD_ACCURACY",
}
