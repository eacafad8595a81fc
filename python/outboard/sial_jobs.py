"""Starts the ranks of a job."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard.sial.compiler import Options, compile_file
from outboard.version import version

MPIS = ("openmpi", "mpich")


@dataclass(frozen=True)
class Start:
    """How a job is started. `passed` are options of the runtime, as it spells them."""

    job: Path
    ranks: int = 1
    mpi: str | None = None
    hosts: str | None = None
    passed: Sequence[str] = field(default_factory=tuple)


def compile_sources(job: Path, folders: Sequence[Path]) -> str:
    """Compiles the job's programs whose sources are newer than their byte code.

    Returns the warnings. Raises OutboardError with the diagnostics if a program has mistakes."""
    warnings = ""
    for name in _programs(job):
        source = job.parent / name
        if source.suffix not in (".sial", ".sialx") or not source.exists():
            continue
        code = source.with_suffix(".sialc")
        if code.exists() and code.stat().st_mtime_ns > source.stat().st_mtime_ns:
            continue
        options = Options(folders=tuple(folders), compiler=f"outboard {version()}")
        result = compile_file(source, str(source), options)
        if result.code is None:
            raise OutboardError(f"{source} does not compile\n{result.render()}".rstrip())
        warnings += result.render()
        code.write_bytes(result.code)
    return warnings


def command_line(start: Start) -> tuple[list[str], dict[str, str]]:
    """Returns the command that runs the job, and its environment."""
    folder = paths.require_native().daemon.parent
    environment = dict(os.environ)
    if start.ranks == 1:
        return [str(_program(folder, "outboard-sial")), str(start.job), *start.passed], environment
    mpi = start.mpi or _installed(folder)
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
    if start.hosts:
        command += ["--host" if mpi == "openmpi" else "-hosts", start.hosts]
    return [*command, str(program), str(start.job), *start.passed], environment


def _programs(job: Path) -> list[str]:
    try:
        with job.open("rb") as file:
            programs = tomllib.load(file).get("programs", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise OutboardError(f"cannot read {job} ({error})", exit_code=2) from error
    # The runtime reports what is wrong with the job file.
    return [one for one in programs if isinstance(one, str)] if isinstance(programs, list) else []


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
