"""Makes the profiles of mode auto in `outboard bench decide` as a user makes them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from outboard.errors import OutboardError
from outboard.settings import without_library
from outboard_bench.decide_measure import How
from outboard_bench.decide_places import ONE_THREAD, Server
from outboard_bench.decide_problems import PROGRAMS

# The time for the local library and for each server, a little less than `outboard tune --quick`
# takes.
_SECONDS = 8.0
_CHECK_SECONDS = 1.0
_TIMEOUT_S = 600.0
_LIBRARY = re.compile(r"^\s*lib\w*(?:blas|lapack|fftw3)\S* => (/\S+)", re.MULTILINE)


def tune(servers: Sequence[Server], how: How, *, check: bool) -> None:
    """Makes the profiles of the servers of a place, and of the libraries that our programs use, as
    clients of one thread measure them."""
    command = [sys.executable, "-P", "-m", "outboard", "tune", "--quick"]
    command += ["--server", ",".join(server.address for server in servers)]
    command += ["--profile", str(servers[0].profile)]
    seconds = (_CHECK_SECONDS if check else _SECONDS) * (1 + len(servers))
    command += ["--seconds", str(seconds)]
    for library in dict.fromkeys(_libraries(how.programs)):
        command += ["--library", library]
    environment = without_library(os.environ) | ONE_THREAD
    environment["OUTBOARD_NATIVE_DIR"] = str(how.preload.parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = _run(servers[0].wrap(command), environment, timeout_s=_TIMEOUT_S)
    if done.returncode != 0:
        raise OutboardError(
            f"`outboard tune` failed ({servers[0].place}); its message:\n{done.stderr.strip()}"
        )


def _libraries(programs: Path) -> Iterator[str]:
    """Yields the libraries that our programs are linked with, because a profile belongs to one
    library."""
    for program in PROGRAMS:
        yield from libraries_in(_run(["ldd", str(programs / program)]).stdout)


def libraries_in(text: str) -> list[str]:
    """Returns the files of BLAS, LAPACK and FFTW in the output of ldd(1)."""
    return _LIBRARY.findall(text)


def _run(
    command: Sequence[str],
    environment: dict[str, str] | None = None,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired as error:
        raise OutboardError(f"`{' '.join(command)}` does not end") from error
