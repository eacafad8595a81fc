"""A daemon for a benchmark. It listens on given addresses, perhaps on another host of a link."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from outboard.errors import OutboardError
from outboard.settings import without_library
from outboard_bench.link import Wrap

_PREFIX = "listening on "
_DRAIN_TIMEOUT_S = 5.0


@contextlib.contextmanager
def daemon(
    program: Path, listen: Sequence[str], options: Sequence[str] = (), wrap: Wrap = list
) -> Iterator[list[str]]:
    """Runs outboardd for the block. Yields its addresses, in the order of `listen`."""
    command = [str(program), "--exit-with-parent", "--log-level", "warn", *options]
    for address in listen:
        command += ["--listen", address]
    with subprocess.Popen(
        wrap(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=without_library(os.environ),
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in listen]
            if not all(line.startswith(_PREFIX) for line in lines):
                raise OutboardError(
                    f"{program.name} did not say where it listens (its message is above)"
                )
            yield [line.removeprefix(_PREFIX) for line in lines]
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_DRAIN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
