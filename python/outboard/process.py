"""Runs the user's command: forwards signals to it, and returns its exit status."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence

from outboard.errors import OutboardError

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


@contextlib.contextmanager
def signals_held() -> Iterator[Callable[[], None]]:
    """Holds the forwarded signals back until all is cleaned up, so that no signal ends us before.

    Yields a function that a child calls before exec to restore the signals as they were.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)

    def restore_in_child() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        yield restore_in_child
    finally:
        # A signal that came after the command ended has no receiver any more.
        while signal.sigtimedwait(_WATCHED, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def interrupted() -> bool:
    """Returns true if a forwarded signal waits for a command that has not started yet."""
    return bool(signal.sigpending() & set(FORWARDED))


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    restore_signals: Callable[[], None],
    on_child_event: Callable[[], None] = lambda: None,
) -> int:
    """Runs `command` to its end. Call this inside signals_held().

    Returns its exit status as a shell does: 128 + N after signal N.
    """
    early = signal.sigtimedwait(FORWARDED, 0)
    if early is not None:
        return 128 + early.si_signo
    try:
        child = subprocess.Popen(command, env=dict(environment), preexec_fn=restore_signals)
    except OSError as error:
        raise _cannot_start(command[0], error) from error
    while child.poll() is None:
        event = signal.sigwaitinfo(_WATCHED)
        if event.si_signo == signal.SIGCHLD:
            on_child_event()
        elif event.si_code != _SI_KERNEL:  # the terminal sent it to the command already
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(event.si_signo)
    status = child.returncode
    return status if status >= 0 else 128 - status


def _cannot_start(program: str, error: OSError) -> OutboardError:
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    why = os.strerror(error.errno) if error.errno else str(error)
    return OutboardError(
        f"cannot start '{program}' ({why}); check its name and PATH",
        exit_code=127 if missing else 126,  # the same as in POSIX shells
    )
