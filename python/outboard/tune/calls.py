"""The child process that measures: it calls routines under the drop-in library, which times them.

It is started as `python -m outboard.tune.calls JSON` with the drop-in library and the libraries
behind it in LD_PRELOAD. It reports its progress in lines of JSON on stdout.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from outboard import counters
from outboard.tune.matrices import MatrixSeries
from outboard.tune.operands import Operands
from outboard.tune.plan import Call, Limits, Planner, Series, Size, SkippedError
from outboard.tune.transforms import KINDS, TransformSeries

# These are measured first, each with an equal part of the time. The others follow in this order
# while there is time.
FIRST = (
    *("dgemm", "fftw c2c", "dgetrf", "sgemm", "zgemm", "fftwf c2c", "dpotrf", "dtrsm", "dsyrk"),
    *("dgesv", "cgemm", "fftw r2c", "dgeqrf", "dsyev", "dgesvd", "fftwf r2c", "fftw c2r"),
    *("dtrmm", "dsymm", "dgels"),
)
LATER = (
    "sgetrf zgetrf spotrf zpotrf sgesv zgesv zherk ssyrk ztrsm strsm dsyevd dgesdd zgeqrf sgeqrf "
    "ztrmm strmm zsymm ssymm cgetrf cpotrf cgesv cherk ctrsm ctrmm cgeqrf zgels sgels ssyev ssyevd "
    "sgesvd sgesdd"
).split()
QUICK = (
    *("dgemm", "fftw c2c", "dgetrf", "sgemm", "fftwf c2c", "dpotrf", "dtrsm", "zgemm", "dsyrk"),
    *("fftw r2c", "dgesv", "dsyev"),
)
_PR_SET_PDEATHSIG = 1  # prctl(2)
_LEAST_S = 0.25  # the least time for the calls, even if the link took long
# Names in libraries that mark the integers or add prefixes in their symbols: NumPy's and SciPy's.
_AFFIXED = (
    "dgemm_64_",
    "scipy_dgemm_",
    "scipy_dgemm_64_",
    "cblas_dgemm64_",
    "scipy_cblas_dgemm64_",
)


@dataclass(frozen=True)
class Job:
    """The task of the child process."""

    libraries: tuple[str, ...]  # the libraries behind the drop-in library
    remote: bool
    contact_only: bool  # one call goes out, and nothing else happens
    seconds: float
    longest_s: float
    operand_bytes: float
    plan_s: float  # the time for each of FFTW's own plans
    quick: bool
    report: str  # the folder of the counters


def say(event: str, **values: object) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


class Witness:
    """Reads from this process's own counters whether a call went out."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / f"report.{os.getpid()}.bin"

    def process(self) -> counters.Process | None:
        try:
            return counters.parse(self._file.read_bytes())
        except (OSError, ValueError):
            return None

    def sent(self, name: str) -> int:
        process = self.process()
        rows = process.routines if process else []
        return sum(row.remote for row in rows if row.name == name)

    def notice(self) -> str:
        process = self.process()
        return process.notice if process else ""


class Watched:
    """A series whose first call of every size must go out. A routine that the device lacks, or the
    loss of the daemon, ends the series."""

    def __init__(self, series: Series, witness: Witness) -> None:
        self._series = series
        self._witness = witness
        self.name = series.name
        self.sizes = series.sizes

    def prepare(self, size: Size) -> Call:
        call = self._series.prepare(size)
        before = self._witness.sent(self.name)
        call()
        if self._witness.sent(self.name) == before:
            call.close()
            raise SkippedError(self._witness.notice() or "the server does not take it")
        return call


def load(paths: tuple[str, ...]) -> tuple[list[Any], list[str]]:
    """Opens the libraries, which are loaded already. Returns those that open, and complaints about
    the others."""
    loaded, complaints = [], []
    for path in paths:
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            complaints.append(str(error))
            continue
        plain = any(hasattr(library, name) for name in ("dgemm_", "dgetrf_", "fftw_execute"))
        affixed = [name for name in _AFFIXED if hasattr(library, name)]
        if affixed and not plain:
            complaints.append(f"{path}: has its routines under other names ({affixed[0]})")
        else:
            loaded.append(library)
    return loaded, complaints


def series_of(job: Job, libraries: list[Any], names: Sequence[str]) -> list[Series]:
    scope = ctypes.CDLL(None)  # finds the drop-in library's entries before all others
    found: list[Series] = []
    for name in names:
        kinds = KINDS[name.split()[1]] if " " in name else ()
        for kind in kinds[:1] if job.quick else kinds:
            found.append(TransformSeries(name, kind, scope, libraries, job.plan_s, job.quick))
        if not kinds:
            found.append(MatrixSeries(name, scope, libraries, job.quick))
    return found


def first_contact(witness: Witness, candidates: list[Series]) -> None:
    """Makes one call, which connects and measures the link."""
    for series in candidates:
        try:
            call = series.prepare(next(iter(series.sizes())))
        except SkippedError:
            continue
        say("progress", what="link", part=0.0)
        call()
        call.close()
        if witness.sent(series.name):
            return
        break
    say("failed", why=witness.notice() or "no call went out")
    sys.exit(1)


def measure(job: Job, libraries: list[Any]) -> None:
    begin = time.monotonic()
    witness = Witness(job.report)
    if job.remote:
        first_contact(witness, series_of(job, libraries, QUICK))
    if job.contact_only:
        return
    offset = min(time.monotonic() - begin, job.seconds - _LEAST_S) / job.seconds

    def progress(what: str, part: float) -> None:
        say("progress", what=what, part=offset + (1 - offset) * part)

    limits = Limits(job.seconds * (1 - offset), job.longest_s, job.operand_bytes)
    planner = Planner(limits, progress)
    for names in (QUICK,) if job.quick else (FIRST, LATER):
        series = series_of(job, libraries, names)
        planner.run([Watched(s, witness) for s in series] if job.remote else series)
    outcome = planner.outcome
    no_time = [name for name in outcome.no_time if name not in LATER]
    sizes = {
        name: [{**asdict(size), "seconds": seconds} for size, seconds in found]
        for name, found in outcome.measured.items()
    }
    say("done", measured=sizes, skipped=outcome.skipped, no_time=no_time)


def main(text: str) -> None:
    # This process ends with its parent, because nobody reads its results then.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    job = Job(**json.loads(text))
    libraries, complaints = load(job.libraries)
    say("libraries", complaints=complaints, loaded=len(libraries))
    if libraries:
        Operands("d")  # makes the values before the time starts
        Operands("s")
        measure(job, libraries)


if __name__ == "__main__":
    main(sys.argv[1])
