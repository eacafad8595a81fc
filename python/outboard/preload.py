"""The drop-in library and its programs: their folder, and the library's entry in LD_PRELOAD.

The installed command imports this module before each `outboard run`. So the module imports as
little as possible.
"""

from __future__ import annotations

import os

from outboard.errors import OutboardError

PRELOAD_NAME = "liboutboard-preload.so"
DAEMON_NAME = "outboardd"
RUNNER_NAME = "outboard-run"
MPI_NAME = "liboutboard-mpi.so"
MPI_LAYERS = "liboutboard-mpi-layer-*.so"


def complete(folder: str) -> bool:
    """Returns true if `folder` holds the library, the daemon and the program that runs commands,
    as a CMake build folder does."""
    programs = (daemon_in(folder), runner_in(folder))
    return os.path.isfile(library_in(folder)) and all(os.access(p, os.X_OK) for p in programs)


def library_in(folder: str) -> str:
    return os.path.join(folder, "lib", PRELOAD_NAME)


def daemon_in(folder: str) -> str:
    return os.path.join(folder, "bin", DAEMON_NAME)


def runner_in(folder: str) -> str:
    return os.path.join(folder, "bin", RUNNER_NAME)


def repository() -> str | None:
    """Returns the root of the checkout that holds this module; None for an installed package."""
    root = os.path.dirname(os.path.dirname(_package()))
    checkout = os.path.isfile(os.path.join(root, "CMakeLists.txt")) and os.path.isdir(
        os.path.join(root, "src")
    )
    return root if checkout else None


def build_folder(root: str) -> str:
    """Returns build/release, or the folder named by OUTBOARD_BUILD_DIR."""
    chosen = os.environ.get("OUTBOARD_BUILD_DIR")
    return os.path.realpath(chosen) if chosen else os.path.join(root, "build", "release")


def find() -> str | None:
    """Returns the first complete one of OUTBOARD_NATIVE_DIR, the package's _native/, the build
    folder."""
    chosen = os.environ.get("OUTBOARD_NATIVE_DIR")
    if chosen:
        if not complete(chosen):
            raise OutboardError(
                f"OUTBOARD_NATIVE_DIR={chosen} is of no use (it needs lib/{PRELOAD_NAME}, "
                f"bin/{DAEMON_NAME} and bin/{RUNNER_NAME}); correct it, or unset it"
            )
        return os.path.realpath(chosen)
    candidates = [os.path.join(_package(), "_native")]
    if (root := repository()) is not None:
        candidates.append(build_folder(root))
    return next(filter(complete, candidates), None)


def shared_library(name: str) -> str:
    """Returns the library beside the drop-in library, else its name for the dynamic linker."""
    folder = find()
    if folder is not None:
        beside = os.path.join(folder, "lib", name)
        if os.path.isfile(beside):
            return beside
    return name


def entries(library: str, existing: str) -> str:
    """Returns `library` in front of the entries of LD_PRELOAD, without other copies of the
    library."""
    if not _is_loadable(library):
        raise OutboardError(
            f"'{library}' cannot be preloaded (LD_PRELOAD takes no path with a blank or a colon); "
            "move it, or name another folder in OUTBOARD_NATIVE_DIR"
        )
    kept = [
        entry
        for entry in existing.replace(":", " ").split()
        if os.path.basename(entry) != os.path.basename(library)
    ]
    return ":".join([library, *kept])


def loadable(library: str, folder: str) -> str:
    """Returns a path of `library` without blanks and colons, because LD_PRELOAD cannot hold those
    (ld.so(8)). If necessary, it is a link in `folder`."""
    if _is_loadable(library):
        return library
    link = os.path.join(folder, os.path.basename(library))
    os.symlink(library, link)
    return link


def _is_loadable(library: str) -> bool:
    return not any(c in library for c in ": \t\n")


def _package() -> str:
    return os.path.dirname(os.path.realpath(__file__))
