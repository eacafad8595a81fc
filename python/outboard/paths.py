"""The paths of the checkout, its build folder, the native library and the daemon."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from outboard import preload
from outboard.errors import OutboardError
from outboard.preload import DAEMON_NAME, PRELOAD_NAME


@dataclass(frozen=True)
class Native:
    """The compiled parts. `root` holds lib/ and bin/, as in a CMake build folder."""

    root: Path

    @property
    def preload(self) -> Path:
        return Path(preload.library_in(str(self.root)))

    @property
    def daemon(self) -> Path:
        return Path(preload.daemon_in(str(self.root)))

    @property
    def runner(self) -> Path:
        """Returns the program that runs commands."""
        return Path(preload.runner_in(str(self.root)))

    @property
    def coverage_page(self) -> Path:
        """Returns the path of the page in an installation."""
        return self.root / "share" / "doc" / "outboard" / "coverage.md"

    def complete(self) -> bool:
        return preload.complete(str(self.root))


def repository() -> Path | None:
    """Returns the root of the checkout that holds this module; None for an installed package."""
    root = preload.repository()
    return Path(root) if root is not None else None


def require_repository(command: str) -> Path:
    root = repository()
    if root is None:
        raise OutboardError(
            f"`outboard {command}` works in a checkout only (this is an installed package); "
            f"clone the repository and use ./outboard {command}"
        )
    return root


def build_folder(root: Path) -> Path:
    """Returns build/release, or the folder named by OUTBOARD_BUILD_DIR."""
    return Path(preload.build_folder(str(root)))


def find_native() -> Native | None:
    """Returns the library and the daemon that preload.find() finds."""
    folder = preload.find()
    return Native(Path(folder)) if folder is not None else None


def require_native() -> Native:
    native = find_native()
    if native is None:
        raise OutboardError(
            f"{PRELOAD_NAME} and {DAEMON_NAME} were not found (nothing is built yet); "
            "run `outboard build`, or name their folder in OUTBOARD_NATIVE_DIR"
        )
    return native
