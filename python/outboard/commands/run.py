"""`outboard run`: a program with the drop-in library in front of its BLAS, LAPACK and FFTW."""

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
from outboard.commands._options import library_options
from outboard.daemon import MAX_DEVICES, EmbeddedDaemon
from outboard.errors import OutboardError
from outboard.report import Report
from outboard.settings import Settings, inherited_mode, inherited_servers, preloadable

OWN_FAILURE = 125  # as env(1) and timeout(1): we failed, not the command


@dataclass(frozen=True)
class Plan:
    """One `outboard run`, as asked for."""

    command: tuple[str, ...]
    settings: Settings
    report: str | None = None  # "text" or "json:FILE"
    trace: Path | None = None
    daemon_options: tuple[str, ...] = ()
    local_rates: dict[str, float] = field(default_factory=dict)  # ns per Mflop, for the report


@click.command("run", context_settings={"allow_interspersed_args": False})
@library_options
@click.option(
    "--report",
    type=values.ReportTarget(),
    is_flag=False,
    flag_value="text",
    help="At the end, what went out and how long it took: on stderr, or as JSON to a file.",
)
@click.option(
    "--trace",
    "trace_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a trace of the calls for Perfetto or chrome://tracing.",
)
@click.option(
    "--device-memory",
    type=values.Size(),
    help="Memory of each device of the embedded daemon, e.g. 512M.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    settings: Settings,
    report: str | None,
    trace_file: Path | None,
    device_memory: int | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND with its BLAS, LAPACK and FFTW calls on an accelerator daemon.

    Without --server (or OUTBOARD_SERVER) an embedded daemon serves the command on this machine,
    through shared memory. The exit status is COMMAND's, 128 + N after signal N; 125 if Outboard
    itself fails, 126 or 127 if COMMAND cannot be started.

    \b
    Examples:
      outboard run -- python3 products.py
      outboard run --server node7:7770 --report -- octave --no-gui solve.m
      outboard run --mode remote --report json:report.json --trace trace.json -- ./transform
    """
    settings = settings.replaced(
        mode=settings.mode or inherited_mode(os.environ) or "auto",
        servers=settings.servers or inherited_servers(os.environ),
    )
    daemon_options = _daemon_options(settings, device_memory)
    if report and report.startswith("json:"):
        _check_writable(Path(report.removeprefix("json:")))
    if trace_file:
        _check_writable(trace_file)
    sys.exit(execute(Plan(command, settings, report, trace_file, tuple(daemon_options))))


def _daemon_options(settings: Settings, device_memory: int | None) -> list[str]:
    """The options of the embedded daemon, if there will be one."""
    options = []
    wanted = (settings.text("devices") or "").removeprefix("always:")
    if wanted.isdigit() and not settings.servers:
        if int(wanted) > MAX_DEVICES:
            raise click.UsageError(
                f"--devices {wanted} is more than a daemon has (it has {MAX_DEVICES} at most)"
            )
        options += ["--devices", wanted]
    if device_memory is not None:
        options += ["--device-memory", str(device_memory)]
        if settings.servers:
            raise click.UsageError(
                "--device-memory belongs to an embedded daemon (but a server is named: "
                f"{','.join(settings.servers)}); give it to `outboard serve` there"
            )
    return options


def execute(plan: Plan) -> int:
    """Run the plan's command; returns the exit status for ours."""
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
    """Says once that the embedded daemon has ended before the command did."""

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
    """A folder only we can enter, removed at the end; short enough for a socket's name."""
    base = Path(tempfile.gettempdir())
    if len(os.fsencode(base)) > values.MAX_SOCKET_PATH - len("/outboard-12345678/outboardd.sock"):
        base = Path("/tmp")
    with tempfile.TemporaryDirectory(
        prefix="outboard-", dir=base, ignore_cleanup_errors=True
    ) as name:
        yield Path(name)


def _collecting(plan: Plan, folder: Path) -> Settings:
    """The plan's settings, with counters and traces kept in `folder` where they are wanted."""
    settings = plan.settings
    if plan.report:
        (folder / "report").mkdir()
        settings = settings.replaced(report=f"dir:{folder / 'report'}")
    if plan.trace:
        settings = settings.replaced(trace=str(folder / "trace"))
    return settings


def _check_writable(file: Path) -> None:
    """Find out before the command runs, not after an hour of it."""
    folder = file.absolute().parent
    if not os.access(folder, os.W_OK) or file.is_dir():
        raise click.UsageError(f"cannot write {file} (no such folder, or not ours to write)")


def _show(plan: Plan, folder: Path) -> None:
    try:
        if plan.report:
            report = Report.read(folder / "report")
            report.rates = plan.local_rates
            if plan.report == "text":
                for one in report.processes:
                    if str(folder) in one.server:
                        one.server = "embedded"  # the socket's name says nothing to people
                if sys.stderr is not None:  # closed by the caller; stdout is the program's
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
