"""Runs one `outboard run`: the command, its daemon if it needs one, and the report at the end.

Every `outboard run` imports this module before its command starts. So the module imports only what
all of them need then.
"""

from __future__ import annotations

import os

from outboard import preload
from outboard.daemon import EmbeddedDaemon, may_have_accelerator
from outboard.errors import OutboardError, say
from outboard.private_folder import PrivateFolder
from outboard.process import SignalsHeld, run_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from outboard.load import Load
    from outboard.report import Report
    from outboard.settings import Settings

OWN_FAILURE = 125  # the same as env(1) and timeout(1): Outboard failed, not the command


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
    ) -> None:
        self.command = command
        self.settings = settings
        self.report = report  # "text" or "json:FILE"
        self.trace = trace
        self.daemon_options = daemon_options
        self.local_rates = dict(local_rates or {})  # ns per Mflop, for the report

    @property
    def needs_daemon(self) -> bool:
        return _needs_daemon(self.settings.servers, self.settings.mode)


def execute(plan: Plan) -> int:
    """Runs the plan's command; returns the exit status for our process."""
    native = find_native()
    with SignalsHeld() as signals, PrivateFolder() as folder:
        settings = _collecting(plan, folder)
        meter = None
        if plan.report:
            from outboard.load import Meter

            meter = Meter()
        library = preload.loadable(preload.library_in(native), folder)

        def variables(address: str | None) -> dict[str, str]:
            from pathlib import Path

            final = settings.replaced(servers=(address,)) if address else settings
            return final.variables(Path(library), os.environ)

        if plan.needs_daemon:
            daemon = EmbeddedDaemon(
                preload.daemon_in(native),
                folder,
                plan.daemon_options,
                signals,
                plan.settings.quiet,
            )
            status = run_beside(daemon, plan.command, variables, signals)
        else:
            environment = {**os.environ, **variables(None)}
            status = run_command(plan.command, environment, signals)
        _show(plan, folder, status, meter.load() if meter else None)
    return status


class PlainRun:
    """One `outboard run` with the usual options only."""

    def __init__(self, command: Sequence[str], mode: str, servers: tuple[str, ...]) -> None:
        self.command = command
        self.mode = mode
        self.servers = servers

    @property
    def needs_daemon(self) -> bool:
        return _needs_daemon(self.servers, self.mode)


def _needs_daemon(servers: tuple[str, ...], mode: str | None) -> bool:
    return not servers and mode in ("auto", "remote")


def execute_plain(run: PlainRun) -> int:
    """Runs the command as execute() does. It imports neither click nor the table of settings,
    which take longer to load than many a command runs."""
    native = find_native()
    with SignalsHeld() as signals, PrivateFolder() as folder:
        library = preload.loadable(preload.library_in(native), folder)

        def variables(address: str) -> dict[str, str]:
            inherited = os.environ.get("LD_PRELOAD", "")
            chosen = {
                "LD_PRELOAD": preload.entries(library, inherited),
                "OUTBOARD_MODE": run.mode,
            }
            if address:
                chosen["OUTBOARD_SERVER"] = address
            return chosen

        if not run.needs_daemon:
            environment = {**os.environ, **variables(",".join(run.servers))}
            return run_command(run.command, environment, signals)
        daemon = EmbeddedDaemon(preload.daemon_in(native), folder, (), signals, False)
        return run_beside(daemon, run.command, variables, signals)


def find_native() -> str:
    """Returns the folder of the library and the daemon. Builds them first in a checkout that has
    none yet."""
    try:
        folder = preload.find()
        if folder is None:
            from outboard import build

            folder = str(build.ensure_native().root)
        return folder
    except OutboardError as error:
        error.end_with(OWN_FAILURE)
        raise


def run_beside(
    daemon: EmbeddedDaemon,
    command: Sequence[str],
    variables: Callable[[str], Mapping[str, str]],
    signals: SignalsHeld,
) -> int:
    """Runs `command` while `daemon` listens. Returns the command's exit status."""
    with daemon:
        environment = {**os.environ, **variables(daemon.address)}
        if not may_have_accelerator():
            environment["OUTBOARD_OWN_CORES"] = "1"
        status = run_command(command, environment, signals, daemon.on_event)
        daemon.report_end()
    return status


def _collecting(plan: Plan, folder: str) -> Settings:
    """Returns the plan's settings, with counters and traces kept in `folder` if they are wanted."""
    settings = plan.settings
    if plan.report:
        counters = os.path.join(folder, "report")
        os.mkdir(counters)
        settings = settings.replaced(report=f"dir:{counters}")
    if plan.trace:
        settings = settings.replaced(trace=os.path.join(folder, "trace"))
    return settings


def _show(plan: Plan, folder: str, status: int, load: Load | None) -> None:
    try:
        if plan.report:
            report = _report(plan, folder, status)
            report.load = load
            _write(report, plan.report)
        if plan.trace:
            from pathlib import Path

            from outboard import trace

            summary = trace.merge(Path(folder) / "trace", plan.trace)
            say(f"{summary.events} events of {summary.files} processes in {plan.trace}")
    except OSError as error:
        say(f"the report was not written ({error})")


def _report(plan: Plan, folder: str, status: int) -> Report:
    from pathlib import Path

    from outboard import uncounted
    from outboard.report import Report

    report = Report.read(Path(folder) / "report")
    report.rates = plan.local_rates
    report.why_empty = uncounted.reason(plan.command, plan.settings.mode, status)
    if plan.report == "text":
        for one in report.processes:
            if folder in one.server:
                one.server = "embedded"  # the socket's name does not help people
    return report


def _write(report: Report, target: str) -> None:
    import sys
    from pathlib import Path

    if target != "text":
        report.write_json(Path(target.removeprefix("json:")))
    elif sys.stderr is not None:  # None if the caller closed it; stdout belongs to the program
        report.print(sys.stderr)
