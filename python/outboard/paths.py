"""The paths of the checkout, its build folder, the native library and the daemon."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from outboard.errors import OutboardError

PRELOAD_NAME = "liboutboard-preload.so"
DAEMON_NAME = "outboardd"


@dataclass(frozen=True)
class Native:
    """The two compiled parts. `root` holds lib/ and bin/, as in a CMake build folder."""

    root: Path

    @property
    def preload(self) -> Path:
        return self.root / "lib" / PRELOAD_NAME

    @property
    def daemon(self) -> Path:
        return self.root / "bin" / DAEMON_NAME

    @property
    def coverage_page(self) -> Path:
        """Returns the path of the page in an installation."""
        return self.root / "share" / "doc" / "outboard" / "coverage.md"

    def complete(self) -> bool:
        return self.preload.is_file() and os.access(self.daemon, os.X_OK)


def repository() -> Path | None:
    """Returns the root of the checkout that holds this module; None for an installed package."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "CMakeLists.txt").is_file() and (root / "src").is_dir() else None


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
    chosen = os.environ.get("OUTBOARD_BUILD_DIR")
    return Path(chosen).resolve() if chosen else root / "build" / "release"


def find_native() -> Native | None:
    """Returns the first complete one of OUTBOARD_NATIVE_DIR, the package's _native/, the build
    folder."""
    chosen = os.environ.get("OUTBOARD_NATIVE_DIR")
    if chosen:
        native = Native(Path(chosen).resolve())
        if not native.complete():
            raise OutboardError(
                f"OUTBOARD_NATIVE_DIR={chosen} is of no use (it needs lib/{PRELOAD_NAME} and "
                f"bin/{DAEMON_NAME}); correct it, or unset it"
            )
        return native
    candidates = [Path(__file__).resolve().parent / "_native"]
    root = repository()
    if root is not None:
        candidates.append(build_folder(root))
    return next((n for n in map(Native, candidates) if n.complete()), None)


def require_native() -> Native:
    native = find_native()
    if native is None:
        raise OutboardError(
            f"{PRELOAD_NAME} and {DAEMON_NAME} were not found (nothing is built yet); "
            "run `outboard build`, or name their folder in OUTBOARD_NATIVE_DIR"
        )
    return native
