"""Says what a job will do before it runs: `outboard sial explain`.

Source: docs/sial/explain.md
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from outboard import sial_saved
from outboard.errors import OutboardError
from outboard.sial import bytecode
from outboard.sial.explain import rates as rates_
from outboard.sial.explain.code import Code
from outboard.sial.explain.counts import Estimate
from outboard.sial.explain.estimate import estimate
from outboard.sial.explain.job import Job, Options, Range, bind
from outboard.sial.explain.places import places
from outboard.sial.explain.rates import Rates
from outboard.sial.explain.statements import Saved
from outboard.sial.records import Program

_STORAGES = ("static", "temp", "local", "distributed", "served")


@dataclass
class Explained:
    """One program of a job and what it will do."""

    program: Program
    result: Estimate
    options: Options
    ranges: list[Range]  # of its indices

    @property
    def name(self) -> str:
        return self.program.string(self.program["program"][0]["name"])

    def array(self, number: int) -> str:
        return self.program.string(self.program["array"][number]["name"])


def explain(job: Job, options: Options, state: Path) -> list[Explained]:
    """Follows all programs of a job in their order.   Errors: OutboardError"""
    saved = _saved(state)
    found = []
    for name in job.programs:
        path = (job.path.parent / name).with_suffix(".sialc")
        try:
            program = bytecode.read(path.read_bytes())
        except OSError as error:
            raise OutboardError(f"cannot read {path} ({error.strerror})", exit_code=2) from error
        sizes = bind(program, job)
        result = estimate(program, sizes, options, saved)
        found.append(Explained(program, result, options, sizes.ranges))
    return found


def _saved(state: Path) -> Saved:
    """Returns the blocks of the arrays that earlier runs have saved."""
    if not (state / "saved.toml").exists():
        return {}
    return {
        label: np.array(sial_saved.block_numbers(one), np.int64)
        for label, one in sial_saved.read_table(state).items()
        if one.distributed
    }


@dataclass
class Line:
    """The sums over the instructions of one line."""

    file: str
    line: int
    executions: int = 0
    flops: int = 0
    requests: int = 0
    received: int = 0
    sent: int = 0
    places: set[str] = field(default_factory=set)  # of its contractions: host, device, auto
    seconds: float | None = None  # of all workers together


def lines(one: Explained, rates: Rates | None) -> list[Line]:
    """Returns the lines that are executed."""
    code, counts = Code(one.program), one.result.counts
    found: dict[tuple[str, int], Line] = {}
    placed = places(code, one.options)
    for at in range(len(code.instructions)):
        if not counts.executions[at]:
            continue
        line = found.setdefault(code.place(at), Line(*code.place(at)))
        line.executions = max(line.executions, int(counts.executions[at]))
        line.flops += int(counts.flops[at])
        line.requests += int(counts.requests[at])
        line.received += int(counts.received[at])
        line.sent += int(counts.sent[at])
        if at in placed:
            line.places.add(placed[at].word)
        if rates is not None:
            seconds = rates.seconds(code, at, counts)
            line.seconds = (line.seconds or 0.0) + seconds
    if rates is not None:
        rates.take_measured(list(found.values()))
    return [found[place] for place in sorted(found)]


def typical_extent(one: Explained) -> int:
    """Returns the extent of blocks to measure with."""
    return rates_.typical_extent(Code(one.program), one.result.counts)


def to_json(all_: Sequence[Explained], rates: Rates | None) -> str:
    """Returns everything as JSON. `memory` has the form of the report of a run."""
    programs = []
    for one in all_:
        result = one.result
        pairs = zip(result.blocks.sizes, result.fetched.sizes, strict=True)
        programs.append(
            {
                "program": one.name,
                "workers": one.options.workers,
                "servers": one.options.servers,
                "devices": list(one.options.devices),
                "memory": {
                    "servers": [int(size) for size in result.stored.sizes],
                    "workers": [{"blocks": int(b), "fetched": int(f)} for b, f in pairs],
                },
                "spilled": [int(size) for size in spilled(one)],
                "arrays": [_array_json(one, number) for number in range(len(one.program["array"]))],
                "lines": [_line_json(line) for line in lines(one, rates)],
                "worker_flops": [int(flops) for flops in result.worker_flops],
                "unknown": list(result.notes),
            }
        )
    return json.dumps(programs, indent=1)


def _line_json(line: Line) -> dict[str, Any]:
    values: dict[str, Any] = {
        "file": line.file, "line": line.line, "executions": line.executions, "flops": line.flops,
        "requests": line.requests, "received": line.received, "sent": line.sent,
    }  # fmt: skip
    if line.seconds is not None:
        values["seconds"] = line.seconds
    if line.places:
        values["places"] = sorted(line.places)
    return values


def _array_json(one: Explained, number: int) -> dict[str, Any]:
    storage = _STORAGES[one.program["array"][number]["storage"]]
    values: dict[str, Any] = {"array": one.array(number), "storage": storage}
    peak = one.result.array_peaks.get(number)
    if peak is not None:
        values["blocks"] = one.result.array_blocks[number]
        values["servers"] = [int(size) for size in peak]
    return values


def spilled(one: Explained) -> Any:
    """Returns the bytes per server that go to disk."""
    limit = one.options.server_memory
    over = one.result.stored.sizes - limit
    return np.maximum(over, 0) if limit else np.zeros_like(over)
