"""Runs a program for the user's command: forwards signals to it, and returns its exit status.

apps/signals_held.cpp does the same for the command itself.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from types import TracebackType

from outboard.errors import OutboardError

OWN_FAILURE = 125  # the same as env(1) and timeout(1): Outboard failed, not the command
FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_WATCHED = {*FORWARDED, signal.SIGCHLD}
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

    def spawn(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Starts `command` with the signals as they were. Returns its process id.

        The command inherits the other descriptors that our own caller passed to us.
        """
        return os.posix_spawnp(
            command[0],
            tuple(command),
            environment,
            setsigmask=self._before,
            setsigdef=_IGNORED_BY_PYTHON,
        )


def run_command(
    command: Sequence[str], environment: Mapping[str, str], signals: SignalsHeld
) -> int:
    """Runs `command` to its end. Call this inside `signals`.

    Returns the command's exit status as a shell does: 128 + N after signal N.
    """
    early = signal.sigtimedwait(FORWARDED, 0)
    if early is not None:
        return 128 + early.si_signo
    try:
        child = signals.spawn(command, environment)
    except OSError as error:
        message = f"cannot start '{command[0]}' ({error.strerror}); build or install Outboard again"
        raise OutboardError(message, OWN_FAILURE) from error
    while (status := _exit_status(child)) is None:
        event = signal.sigwaitinfo(_WATCHED)
        # The terminal sends its signals to the command too. The child is not reaped yet, so its
        # number is still its own.
        if event.si_signo in FORWARDED and event.si_code != _SI_KERNEL:
            os.kill(child, event.si_signo)
    return status if status >= 0 else 128 - status


def _exit_status(child: int) -> int | None:
    """Reaps `child` if it has ended, and returns its exit status: -N after signal N. Returns None
    if it has not ended."""
    ended, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None
