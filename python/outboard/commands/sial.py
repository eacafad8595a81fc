"""`outboard sial`: compiles programs over blocks, and shows their byte code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import click

from outboard import values
from outboard.commands import _options, _sial_explain
from outboard.errors import OutboardError
from outboard.sial.files import replace_file

_INSTALL = "run: pip install 'outboard[sial]'"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, path_type=Path)
_LEVELS = ("0", "1", "2")
_LEVEL_HELP = (
    "Optimisation: -O0 translates each statement as it stands, -O1 keeps all bits of the results, "
    "-O2 keeps them up to rounding.  [default: 2]"
)
_PATH_VARIABLE = "OUTBOARD_SIAL_PATH"


@click.group("sial")
def command() -> None:
    """Compile programs in SIAL, the language of programs over blocks of huge arrays.

    \b
    Examples:
      outboard sial compile product.sial               writes product.sialc
      outboard sial compile --check-only *.sial        only looks for mistakes
      outboard sial explain job.toml -n 4              says what a run will need
      outboard sial run job.toml -n 4                  runs a job on 4 ranks
      outboard sial export job.toml                    shows what a job has saved
      outboard sial disassemble product.sialc          shows the byte code as text
    """


@command.command("compile")
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option(
    "-O",
    "level",
    type=click.Choice(_LEVELS),
    default=_LEVELS[-1],
    help=_LEVEL_HELP,
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--check-only", is_flag=True, help="Write no byte code.")
@click.option(
    "--path",
    "folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help=f"Folder of imported files; may be given more than once. {_PATH_VARIABLE} names more.",
)
@click.option("-o", "output", type=_OUTPUT, help="The byte code of one file.  [default: FILEc]")
def compile_(
    files: tuple[Path, ...],
    level: str,
    strict: bool,
    check_only: bool,
    folders: tuple[Path, ...],
    output: Path | None,
) -> None:
    """Compile FILES, each with what it imports, and write NAME.sialc beside NAME.sial.

    All mistakes of a file are shown, each one with its line. The status is 1 if there is one, and
    then the file gets no byte code.

    \b
    Examples:
      outboard sial compile scf.sial mp2.sial
      outboard sial compile --strict --path library product.sial -o build/product.sialc
      outboard sial compile -O0 product.sial           for a look at the statements as they stand
    """
    if output and len(files) > 1:
        raise click.UsageError("-o takes one file (each file has byte code of its own)")
    compiler = _module("compiler")
    from outboard.version import version

    more = [Path(one) for one in os.environ.get(_PATH_VARIABLE, "").split(os.pathsep) if one]
    options = compiler.Options(
        folders=(*folders, *more),
        level=int(level),
        strict=strict,
        check_only=check_only,
        compiler=f"outboard {version()}",
    )
    failed = False
    for file in files:
        result = compiler.compile_file(file, str(file), options)
        click.echo(result.render(), err=True, nl=False)
        failed |= result.diagnostics.errors > 0
        if result.code is not None:
            replace_file(output or file.with_suffix(".sialc"), result.code)
    sys.exit(1 if failed else 0)


@command.command("disassemble")
@click.argument("file", type=_FILE)
@click.option("-o", "output", type=_OUTPUT, help="Write to this file.  [default: the terminal]")
def disassemble(file: Path, output: Path | None) -> None:
    """Print the byte code in FILE as text, with its source lines.

    Source lines are shown if the source is where it was, or beside FILE, and has not changed. The
    optimisations that were applied stand before the code, each with its line.

    \b
    Example:
      outboard sial disassemble product.sialc
    """
    bytecode = _module("bytecode")
    program = bytecode.read(_contents(file))
    text = _module("disassemble").disassemble(program, file.parent)
    if output:
        replace_file(output, text.encode())
    else:
        click.echo(text, nl=False)


@command.command("assemble")
@click.argument("file", type=_FILE)
@click.option("-o", "output", type=_OUTPUT, help="The byte code.  [default: NAME.sialc]")
def assemble(file: Path, output: Path | None) -> None:
    """Turn the text that `disassemble` prints back into byte code.

    Only the form is checked: the runtime refuses byte code without meaning when it loads it.

    \b
    Example:
      outboard sial assemble product.txt -o product.sialc
    """
    bytecode = _module("bytecode")
    try:
        text = _contents(file).decode()
    except UnicodeDecodeError as error:
        raise OutboardError(f"{file} is no text (a byte is no UTF-8)") from error
    program = _module("assemble").assemble(text)
    replace_file(output or file.with_suffix(".sialc"), bytecode.write(program))


@command.command("run")
@click.argument("job", type=_FILE)
@click.option("-n", "ranks", type=click.IntRange(1), default=1, help="Ranks.  [default: 1]")
@click.option("--mpi", type=click.Choice(("openmpi", "mpich")), help="[default: what is there]")
@click.option("--host", "hosts", metavar="HOST,..", help="Hosts, as mpiexec takes them.")
@click.option("-O", "level", type=click.Choice(_LEVELS), default=_LEVELS[-1], help=_LEVEL_HELP)
@click.option("--workers", type=click.IntRange(1), help="Workers.  [default: all but the servers]")
@click.option("--servers", type=click.IntRange(1), help="Block servers.  [default: a third]")
@click.option(
    "--schedule",
    type=click.Choice(("static", "balanced", "guided", "measured")),
    help="Divides all pardos.  [default: as the program says, or balanced]",
)
@click.option(
    "--placement",
    type=click.Choice(_sial_explain.PLACEMENTS),
    help="Blocks on servers: in turn, by the sum of the segments, at random, by size.  "
    "[default: cyclic]",
)
@click.option("--races", type=click.Choice(("worker", "iteration")), help="[default: worker]")
@click.option("--worker-memory", metavar="SIZE", help="Most memory of a worker's blocks.")
@click.option("--server-memory", metavar="SIZE", help="Most memory of a server's blocks.")
@click.option("--spill", type=click.Path(path_type=Path), help="Folder of blocks on disk.")
@click.option("--threads", type=click.IntRange(1), help="Threads of a product.  [default: 1]")
@click.option("--deterministic", is_flag=True, help="The same bits in each run.")
@click.option("--drop-cache", is_flag=True, help="Fetched blocks do not stay over a barrier.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="ADDRESS",
    help="Accelerator for contractions: HOST:PORT, unix:PATH, local:cuda. Worker n takes the n-th.",
)
@click.option(
    "--place",
    type=click.Choice(_sial_explain.PLACES),
    help="Where contractions run.  [default: auto]",
)
@click.option("--device-memory", metavar="SIZE", help="Most memory of copies on a device.")
@click.option("--strict", is_flag=True, help="Treat warnings about programs and job as errors.")
@click.option("--check", is_flag=True, help="Watch what super-instructions write.")
@click.option("--prefetch", metavar="N", help="Blocks a get fetches ahead: auto, off or a number.")
@click.option(
    "--report",
    type=values.ReportTarget(),
    is_flag=False,
    flag_value="text",
    help="At the end, show what each line took and waited for: on stderr, or as JSON in a file.",
)
@click.option(
    "--trace",
    "trace_file",
    type=_OUTPUT,
    help="Write statements, waits and transfers of all ranks for Perfetto or chrome://tracing.",
)
@click.option("--state", type=click.Path(path_type=Path), help="Folder of saved objects.")
@click.option("--dump-state", type=_OUTPUT, help="Write what workers hold at the end (JSON).")
@click.option("--path", "folders", multiple=True, type=click.Path(path_type=Path), metavar="FOLDER")
@click.option(
    "--checkpoint",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Make a checkpoint at the first barrier after this time, again and again.",
)
@click.option(
    "--liveness",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="A rank that does not answer for this time is lost; 0: never.  [default: 30]",
)
@click.option("--resume", is_flag=True, help="Go on with the last run of the job.")
def run(
    job: Path,
    ranks: int,
    mpi: str | None,
    hosts: str | None,
    level: str,
    folders: tuple[Path, ...],
    devices: tuple[str, ...],
    deterministic: bool,
    drop_cache: bool,
    strict: bool,
    check: bool,
    report: str | None,
    trace_file: Path | None,
    resume: bool,
    **options: object,
) -> None:
    """Run the programs of a JOB file, and compile first those that have changed or were compiled
    with another -O.

    With one rank, no MPI is needed. Of several ranks a third are block servers.

    \b
    Examples:
      outboard sial run job.toml
      outboard sial run job.toml -n 8 --mpi mpich --servers 2
      outboard sial run job.toml -n 4 --report --trace run.json
      outboard sial run job.toml -n 4 --device gpuhost:7770
      outboard sial run job.toml -n 8 --checkpoint 600
      outboard sial run job.toml -n 8 --checkpoint 600 --resume
    """
    start = _module("outboard.sial_jobs")
    start.check_ranks(ranks, options["workers"], options["servers"])
    warnings = start.compile_sources(job, folders, int(level), strict=strict)
    click.echo(warnings, err=True, nl=False)
    passed = ["--drop-cache"] if drop_cache else []
    passed += ["--strict"] if strict else []
    for device in devices:
        passed += ["--device", device]
    passed += ["--deterministic"] if deterministic else []
    passed += ["--resume"] if resume else []
    if check:
        passed.append("--check")
    for name, value in options.items():
        if value is not None:
            passed += [f"--{name.replace('_', '-')}", str(value)]
    if report and report.startswith("json:"):
        _options.check_writable(Path(report.removeprefix("json:")))
        passed += ["--report", report.removeprefix("json:")]
    job_to_start = start.Start(job, ranks, mpi, hosts, passed)
    sys.stdout.flush()
    if trace_file:
        _options.check_writable(trace_file)
        shown = sys.stderr if report == "text" else None
        sys.exit(start.run_and_trace(job_to_start, shown, trace_file))
    if report == "text":
        sys.exit(start.run_and_report(job_to_start, sys.stderr))
    line, environment = start.command_line(job_to_start)
    if ranks > 1:
        sys.exit(start.run_ranks(line, environment))
    os.execve(line[0], line, environment)


command.add_command(_sial_explain.explain)


@command.command("export")
@click.argument("job", type=_FILE)
@click.argument("label", required=False)
@click.option("-o", "output", type=_OUTPUT, help="The array.  [default: LABEL.npy]")
@click.option("--state", type=click.Path(path_type=Path), help="Folder of saved objects.")
def export(job: Path, label: str | None, output: Path | None, state: Path | None) -> None:
    """Write an array or a scalar that a JOB has saved as a .npy file, or as a dataset of HDF5 if
    the name of the file ends in .h5 or .hdf5. Without LABEL, show what is saved.

    \b
    Examples:
      outboard sial export job.toml
      outboard sial export job.toml orbitals -o orbitals.npy
      outboard sial export job.toml integrals -o integrals.h5
    """
    saved = _module("outboard.sial_saved")
    table = saved.read_table(state or saved.state_folder(job))
    if label is None:
        for one in table.values():
            click.echo(saved.describe(one))
        return
    if label not in table:
        known = ", ".join(sorted(table)) or "none"
        raise OutboardError(f"nothing is saved as '{label}' (there are: {known})", exit_code=2)
    saved.export(table[label], output or Path(f"{label}.npy"))


@command.command("import")
@click.argument("file", type=_FILE)
@click.option("-o", "output", type=_OUTPUT, help="The job.  [default: NAME.toml]")
def import_(file: Path, output: Path | None) -> None:
    """Turn a job FILE of the older, binary form into TOML. Its arrays become .npy files beside it.

    \b
    Example:
      outboard sial import water.dat -o water.toml
    """
    start = _module("outboard.sial_jobs")
    line = start.import_line(file, output or file.with_suffix(".toml"))
    sys.stdout.flush()
    os.execv(line[0], line)


def _module(name: str) -> ModuleType:
    """Imports a part of the compiler, or a module on it. Other commands lack its packages."""
    import importlib

    try:
        return importlib.import_module(name if "." in name else f"outboard.sial.{name}")
    except ImportError as error:
        raise OutboardError(
            f"the compiler needs a package that is missing ({error.name}) {_INSTALL}"
        ) from error


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise OutboardError(f"cannot read {file} ({error.strerror})", exit_code=2) from error
