"""`outboard run`: runs a program with the drop-in library in front of BLAS, LAPACK and FFTW."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import click

from outboard import mpi_eager, settings_table, values
from outboard.commands._options import check_writable, library_options
from outboard.commands._pool_options import PoolWish, pool_options
from outboard.errors import OutboardError, say
from outboard.launch import Plan, execute
from outboard.process import OWN_FAILURE
from outboard.settings import Settings, inherited, inherited_mode, inherited_servers


def _eager(context: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value is not None and not mpi_eager.LEAST_BYTES <= value <= mpi_eager.MOST_BYTES:
        raise click.BadParameter(
            f"{value} bytes are not within 64K and 64M (smaller messages leave so anyway, and Open "
            "MPI takes memory for several messages at once); write 8M"
        )
    return value


@click.command("run", context_settings={"allow_interspersed_args": False})
@library_options
@click.option(
    "--report",
    type=values.ReportTarget(),
    is_flag=False,
    flag_value="text",
    help="At the end, show the calls that went out and their times: on stderr, or as JSON in a "
    "file.",
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
@click.option(
    "--overlap",
    type=click.Choice(["auto", "on", "count"]),
    is_flag=False,
    flag_value="auto",
    help="Move the messages of MPI programs while they compute. auto: where it gains; on: always; "
    "count: measure only. The report shows hidden and exposed times.",
)
@click.option(
    "--eager",
    type=values.Size(),
    callback=_eager,
    help="Let messages of up to so many bytes leave before their receiver asks for them, e.g. 8M: "
    "Open MPI over TCP, and MPICH. They then need no calls of MPI to travel while the program "
    "computes, but memory where they arrive early.",
)
@pool_options
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    settings: Settings,
    report: str | None,
    trace_file: Path | None,
    device_memory: int | None,
    overlap: str | None,
    eager: int | None,
    pool: PoolWish,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND with its BLAS, LAPACK and FFTW calls on an accelerator daemon.

    Without --server (or OUTBOARD_SERVER) an embedded daemon serves the command on this machine,
    through shared memory; with --pool (or OUTBOARD_POOL) it takes accelerators of the pool while
    its calls gain by them. The exit status is that of COMMAND, or 128 + N after signal N. It is
    125 if Outboard itself fails, and 126 or 127 if COMMAND cannot be started.

    \b
    Examples:
      outboard run -- python3 products.py
      outboard run --server node7:7770 --report -- octave --no-gui solve.m
      outboard run --mode remote --report json:report.json --trace trace.json -- ./transform
      outboard run --pool https://pool:7780 --key ~/keys/ada --accelerators 2 -- ./solver
      outboard run --pool https://pool:7780 --key ~/keys/ada -- python3 -i notebook.py
      outboard run --mode off --overlap --report -- mpirun -n 8 ./solver
      outboard run --mode off --overlap --eager 8M -- mpirun --host node1,node2 ./solver
    """
    os.environ.update(mpi_eager.variables(eager, os.environ) if eager else {})
    if pool.accelerators:
        sys.exit(_run_with_lease(settings, report, trace_file, overlap, pool, command))
    settings = settings.replaced(
        mode=settings.mode or inherited_mode(os.environ) or "auto",
        servers=settings.servers or inherited_servers(os.environ),
        lease=inherited("lease", os.environ),
        pool=pool.url or None,
    )
    daemon_options = _daemon_options(settings, device_memory)
    if report and report.startswith("json:"):
        check_writable(Path(report.removeprefix("json:")))
    if trace_file:
        check_writable(trace_file)
    plan = Plan(command, settings, report, trace_file, tuple(daemon_options), overlap=overlap)
    sys.exit(execute(plan))


def _run_with_lease(
    settings: Settings,
    report: str | None,
    trace_file: Path | None,
    overlap: str | None,
    pool: PoolWish,
    command: tuple[str, ...],
) -> int:
    """Runs the command while it holds accelerators of a pool; with its own library if there are
    none."""
    if settings.servers:
        raise click.UsageError("--server names daemons, and --pool others; give one of them")
    hold = pool.hold(settings.text("key"))
    with contextlib.ExitStack() as stack:
        mode: str | None = settings.mode or inherited_mode(os.environ) or "auto"
        lease: str | None = None
        try:
            lease = stack.enter_context(hold).id
        except OutboardError as error:
            if pool.require:
                error.end_with(OWN_FAILURE)
                raise
            say(f"{error.message}; the command runs with its own library")
            mode = "off"
        for name in settings_table.row("servers").variables:
            os.environ.pop(name, None)  # servers that are named go before a lease
        final = settings.replaced(mode=mode, lease=lease, pool=pool.url)
        return execute(Plan(command, final, report, trace_file, (), overlap=overlap))


def _daemon_options(settings: Settings, device_memory: int | None) -> list[str]:
    """Returns the options of the embedded daemon, if there will be one."""
    options = []
    wanted = (settings.text("devices") or "").removeprefix("always:")
    if wanted.isdigit() and not settings.servers:
        if int(wanted) > values.MAX_DEVICES:
            raise click.UsageError(
                f"--devices {wanted} is more than a daemon has (it has {values.MAX_DEVICES} at "
                "most)"
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
