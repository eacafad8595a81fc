"""An embedded daemon: an outboardd on a socket in a private folder, for the life of one command.

Every `outboard run` imports this module before its command starts. So the module imports as little
as possible.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import time

from outboard.errors import say
from outboard.process import exit_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from outboard.process import SignalsHeld

MAX_DEVICES = 64  # apps/outboardd.cpp
# A daemon that has not drained after this time is killed, because the command it served has ended.
DRAIN_TIMEOUT_S = 5.0
# The variables that outboardd reads. It gets no other one of Outboard.
DAEMON_VARIABLES = ("OUTBOARD_BLAS", "OUTBOARD_CUDA_PATH")
_REMOVED_VARIABLES = ("OUTBOARD_", "RCPU_", "LD_PRELOAD")
_SOCKET = 3  # the descriptor of the socket in the daemon


def may_have_accelerator() -> bool:
    """Returns false if a daemon on this machine would compute on its processor. For certain, it
    would do so if the kernel knows no NVIDIA device, and no other graphics device that a driver of
    OpenCL could use."""
    if any(os.environ.get(name) for name in ("OUTBOARD_CUDA_PATH", "OCL_ICD_VENDORS")):
        return True
    devices = _names_in("/dev")
    if any(name.startswith("nvidia") for name in devices):
        return True
    drivers = [name for name in _names_in("/etc/OpenCL/vendors") if name.endswith(".icd")]
    return bool(drivers) and any(name in ("dri", "kfd") for name in devices)


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


class EmbeddedDaemon:
    """Context manager that listens for one outboardd at `address`, and starts it when the first
    client connects. A command without a call that is worth a connection starts none."""

    def __init__(
        self, program: str, folder: str, options: Sequence[str], signals: SignalsHeld, quiet: bool
    ) -> None:
        self._path = os.path.join(folder, "outboardd.sock")
        self.address = f"unix:{self._path}"
        self._log = os.path.join(folder, "outboardd.log")
        self._output = os.path.join(folder, "outboardd.out")
        self._command = [program, "--listen", f"fd:{_SOCKET}", "--exit-with-parent"]
        # The clients are threads of one command, so the daemon refuses none of them to protect the
        # others.
        self._command += ["--longest-command", "0", *options]
        self._signals = signals
        self._quiet = quiet
        self._socket: socket.socket | None = None
        self._process: int | None = None

    def __enter__(self) -> EmbeddedDaemon:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        os.fchmod(listening.fileno(), 0o600)  # the mode of the socket's file
        listening.bind(self._path)
        listening.listen(socket.SOMAXCONN)
        # Clients that find this file wait for a daemon that starts (src/transport/shm/connect.cpp).
        os.close(os.open(f"{self._path}.starting", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        # The kernel sends SIGIO when a client connects. signal(7), fcntl(2)
        fcntl.fcntl(listening, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(listening, fcntl.F_SETFL, os.O_ASYNC)
        self._socket = listening
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close_socket()
        self._stop()

    def on_event(self, number: int) -> None:
        """Starts the daemon after SIGIO. After SIGCHLD, reports once if the daemon has ended."""
        if number == signal.SIGIO:
            self._start()
        else:
            self.report_end()

    def report_end(self) -> None:
        """Reports once that the daemon has ended although nobody stopped it."""
        if self._process is None or (status := exit_status(self._process)) is None:
            return
        self._process = None
        if _text(self._output).startswith("listening on "):
            self._report(f"ended early (status {status})")
        else:
            self._report(f"did not start (it ended with status {status})")

    def _start(self) -> None:
        """Starts the daemon with our socket. If it does not live, the kernel refuses the clients,
        because nobody else has the socket."""
        if self._socket is None:
            return
        flags = os.O_CREAT | os.O_WRONLY
        files: list[tuple[object, ...]] = [
            (os.POSIX_SPAWN_DUP2, self._socket.fileno(), _SOCKET),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, self._output, flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, self._log, flags, 0o600),
            *((os.POSIX_SPAWN_CLOSE, number) for number in _inherited()),
        ]
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_REMOVED_VARIABLES) or name in DAEMON_VARIABLES
        }
        try:
            # In a session of its own, Ctrl-C in the terminal reaches only the command.
            self._process = self._signals.spawn(self._command, environment, files, own_session=True)
        except OSError as error:
            self._report(f"did not start ({error.strerror}: {self._command[0]})")
        self._close_socket()

    def _stop(self) -> None:
        """Asks the daemon to drain, kills it if it does not, and reaps it."""
        process, self._process = self._process, None
        if process is None or exit_status(process) is not None:
            return
        os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + DRAIN_TIMEOUT_S
        while (left := deadline - time.monotonic()) > 0:
            signal.sigtimedwait({signal.SIGCHLD}, left)
            if exit_status(process) is not None:
                return
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _report(self, what: str) -> None:
        if self._quiet:
            return
        tail = "\n".join("  | " + line for line in _text(self._log).splitlines()[-20:])
        say(f"the embedded daemon {what}; calls stay local" + (f":\n{tail}" if tail else ""))


def _inherited() -> list[int]:
    """Returns the descriptors that our caller passed to us, for the command and not for the
    daemon."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:  # /proc is not mounted
        return []
    return [number for number in numbers if number > _SOCKET and _is_inheritable(number)]


def _is_inheritable(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:  # the descriptor with which the folder was read
        return False


def _text(file: str) -> str:
    try:
        with open(file, errors="replace") as lines:
            return lines.read()
    except OSError:
        return ""
