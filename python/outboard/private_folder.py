"""A folder for one command, which only this user can enter.

Every `outboard run` imports this module before its command starts. So the module imports as little
as possible: tempfile and shutil take longer than all the rest.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

# sizeof(sockaddr_un.sun_path) without the closing zero, unix(7).
MAX_SOCKET_PATH = 107
_LONGEST_NAME = "/outboard-12345678/outboardd.sock.starting"
_USUAL = "/tmp"


class PrivateFolder:
    """Context manager that makes the folder, with a path that is short enough for a socket's name,
    and removes it at the end. Its value is the path."""

    def __enter__(self) -> str:
        base = _base()
        while True:
            self._path = os.path.join(base, f"outboard-{os.urandom(4).hex()}")
            try:
                os.mkdir(self._path, 0o700)
                return self._path
            except FileExistsError:
                continue

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for name in os.listdir(self._path):
                os.unlink(os.path.join(self._path, name))
            os.rmdir(self._path)
        except OSError:  # there are folders in it
            import shutil

            shutil.rmtree(self._path, ignore_errors=True)


def _base() -> str:
    """Returns the folder for temporary files, as tempfile.gettempdir() does, if names in it are not
    too long for a socket."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        base = os.environ.get(name)
        if base and os.access(base, os.W_OK | os.X_OK) and os.path.isdir(base):
            base = os.path.abspath(base)
            short = len(os.fsencode(base + _LONGEST_NAME)) <= MAX_SOCKET_PATH
            return base if short else _USUAL
    return _USUAL
