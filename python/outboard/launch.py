"""Runs one `outboard run` with all its options: the command, and the report at the end.

The program outboard-run (apps/outboard_run.cpp) runs the command and its daemon. It does so alone,
without Python, for the usual options.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from outboard import build, preload, trace, uncounted
from outboard.errors import OutboardError, say
from outboard.load import Load, Meter
from outboard.overlap_report import NO_PROCESS, OverlapReport
from outboard.paths import Native
from outboard.process import OWN_FAILURE, SignalsHeld, run_command
from outboard.report import Report
from outboard.settings import Settings

OVERLAP_REPORTS = "overlap"  # the folder for the reports of MPI processes


class Plan:
    """One `outboard run`, as the user asked for it."""

    def __init__(
        self,
        command: Sequence[str],
        settings: Settings,
        report: str | None = None,
        trace: Path | None = None,
        daemon_options: Sequence[str] = (),
        local_rates: Mapping[str, float] | None = None,
        overlap: str | None = None,
    ) -> None:
        self.command = command
        self.settings = settings
        self.report = report  # "text" or "json:FILE"
        self.trace = trace
        self.daemon_options = daemon_options
        self.local_rates = dict(local_rates or {})  # ns per Mflop, for the report
        self.overlap = overlap  # the mode of the layer for MPI

    @property
    def needs_daemon(self) -> bool:
        named = self.settings.servers or self.settings.text("lease") or self.settings.text("pool")
        return not named and self.settings.mode in ("auto", "remote")


def execute(plan: Plan) -> int:
    """Runs the plan's command; returns the exit status for our process."""
    native = _find_native()
    with SignalsHeld() as signals, TemporaryDirectory(prefix="outboard-") as name:
        folder = Path(name)
        settings = _collecting(plan, folder)
        meter = Meter() if plan.report else None
        environment = {**os.environ, **settings.without_preload()}
        if plan.overlap:
            environment.update(_overlapping(plan.overlap, native, folder))
        status = run_command(_words(plan, native), environment, signals)
        _show(plan, folder, status, meter.load() if meter else None)
    return status


def _words(plan: Plan, native: Native) -> list[str]:
    """Returns the command line of outboard-run. The mode and the servers are in the environment."""
    words = [str(native.runner)]
    for option in plan.daemon_options:
        words += ["--daemon-option", option]
    if plan.settings.quiet:
        words.append("--quiet")
    return [*words, "run", "--", *plan.command]


def _find_native() -> Native:
    """Returns the library and its programs. Builds them first in a checkout that has none yet."""
    try:
        return build.ensure_native()
    except OutboardError as error:
        error.end_with(OWN_FAILURE)
        raise


def _collecting(plan: Plan, folder: Path) -> Settings:
    """Returns the plan's settings, with counters and traces kept in `folder` if they are wanted."""
    settings = plan.settings
    if plan.report:
        counters = folder / "report"
        counters.mkdir()
        settings = settings.replaced(report=f"dir:{counters}")
    if plan.trace:
        settings = settings.replaced(trace=str(folder / "trace"))
    return settings


def _overlapping(mode: str, native: Native, folder: Path) -> dict[str, str]:
    """Returns the variables that put the layer for MPI into the processes of the command."""
    library = native.root / "lib" / preload.MPI_NAME
    if not library.is_file():
        say(
            f"the layer for MPI is not there ({library.name} is built for x86-64, with an MPI that "
            "has mpicc.openmpi or mpicc.mpich); the command runs without it"
        )
        return {}
    loadable = Path(preload.loadable(str(library), str(folder)))
    if loadable != library:
        for layer in library.parent.glob(preload.MPI_LAYERS):
            (folder / layer.name).symlink_to(layer)  # which it opens beside itself
    reports = folder / OVERLAP_REPORTS
    reports.mkdir()
    return {
        "LD_PRELOAD": preload.entries(str(loadable), os.environ.get("LD_PRELOAD", "")),
        "OUTBOARD_MPI_OVERLAP": mode,
        "OUTBOARD_MPI_OVERLAP_REPORT": str(reports),
    }


def _show(plan: Plan, folder: Path, status: int, load: Load | None) -> None:
    overlap = None
    if (folder / OVERLAP_REPORTS).is_dir():
        overlap = OverlapReport.read(folder / OVERLAP_REPORTS)
        if not overlap.processes and not plan.report and status == 0:
            say(f"overlap: {NO_PROCESS}")
    try:
        if plan.report:
            report = _report(plan, folder, status)
            report.load = load
            report.overlap = overlap.to_json() if overlap and plan.report != "text" else None
            _write(report, plan.report, overlap)
        if plan.trace:
            summary = trace.merge(folder / "trace", plan.trace)
            say(f"{summary.events} events of {summary.files} processes in {plan.trace}")
    except OSError as error:
        say(f"the report was not written ({error})")


def _report(plan: Plan, folder: Path, status: int) -> Report:
    report = Report.read(folder / "report")
    report.rates = plan.local_rates
    report.why_empty = uncounted.reason(plan.command, plan.settings.mode, status)
    if plan.report == "text" and plan.needs_daemon:
        for one in report.processes:
            if one.server:
                one.server = "embedded"  # the socket's name does not help people
    return report


def _write(report: Report, target: str, overlap: OverlapReport | None) -> None:
    if target != "text":
        report.write_json(Path(target.removeprefix("json:")))
    elif sys.stderr is not None:  # None if the caller closed it; stdout belongs to the program
        report.print(sys.stderr)
        if overlap is not None:
            overlap.print(sys.stderr)
