"""An embedded daemon: an outboardd on a socket in a private folder, for the life of one command."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from outboard.errors import OutboardError
from outboard.process import interrupted
from outboard.settings import without_library

MAX_DEVICES = 64  # apps/outboardd.cpp
# A daemon opens OpenBLAS and FFTW before it listens. This takes seconds on a busy machine.
START_TIMEOUT_S = 30.0
# A daemon that has not drained after this time is killed, because the command it served has ended.
DRAIN_TIMEOUT_S = 5.0
# A Ctrl-C that is held back while the daemon starts is noticed within this time.
_SIGNAL_CHECK_S = 0.2


class EmbeddedDaemon:
    """Context manager that runs one outboardd; `address` is valid inside."""

    def __init__(
        self,
        program: Path,
        folder: Path,
        options: list[str],
        restore_signals: Callable[[], None] | None = None,
    ) -> None:
        self.address = f"unix:{folder / 'outboardd.sock'}"
        self._log = folder / "outboardd.log"
        self._command = [str(program), "--listen", self.address, "--exit-with-parent"]
        # The clients are threads of one command, so the daemon refuses none of them to protect the
        # others.
        self._command += ["--longest-command", "0", *options]
        self._restore_signals = restore_signals
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> EmbeddedDaemon:
        environment = without_library(os.environ)
        with self._log.open("wb") as log:
            try:
                # The daemon has a session of its own: Ctrl-C in the terminal reaches only the
                # command.
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    start_new_session=True,
                    preexec_fn=self._restore_signals,
                )
            except OSError as error:
                raise OutboardError(
                    f"the embedded daemon did not start ({error.strerror}: {self._command[0]}); "
                    "build again with `outboard build`, or name a running one with --server",
                    exit_code=125,
                ) from error
        try:
            self._wait_until_listening()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def ended(self) -> int | None:
        """Returns the exit status if the daemon has ended although nobody stopped it."""
        return self._process.poll() if self._process is not None else None

    def log_tail(self, lines: int = 20) -> str:
        """Returns the last lines of the daemon's output, indented."""
        try:
            text = self._log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join("  | " + line for line in text.splitlines()[-lines:])

    def stop(self) -> None:
        """Asks the daemon to drain, kills it if it does not, and reaps it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(DRAIN_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _wait_until_listening(self) -> None:
        line = self._first_line()
        if line.startswith("listening on "):
            return
        status = self._process.poll() if self._process is not None else None
        if interrupted():
            why = "a signal came first"
        elif status is None:
            why = f"no word from it in {START_TIMEOUT_S:.0f} s" if not line else f"it said: {line}"
        else:
            why = f"it ended with status {status}"
        tail = self.log_tail()
        raise OutboardError(
            f"the embedded daemon did not start ({why}); name a running one with --server, "
            "or see what it wrote" + (f":\n{tail}" if tail else " (nothing)"),
            exit_code=125,
        )

    def _first_line(self) -> str:
        """Returns the first line on the daemon's stdout. If stdout ends or the time is over before,
        returns the text so far."""
        assert self._process is not None and self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        deadline = time.monotonic() + START_TIMEOUT_S
        text = b""
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in text:
                if not selector.select(_SIGNAL_CHECK_S):
                    if time.monotonic() > deadline or interrupted():
                        break
                    continue
                part = os.read(pipe, 4096)
                if not part:
                    # The daemon closes its stdout shortly before its exit status is available.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(1.0)
                    break
                text += part
        return text.split(b"\n", 1)[0].decode(errors="replace").strip()
