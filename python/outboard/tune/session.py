"""Runs one `outboard tune`: the stages, one after the other, and their results."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from outboard import build, paths, profile
from outboard.errors import OutboardError
from outboard.explain import answer
from outboard.profile import Profile
from outboard.settings import Settings, inherited_servers, preloadable
from outboard.tune import libraries, stage, table
from outboard.tune.bar import Bar, Stopwatch
from outboard.tune.calls import Job
from outboard.tune.matrices import FAMILIES, SIZES

_SECONDS, _QUICK_SECONDS = 110.0, 24.0
_LOCAL_SHARE = 0.4  # part of the time; servers share the rest, some of which their links take
# A call that takes longer is the last of its routine. Remote calls may take longer, so that the
# speed of the device shows even over a slow link.
_LONGEST_S, _QUICK_LONGEST_S = 0.3, 0.1
_LONGER_REMOTE = 3
_PLAN_S, _QUICK_PLAN_S = 0.25, 0.05  # the time for each of FFTW's own plans
_OPERAND_BYTES = 1 << 32
_TRANSFORMS = tuple(1 << power for power in range(10, 27, 2))  # points
_CONTACT_S = 1.0
_TRIAL_S = 10.0  # the run of a command that shows its libraries
_SAVED_S = 2.0  # a tolerance for the clocks of file systems


@dataclass(frozen=True)
class Wanted:
    """The options of `outboard tune`."""

    servers: tuple[str, ...] | None
    libraries: tuple[str, ...]
    folder: Path
    quick: bool = False
    seconds: float | None = None
    command: tuple[str, ...] = ()

    def addresses(self) -> tuple[str, ...]:
        return self.servers or inherited_servers(os.environ)

    def whole_s(self) -> float:
        return self.seconds or (_QUICK_SECONDS if self.quick else _SECONDS)


def tune(wanted: Wanted, json_file: Path | None) -> None:
    """Measures, and shows the results."""
    # exits with cleaning up
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    native = build.ensure_native()
    with suppress(OSError):
        wanted.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    expect_writable(wanted.folder, "--profile")
    if json_file is not None:
        expect_writable(json_file.absolute().parent, "--json")
    servers = wanted.addresses()
    chosen = libraries.named(wanted.libraries) or libraries.usual()
    if chosen:
        reach(servers, wanted, native, chosen)
    if wanted.command:
        chosen = libraries.of_command(wanted.command, native, _TRIAL_S, os.environ)
    if not chosen:
        raise OutboardError(
            "no BLAS, LAPACK or FFTW library was found (the loader knows none); name one with "
            "--library"
        )
    if not servers:
        click.echo("outboard: no server is named; only the local library is measured", err=True)
    watch, begin = Stopwatch(), time.time()
    with tempfile.TemporaryDirectory(prefix="outboard-") as name:
        one = _Session(wanted, native, Path(name), chosen)
        try:
            one.measure(servers)
        except KeyboardInterrupt:
            click.echo("outboard: stopped; what was finished is kept", err=True)
            sys.exit(130)
        found = [p for p in _read(wanted.folder) if (p.written or 0) > begin - _SAVED_S]
        expect_written(found, servers, wanted.folder)
        wins = one.wins(found, servers)
    table.print_all(found, wins, sys.stdout)
    one.print_notes()
    click.echo(f"\nmeasured in {watch.text()}; profiles are in {profile.of_host(wanted.folder)}")
    _write_json(found, wins, json_file)


def show(wanted: Wanted, json_file: Path | None) -> None:
    """Prints the contents of the profiles."""
    found = _read(wanted.folder)
    if not found:
        raise OutboardError(
            f"there are no profiles of this host in {wanted.folder}; `outboard tune` makes some"
        )
    table.print_all(found, {}, sys.stdout)
    click.echo(f"\nprofiles are in {profile.of_host(wanted.folder)}")
    _write_json(found, {}, json_file)


def _read(folder: Path) -> list[Profile]:
    found, notes = profile.read_all(folder)
    for note in notes:
        click.echo(f"outboard: {note}", err=True)
    return found


def _write_json(found: Sequence[Profile], wins: table.Wins, file: Path | None) -> None:
    if file is None:
        return
    try:
        file.write_text(json.dumps(table.to_json(found, wins), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutboardError(f"cannot write {file} ({error.strerror})") from error


def reach(
    servers: Sequence[str], wanted: Wanted, native: paths.Native, chosen: tuple[str, ...]
) -> None:
    """Sends one call to each server before any long work starts. Raises OutboardError."""
    for address in servers:
        with tempfile.TemporaryDirectory(prefix="outboard-") as name:
            one = _Session(wanted, native, Path(name), chosen)
            try:
                one.contact(address)
            except OutboardError as error:
                text = f"{address}: {error.message}; see `outboard doctor --server {address}`"
                raise OutboardError(text) from error


def expect_writable(folder: Path, option: str) -> None:
    """Checks that `folder` can be written before the measurements start. Raises OutboardError."""
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OutboardError(f"{folder} cannot be written (it is not ours); name another: {option}")


def expect_written(found: Sequence[Profile], servers: Sequence[str], folder: Path) -> None:
    """Checks that the programs wrote profiles when they ended. Raises OutboardError."""
    missing = [a for a in servers if not any(p.server[0] == a for p in found if not p.of_library)]
    if not any(p.of_library for p in found):
        missing.insert(0, "the local library")
    if missing:
        raise OutboardError(
            f"no profile of {', '.join(missing)} was written to {profile.of_host(folder)} (the "
            "folder is full or not ours, or liboutboard-preload.so is older than this command); "
            "build it again with `outboard build`"
        )


class _Session:
    """The stages, with their notes."""

    def __init__(
        self, wanted: Wanted, native: paths.Native, folder: Path, chosen: tuple[str, ...]
    ) -> None:
        self._wanted = wanted
        self._folder = folder
        self._preload = preloadable(native.preload, folder)
        self._libraries = libraries.without_blanks(chosen, folder)
        self._notes: list[str] = []

    def measure(self, servers: tuple[str, ...]) -> None:
        whole = self._wanted.whole_s()
        local_s = whole * (_LOCAL_SHARE if servers else 1.0)
        stages = [("the local library", local_s)]
        stages += [(address, (whole - local_s) / len(servers)) for address in servers]
        with Bar(stages) as bar:
            for index, (title, seconds) in enumerate(stages):
                bar.next_stage()
                job = self._job(seconds, remote=index > 0)
                settings = self._settings(job, title, learn=True)
                result = stage.run(job, self._environment(settings), self._folder, bar.update)
                self._note(title, result)

    def contact(self, address: str) -> None:
        """Makes one remote call. Raises OutboardError if no call goes out."""
        job = replace(self._job(_CONTACT_S, remote=True), contact_only=True)
        environment = self._environment(self._settings(job, address, learn=False))
        stage.run(job, environment, self._folder, lambda _what, _part: None)

    def _job(self, seconds: float, remote: bool) -> Job:
        quick = self._wanted.quick
        longest = _QUICK_LONGEST_S if quick else _LONGEST_S
        report = self._folder / f"report{len(list(self._folder.glob('report*')))}"
        report.mkdir()
        return Job(
            libraries=self._libraries,
            remote=remote,
            contact_only=False,
            seconds=seconds,
            longest_s=longest * (_LONGER_REMOTE if remote else 1),
            operand_bytes=min(_OPERAND_BYTES, available_memory() / 4),
            plan_s=_QUICK_PLAN_S if quick else _PLAN_S,
            quick=quick,
            report=str(report),
        )

    def _settings(self, job: Job, address: str, learn: bool) -> Settings:
        return Settings(
            mode="remote" if job.remote else "trace",
            servers=(address,) if job.remote else (),
            report=f"dir:{job.report}",
            resident="off",
            profile=str(self._wanted.folder) if learn else "off",
            learn=learn,
        )

    def _note(self, title: str, result: stage.Result) -> None:
        self._notes += [f"{title}: {text}" for text in result.complaints]
        reasons: dict[str, list[str]] = {}
        for name, why in result.skipped.items():
            reasons.setdefault(why, []).append(name)
        if result.no_time:
            reasons["no time; give it more with --seconds"] = list(dict.fromkeys(result.no_time))
        for why, names in reasons.items():
            self._notes.append(f"{title}: not measured: {', '.join(names)} ({why})")

    def _environment(self, settings: Settings) -> dict[str, str]:
        return stage.environment_for(settings, self._preload, self._libraries, os.environ)

    def wins(self, found: Sequence[Profile], servers: tuple[str, ...]) -> dict[str, dict[str, str]]:
        """Returns, by server and routine, the library's own answer about the sizes that go out."""
        wins: dict[str, dict[str, str]] = {}
        for address in servers:
            mine = [p for p in found if not p.of_library and p.server[0] == address]
            names = {rate.routine for p in mine for rate in p.device}
            settings = Settings(
                mode="auto", servers=(address,), quiet=True, profile=str(self._wanted.folder)
            )
            with answer.Asker(self._environment(settings)) as asker:
                wins[address] = {name: _wins_from(asker, name) for name in sorted(names)}
        return wins

    def print_notes(self) -> None:
        for note in self._notes:
            click.echo(f"outboard: {note}", err=True)


def _wins_from(asker: answer.Asker, routine: str) -> str:
    """Returns the sizes that go out, in words."""
    transform = routine.startswith("fftw")
    if not transform and routine[1:] not in FAMILIES:
        return ""
    try:
        return answer.crossing(asker, routine, _TRANSFORMS if transform else SIZES)
    except OutboardError as error:
        return str(error.message)


def available_memory() -> float:
    """Returns the bytes of memory that are available without swapping: proc(5), MemAvailable."""
    try:
        text = Path("/proc/meminfo").read_text()
        return next(
            float(line.split()[1]) * 1024
            for line in text.splitlines()
            if line.startswith("MemAvailable")
        )
    except (OSError, StopIteration):
        return float(_OPERAND_BYTES)
