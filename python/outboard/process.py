"""Runs the user's command: forwards signals to it, and returns its exit status.

Every `outboard run` imports this module before its command starts. So the module imports as little
as possible.
"""

from __future__ import annotations

import errno
import os
import signal

from outboard.errors import OutboardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
# SIGIO reports the first client of an embedded daemon.
_WATCHED = {*FORWARDED, signal.SIGCHLD, signal.SIGIO}
# The si_code of a signal made by the kernel, here for the terminal: sigaction(2),
# asm-generic/siginfo.h.
_SI_KERNEL = 0x80
# Python ignores these. A program gets them as the system has them.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class SignalsHeld:
    """Context manager that holds the forwarded signals back until all is cleaned up, so that no
    signal ends us before."""

    def __enter__(self) -> SignalsHeld:
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A signal that came after the command ended has no receiver any more.
        while signal.sigtimedwait(_WATCHED, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def spawn(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        files: Sequence[tuple[object, ...]] = (),
        *,
        own_session: bool = False,
    ) -> int:
        """Starts `command` with the signals as they were. Returns its process id.

        `files` are the file actions of posix_spawn(). The command inherits the other descriptors
        that our own caller passed to us.
        """
        return os.posix_spawnp(
            command[0],
            tuple(command),
            environment,
            file_actions=files,
            setsid=own_session,
            setsigmask=self._before,
            setsigdef=_IGNORED_BY_PYTHON,
        )


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    signals: SignalsHeld,
    on_event: Callable[[int], None] = lambda number: None,
) -> int:
    """Runs `command` to its end. Call this inside `signals`.

    `on_event` gets each SIGCHLD and SIGIO. Returns the command's exit status as a shell does:
    128 + N after signal N.
    """
    early = signal.sigtimedwait(FORWARDED, 0)
    if early is not None:
        return 128 + early.si_signo
    try:
        child = signals.spawn(command, environment)
    except OSError as error:
        raise _cannot_start(command[0], error) from error
    while (status := exit_status(child)) is None:
        event = signal.sigwaitinfo(_WATCHED)
        if event.si_signo not in FORWARDED:
            on_event(event.si_signo)
        elif event.si_code != _SI_KERNEL:  # the terminal sent it to the command already
            os.kill(child, event.si_signo)  # not reaped yet, so the number is still its own
    return status if status >= 0 else 128 - status


def exit_status(child: int) -> int | None:
    """Reaps `child` if it has ended, and returns its exit status: -N after signal N. Returns None
    if it has not ended."""
    ended, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _cannot_start(program: str, error: OSError) -> OutboardError:
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    why = os.strerror(error.errno) if error.errno else str(error)
    return OutboardError(
        f"cannot start '{program}' ({why}); check its name and PATH",
        exit_code=127 if missing else 126,  # the same as in POSIX shells
    )
