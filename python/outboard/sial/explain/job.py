"""The sizes that a job gives to a program: docs/sial/jobs.md."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard.sial.records import NONE, Program
from outboard.values import parse_size

_DEFAULT_PARTS = 4
DECIDED_BY_RUN = ("guided", "measured")  # schedules


@dataclass
class Job:
    """A job file. Names are in lower case."""

    path: Path
    programs: list[str]
    ints: dict[str, int]
    scalars: dict[str, float]
    segments: dict[str, list[int]]
    subsegments: dict[str, int]
    run: dict[str, Any]


@dataclass
class Options:
    """The options of a run that change what it does. Sizes are bytes; 0 is no limit."""

    workers: int = 1
    servers: int = 1
    worker_memory: int = 0
    server_memory: int = 0
    schedule: str = ""  # of all pardos, whatever they name; empty: as they name it
    placement: str = "cyclic"  # of blocks on servers
    drop_cache: bool = False
    devices: tuple[str, ...] = ()  # worker n takes the n-th one
    place: str = "auto"  # of contractions: auto, host, device or hints
    rounds: int = 0  # of loops that `exit` may leave; 0: all
    folders: tuple[Path, ...] = field(default=())


def read(path: Path) -> Job:
    """Reads a job.   Errors: OutboardError if it is no job."""
    try:
        with path.open("rb") as file:
            keys = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise OutboardError(f"cannot read {path} ({error})", exit_code=2) from error
    programs = keys.get("programs")
    if keys.get("sial_job") != 1 or not isinstance(programs, list) or not programs:
        raise OutboardError(
            f"{path} is no job (it needs sial_job = 1 and a list of programs) "
            "see docs/sial/jobs.md",
            exit_code=2,
        )
    try:
        return Job(
            path,
            [str(name) for name in programs],
            {name: int(value) for name, value in _table(keys, "ints").items()},
            {name: float(value) for name, value in _table(keys, "scalars").items()},
            {name: [int(e) for e in value] for name, value in _table(keys, "segments").items()},
            {name: int(value) for name, value in _table(keys, "subsegments").items()},
            _table(keys, "run"),
        )
    except (TypeError, ValueError) as error:
        raise OutboardError(
            f"{path} has a value that is no number ({error})", exit_code=2
        ) from error


def _table(keys: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a table with names in lower case. Dotted names are nested tables in TOML."""
    found: dict[str, Any] = {}

    def add(prefix: str, table: Mapping[str, Any]) -> None:
        for key, value in table.items():
            if isinstance(value, dict) and name in ("ints", "scalars", "segments"):
                add(f"{prefix}{key}.".lower(), value)
            else:
                found[f"{prefix}{key}".lower()] = value

    value = keys.get(name, {})
    if not isinstance(value, dict):
        raise OutboardError(f"{name} is no table of the job", exit_code=2)
    add("", value)
    return found


def options_of(job: Job, ranks: int, given: dict[str, Any]) -> Options:
    """Returns the options of a run: those that are given, or else those of the job."""

    def choose(name: str, default: Any) -> Any:
        value = given.get(name)
        return job.run.get(name, default) if value is None else value

    workers, servers = int(choose("workers", 0)), int(choose("servers", 0))
    if ranks > 1:
        servers = servers or (ranks - workers if workers else max(1, ranks // 3))
        workers = workers or ranks - servers
        if workers < 1 or servers < 1 or workers + servers != ranks:
            raise OutboardError(
                f"{workers} workers and {servers} servers do not make up {ranks} ranks "
                "correct -n, --workers or --servers",
                exit_code=2,
            )
    return Options(
        workers=max(workers, 1),
        servers=max(servers, 1),
        worker_memory=_size(choose("worker_memory", 0)),
        server_memory=_size(choose("server_memory", 0)),
        schedule=choose("schedule", ""),
        placement=str(choose("placement", "cyclic")),
        drop_cache=bool(given.get("drop_cache") or job.run.get("drop_cache", False)),
        devices=tuple(given.get("devices") or ()),
        place=str(choose("place", "auto")),
        rounds=int(given.get("rounds") or 0),
    )


def _size(value: int | str) -> int:
    try:
        return value if isinstance(value, int) else parse_size(value)
    except ValueError as error:
        raise OutboardError(str(error), exit_code=2) from error


@dataclass
class Range:
    """The values of an index. `extents` are those of its segments from `lower` on."""

    lower: int
    upper: int
    extents: list[int]
    parent: int = NONE  # of a subindex
    parts: int = 1  # most subsegments per segment, of a subindex

    @property
    def count(self) -> int:
        return max(self.upper - self.lower + 1, 0)


@dataclass
class Sizes:
    """The values that the job gives to the variables and indices of a program."""

    ints: dict[int, int]
    scalars: dict[int, float]
    ranges: list[Range]


def bind(program: Program, job: Job) -> Sizes:
    """Finds all sizes of a program.   Errors: OutboardError with all that the job lacks"""
    missing: list[str] = []
    ints, scalars = (
        {
            number: _value(program, one, kind, values, missing)
            for number, one in enumerate(program[kind])
        }
        for kind, values in (("int", job.ints), ("scalar", job.scalars))
    )
    for one in program["index"]:
        table = program.string(one["table"]) if one["kind"] == 1 else ""
        if table and table not in job.segments and f"segment table {table}" not in missing:
            missing.append(f"segment table {table}")
    name = program.string(program["program"][0]["name"])
    if missing:
        raise OutboardError(
            f"program {name}: the job lacks {', '.join(missing)} (the program needs them) "
            "add them to the job file",
            exit_code=2,
        )
    ranges: list[Range] = []
    for one in program["index"]:
        ranges.append(_range(program, one, job, ints, ranges))
    return Sizes(ints, scalars, ranges)


def _value(
    program: Program, one: dict[str, Any], kind: str, values: dict[str, Any], missing: list[str]
) -> Any:
    name = program.string(one["name"])
    if not one["flags"] & 1:
        return one["initial"]
    found = values.get(name, values.get(name.rpartition(".")[2]))
    if found is None:
        missing.append(f"{kind} {name}")
        return 0
    return found


def _range(
    program: Program, one: dict[str, Any], job: Job, ints: dict[int, int], before: list[Range]
) -> Range:
    if one["kind"] == 2:
        parent = before[one["parent"]]
        table = program.string(program["index"][one["parent"]]["table"])
        parts = min(job.subsegments.get(table, _DEFAULT_PARTS), max(parent.extents, default=1))
        return Range(1, max(parts, 1), [], one["parent"], max(parts, 1))
    lower, upper = (
        ints[one[end]] if one[f"{end}_kind"] else one[end] for end in ("lower", "upper")
    )
    if one["kind"] == 0:
        return Range(lower, upper, [])
    extents = job.segments[program.string(one["table"])]
    if lower < 1 or upper > len(extents) or lower > upper + 1:
        raise OutboardError(
            f"index {program.string(one['name'])} has the range {lower}:{upper} (segment table "
            f"{program.string(one['table'])} has segments 1 to {len(extents)}) correct [ints] or "
            "[segments] of the job",
            exit_code=2,
        )
    return Range(lower, upper, extents[lower - 1 : upper])
