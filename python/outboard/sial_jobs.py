"""Starts the ranks of a job."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from outboard import paths, sial_report, trace
from outboard.errors import OutboardError
from outboard.sial import bytecode
from outboard.sial.compiler import DEFAULT_LEVEL, Options, compile_file
from outboard.sial.files import replace_file
from outboard.version import version

MPIS = ("openmpi", "mpich")
SOURCES = (".sial", ".sialx")
RANK_LOST = 4
_LAST_STATUS = 5  # that the runtime has (apps/outboard_sial.cpp)
_RENDEZVOUS = "UCX_RNDV_THRESH"
_RDMA_DEVICES = Path("/sys/class/infiniband")
PYTHON_VARIABLE = "OUTBOARD_SIAL_PYTHON"


@dataclass(frozen=True)
class Start:
    """How a job is started. `passed` are options of the runtime, as it spells them."""

    job: Path
    ranks: int = 1
    mpi: str | None = None
    hosts: str | None = None
    passed: Sequence[str] = field(default_factory=tuple)


def compile_sources(
    job: Path, folders: Sequence[Path], level: int = DEFAULT_LEVEL, *, strict: bool = False
) -> str:
    """Compiles the job's programs of which a file has changed since they were compiled, or which
    were compiled with another level of optimisation. With `strict`, which the job may ask for as
    well, compiles all, because byte code does not tell of warnings.

    Returns the warnings. Raises OutboardError with the diagnostics if a program has mistakes."""
    warnings = ""
    keys = _keys(job)
    programs, defaults = keys.get("programs", []), keys.get("run", {})
    strict |= isinstance(defaults, dict) and defaults.get("strict") is True
    # The runtime reports what is wrong with the job file.
    for name in programs if isinstance(programs, list) else []:
        source = job.parent / str(name)
        if source.suffix not in SOURCES:
            continue
        if not source.exists():
            _only_byte_code(job, source, str(name))
            continue
        code = source.with_suffix(".sialc")
        options = Options(
            folders=tuple(folders),
            level=level,
            strict=strict,
            compiler=f"outboard {version()}",
        )
        if not strict and _is_current(code, options):
            continue
        result = compile_file(source, str(source), options)
        if result.code is None:
            raise OutboardError(f"{source} does not compile\n{result.render()}".rstrip())
        warnings += result.render()
        replace_file(code, result.code)
    return warnings


def _only_byte_code(job: Path, source: Path, name: str) -> None:
    """Raises OutboardError unless the byte code of a source that is missing is there."""
    if source.with_suffix(".sialc").exists():
        return
    others = [one.name for one in source.parent.glob("*") if one.suffix in SOURCES]
    near = difflib.get_close_matches(source.name, others, 1)
    advice = f"; the nearest file is {near[0]}" if near else ""
    raise OutboardError(
        f"{job}: the program {name} is not there (programs lie in the folder of the job, or have "
        f"a path from there) correct `programs`{advice}",
        exit_code=2,
    )


def _is_current(code: Path, options: Options) -> bool:
    """True if this compiler made the byte code, at this level, from files that have not changed
    since."""
    try:
        program = bytecode.read(code.read_bytes())
        texts = program["string"]
        made = program["program"][0]
        if (texts[made["compiler"]]["text"], made["optimisation"]) != (
            options.compiler,
            options.level,
        ):
            return False
        return all(
            hashlib.sha256(Path(texts[one["name"]]["text"]).read_bytes()).digest() == one["sha256"]
            for one in program["source"]
        )
    except (OSError, OutboardError):
        return False


def command_line(start: Start) -> tuple[list[str], dict[str, str]]:
    """Returns the command that runs the job, and its environment."""
    folder = paths.require_native().daemon.parent
    environment = dict(os.environ)
    # Plug-ins in Python run in this environment, with its NumPy.
    environment.setdefault(PYTHON_VARIABLE, sys.executable)
    if start.ranks == 1:
        return [str(_program(folder, "outboard-sial")), str(start.job), *start.passed], environment
    defaults = _keys(start.job).get("run", {})
    mpi = start.mpi or (defaults.get("mpi") if isinstance(defaults, dict) else None)
    if mpi not in MPIS:
        mpi = _installed(folder)
    starter = shutil.which(f"mpiexec.{mpi}")
    if starter is None:
        raise OutboardError(f"mpiexec.{mpi} is not there (install {mpi}-bin or {mpi})")
    program = _program(folder, f"outboard-sial-{mpi}")
    command = [starter, "-n", str(start.ranks)]
    if mpi == "openmpi":
        # More ranks than cores are usual, because servers hardly compute.
        command.append("--oversubscribe")
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    environment |= _messages_at_once(mpi, start.hosts or "", environment)
    if start.hosts:
        if mpi == "openmpi":
            command += ["-x", PYTHON_VARIABLE]  # MPICH passes all variables on
        command += ["--host" if mpi == "openmpi" else "-hosts", start.hosts]
    return [*command, str(program), str(start.job), *start.passed], environment


def _messages_at_once(mpi: str, hosts: str, environment: dict[str, str]) -> dict[str, str]:
    """Returns variables with which MPICH over UCX and TCP sends large messages at once.

    Otherwise it asks the receiver before, and the question and its answer wait behind the blocks
    that are on their way. A transfer then takes about twice as long
    (docs/measurements/2026-11-sial.md). On one host and with RDMA, asking saves a copy."""
    several = len({one.partition(":")[0] for one in hosts.split(",")}) > 1
    several |= environment.get("SLURM_NNODES", "1") != "1"
    rdma = any(_RDMA_DEVICES.glob("*"))
    if mpi != "mpich" or not several or rdma or _RENDEZVOUS in environment:
        return {}
    return {_RENDEZVOUS: "inf"}


def check_ranks(ranks: int, workers: int | None, servers: int | None) -> None:
    """Raises OutboardError if `ranks` processes cannot be these workers and servers. One process
    may be any number of them."""
    if ranks == 1:
        return
    given = (workers or 1) + (servers or 1)
    if given > ranks or (workers and servers and given < ranks):
        raise OutboardError(
            f"workers: {workers or 1}, servers: {servers or 1}, ranks: {ranks} do not fit (each "
            f"rank is a worker or a server, and several ranks need both) use -n {given}",
            exit_code=2,
        )


def run_ranks(command: Sequence[str], environment: dict[str, str]) -> int:
    """Runs a job of several ranks, passes signals on, and returns its status. A rank that was lost
    has RANK_LOST, whatever the MPI library makes of it."""
    with subprocess.Popen(command, env=environment) as running:
        for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(one, lambda number, _: running.send_signal(number))
        status = running.wait()
    return status if 0 <= status <= _LAST_STATUS else RANK_LOST


def run_and_report(start: Start, to: IO[str]) -> int:
    """Runs the job, prints its report, and returns its status."""
    with tempfile.TemporaryDirectory(prefix="outboard-sial-") as folder:
        file = Path(folder) / "report.json"
        line, environment = command_line(
            replace(start, passed=(*start.passed, "--report", str(file)))
        )
        status = run_ranks(line, environment)
        if file.exists():
            sial_report.show(file, to)
    return status


def run_and_trace(start: Start, report: IO[str] | None, output: Path) -> int:
    """Runs the job, also with a report, joins the traces of its ranks, and returns its status.

    All ranks write into a folder beside `output`, so that it lies on a disk that they share if
    `output` does."""
    with tempfile.TemporaryDirectory(prefix=".outboard-trace-", dir=output.parent) as folder:
        stem = Path(folder) / "rank"
        traced = replace(start, passed=(*start.passed, "--trace", str(stem)))
        status = run_and_report(traced, report) if report else run_ranks(*command_line(traced))
        if trace.pieces(stem):
            trace.merge(stem, output)
    return status


def runtime() -> Path:
    """Returns the program that runs jobs in one process."""
    return _program(paths.require_native().daemon.parent, "outboard-sial")


def import_line(file: Path, job: Path) -> list[str]:
    """Returns the command that converts a job of the older form."""
    return [str(runtime()), str(job), "--import", str(file)]


def _keys(job: Path) -> dict[str, Any]:
    if job.suffix in (*SOURCES, ".sialc"):
        raise OutboardError(
            f"{job} is a program, and a job is needed (a file in TOML that gives the program its "
            f'sizes) write {job.stem}.toml, with `sial_job = 1`, `programs = ["{job.name}"]`, '
            "[ints] and [segments]; docs/sial/jobs.md has an example",
            exit_code=2,
        )
    try:
        with job.open("rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise OutboardError(f"cannot read {job} ({error})", exit_code=2) from error


def _program(folder: Path, name: str) -> Path:
    program = folder / name
    if not program.exists():
        raise OutboardError(
            f"{program} is missing (that part is not built); run `outboard build`, with the "
            "packages libopenmpi-dev or libmpich-dev for more than one rank"
        )
    return program


def _installed(folder: Path) -> str:
    for mpi in MPIS:
        if (folder / f"outboard-sial-{mpi}").exists() and shutil.which(f"mpiexec.{mpi}"):
            return mpi
    raise OutboardError(
        "no MPI was found for more than one rank; install openmpi-bin and libopenmpi-dev, or mpich "
        "and libmpich-dev, and run `outboard build`"
    )
