"""Runs one `outboard run`: the command, its daemon if it needs one, and the report at the end."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from outboard import build, process, trace, values
from outboard.daemon import EmbeddedDaemon
from outboard.errors import OutboardError
from outboard.report import Report
from outboard.settings import Settings, preloadable

OWN_FAILURE = 125  # the same as env(1) and timeout(1): Outboard failed, not the command


@dataclass(frozen=True)
class Plan:
    """One `outboard run`, as the user asked for it."""

    command: tuple[str, ...]
    settings: Settings
    report: str | None = None  # "text" or "json:FILE"
    trace: Path | None = None
    daemon_options: tuple[str, ...] = ()
    local_rates: dict[str, float] = field(default_factory=dict)  # ns per Mflop, for the report


def execute(plan: Plan) -> int:
    """Runs the plan's command; returns the exit status for our process."""
    try:
        native = build.ensure_native()
    except OutboardError as error:
        error.end_with(OWN_FAILURE)
        raise
    needs_daemon = not plan.settings.servers and plan.settings.mode in ("auto", "remote")
    with process.signals_held() as restore, private_folder() as folder:
        settings = _collecting(plan, folder)
        preload = preloadable(native.preload, folder)
        with contextlib.ExitStack() as stack:
            daemon = None
            if needs_daemon:
                options = list(plan.daemon_options)
                daemon = stack.enter_context(
                    EmbeddedDaemon(native.daemon, folder, options, restore)
                )
                settings = settings.replaced(servers=(daemon.address,))
            watch = _DaemonWatch(daemon, plan.settings.quiet)
            environment = {**os.environ, **settings.variables(preload, os.environ)}
            status = process.run_command(plan.command, environment, restore, watch)
            watch()
        _show(plan, folder)
    return status


class _DaemonWatch:
    """Reports once that the embedded daemon ended before the command."""

    def __init__(self, daemon: EmbeddedDaemon | None, quiet: bool) -> None:
        self._daemon = daemon
        self._quiet = quiet

    def __call__(self) -> None:
        if self._daemon is None or (status := self._daemon.ended()) is None:
            return
        tail = self._daemon.log_tail()
        self._daemon = None
        if not self._quiet:
            click.echo(
                f"outboard: the embedded daemon ended early (status {status}); calls stay local"
                + (f":\n{tail}" if tail else ""),
                err=True,
            )


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Makes a folder that only this user can enter, with a path that is short enough for a socket's
    name, and removes it at the end."""
    base = Path(tempfile.gettempdir())
    if len(os.fsencode(base)) > values.MAX_SOCKET_PATH - len("/outboard-12345678/outboardd.sock"):
        base = Path("/tmp")
    with tempfile.TemporaryDirectory(
        prefix="outboard-", dir=base, ignore_cleanup_errors=True
    ) as name:
        yield Path(name)


def _collecting(plan: Plan, folder: Path) -> Settings:
    """Returns the plan's settings, with counters and traces kept in `folder` if they are wanted."""
    settings = plan.settings
    if plan.report:
        (folder / "report").mkdir()
        settings = settings.replaced(report=f"dir:{folder / 'report'}")
    if plan.trace:
        settings = settings.replaced(trace=str(folder / "trace"))
    return settings


def _show(plan: Plan, folder: Path) -> None:
    try:
        if plan.report:
            report = Report.read(folder / "report")
            report.rates = plan.local_rates
            if plan.report == "text":
                for one in report.processes:
                    if str(folder) in one.server:
                        one.server = "embedded"  # the socket's name does not help people
                # None if the caller closed it; stdout belongs to the program
                if sys.stderr is not None:
                    report.print(sys.stderr)
            else:
                report.write_json(Path(plan.report.removeprefix("json:")))
        if plan.trace:
            summary = trace.merge(folder / "trace", plan.trace)
            click.echo(
                f"outboard: {summary.events} events of {summary.files} processes in {plan.trace}",
                err=True,
            )
    except OSError as error:
        click.echo(f"outboard: the report was not written ({error})", err=True)
