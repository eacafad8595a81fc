"""Runs of SIAL jobs for benchmarks: writes a job, starts its ranks, and reads their report."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import native_program
from outboard_bench.link import Link
from outboard_bench.sial_hosts import Hosts

_PROGRAMS = Path(__file__).parents[1] / "sial"
_TIMEOUT_S = 120.0
_GRACE_S = 3.0
# The starter of MPICH 4.0 fails so at times when ranks on another host end while others still do.
_LOST_PROXY = "HYD_pmcd_pmip_control_cmd_cb"


@dataclass(frozen=True)
class Job:
    """A program of bench/sial, and the numbers it gets. `segments` are extents of `ao`."""

    program: str
    ints: Mapping[str, int] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    segments: Sequence[int] = ()

    def write(self, folder: Path) -> Path:
        """Writes and compiles the job in a folder of its own there. Returns its file."""
        target = folder / f"{self.program}-{len(list(folder.iterdir()))}"
        target.mkdir()
        shutil.copy(_PROGRAMS / f"{self.program}.sial", target)
        file = target / "job.toml"
        file.write_text(self._text())
        _compile(file)
        return file

    def _text(self) -> str:
        lines = ["sial_job = 1", f'programs = ["{self.program}.sial"]', "[ints]"]
        lines += [f"{name} = {value}" for name, value in self.ints.items()]
        lines += ["[scalars]", *(f"{name} = {value!r}" for name, value in self.scalars.items())]
        lines += ["[segments]", f"ao = {list(self.segments)}"]
        return "\n".join(lines) + "\n"


def _compile(file: Path) -> None:
    try:
        from outboard import sial_jobs
    except ImportError as error:
        raise OutboardError(
            f"the compiler of SIAL needs a package that is missing ({error.name}); run: "
            "pip install 'outboard[sial]'"
        ) from error
    sial_jobs.compile_sources(file, ())


@dataclass(frozen=True)
class Report:
    """What the lines of a program did, summed over its workers."""

    workers: int
    source: Sequence[str]
    lines: Mapping[int, Mapping[str, Any]]

    def line(self, text: str) -> Mapping[str, Any]:
        """Returns the counters of the first line that begins with this text."""
        return self.lines[self._number(text)]

    def last_line(self, text: str) -> Mapping[str, Any]:
        return self.lines[self._number(text, -1)]

    def seconds(self, first: str, last: str, which: int = 0) -> float:
        """Returns the seconds of a worker from the first line that begins so to the next one that
        begins with `last`: those that it computed, and those that it waited. `which` counts the
        first lines."""
        begin = self._number(first, which)
        end = self._number(last, begins=begin)
        found = [self.lines[number] for number in range(begin, end + 1) if number in self.lines]
        whole = sum(line.get("seconds", 0.0) + line.get("wait_s", 0.0) for line in found)
        return float(whole) / self.workers

    def _number(self, text: str, which: int = 0, begins: int = 0) -> int:
        numbers = [
            number
            for number, line in enumerate(self.source, 1)
            if number >= begins and line.strip().startswith(text)
        ]
        return numbers[which]


def run(
    hosts: Hosts | None, file: Path, workers: int, servers: int, options: Sequence[str] = ()
) -> Report:
    """Runs a job, in one process if there are no hosts. Raises OutboardError if it fails."""
    report = file.with_name("report.json")
    command = command_line(hosts, file, workers, servers, [*options, "--report", str(report)])
    finish(command)
    program = json.loads(report.read_text())[0]
    source = next(file.parent.glob("*.sial")).read_text().splitlines()
    return Report(workers, source, {line["line"]: line for line in program["lines"]})


def command_line(
    hosts: Hosts | None,
    file: Path,
    workers: int,
    servers: int,
    options: Sequence[str] = (),
    before: Sequence[str] = (),
) -> list[str]:
    """Returns the command of a job. `before` are words in front of each rank's program."""
    native = paths.require_native()
    if hosts is None:
        return [str(native_program.require(native, "outboard-sial")), str(file), *options]
    program = native_program.require(native, f"outboard-sial-{hosts.mpi}")
    divided = ["--workers", str(workers), "--servers", str(servers)]
    words = [*before, str(program), str(file), *divided, *options]
    return hosts.command(workers, servers, words)


def finish(command: Sequence[str], *, again: bool = True) -> str:
    """Runs a command to its end, and returns its output."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise OutboardError(f"`{' '.join(command)}` has no end after {_TIMEOUT_S:g} s") from error
    if done.returncode != 0 and again and _LOST_PROXY in done.stderr:
        return finish(command, again=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or "it said nothing"
        raise OutboardError(f"`{' '.join(command)}` failed (status {done.returncode}): {said}")
    return done.stdout


def finish_at_line(link: Link, begins: str, command: Sequence[str]) -> str:
    """Runs a command over the link until it has printed a line that begins so. Over TCP, MPICH 4.0
    may hang in MPI_Finalize, so what does not end soon after is killed."""
    said = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        over = threading.Event()

        def end() -> None:
            over.set()
            link.end_programs()

        limit = threading.Timer(_TIMEOUT_S, end)
        limit.start()
        try:
            for line in process.stdout:
                said.append(line)
                if line.startswith(begins):
                    break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
        finally:
            limit.cancel()
            link.end_programs()
    if over.is_set():
        raise OutboardError(f"`{' '.join(command)}` has no end after {_TIMEOUT_S:g} s")
    return "".join(said)
