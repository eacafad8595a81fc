"""Tests the traces of the overlap library and of `outboard run --overlap`, with real MPI programs.

Each test knows what its program sends, and looks for exactly that in the joined file.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import Outboard, clean_environment
from needs import needs, needs_built
from outboard import paths
from test_overlap_programs import LAUNCHER, MPIS, Programs, environment, job, programs, run

__all__ = ["environment", "programs"]  # fixtures

Event = dict[str, Any]
N = 20  # cells of the example along each axis
ITERATIONS = 5
RUNS = 2 * ITERATIONS + 1  # a sweep for each colour, and the exchange before the first one
FACE = N * N * 8  # bytes of a message of the example
ROUND = 4 << 20  # bytes of a message of exchange.c


def ns(us: float) -> int:
    """Returns a time of the format as the integer that was written. Doubles have enough digits."""
    return round(us * 1000)


class Events:
    """A joined trace, in which the form of all events is checked."""

    def __init__(self, file: Path) -> None:
        joined = json.loads(file.read_text())
        self.all: list[Event] = joined["traceEvents"]
        self.spans = [e for e in self.all if e["ph"] == "X"]
        self.ranks = {
            e["pid"]: int(e["args"]["name"].removeprefix("rank "))
            for e in self.all
            if (e["ph"], e["name"]) == ("M", "process_name")
        }
        self.threads = {
            e["tid"]: e["args"]["name"]
            for e in self.all
            if (e["ph"], e["name"]) == ("M", "thread_name")
        }
        assert {e["ph"] for e in self.all} <= set("XMsfbe")
        self._check_nesting()
        self.flows = self._pairs("s", "f")
        self.intervals = self._pairs("b", "e")

    def named(self, name: str, rank: int) -> list[Event]:
        """Returns the spans of a rank with this name."""
        return [e for e in self.spans if e["name"] == name and self.ranks[e["pid"]] == rank]

    def names(self, rank: int) -> Counter[str]:
        return Counter(e["name"] for e in self.spans if self.ranks[e["pid"]] == rank)

    def around(self, end: Event, names: Iterable[str]) -> Event:
        """Returns the one span with one of these names around the end of a flow."""
        at = ns(end["ts"])
        found = [
            e
            for e in self.spans
            if (e["pid"], e["tid"]) == (end["pid"], end["tid"])
            and e["name"] in names
            and ns(e["ts"]) <= at <= ns(e["ts"]) + ns(e["dur"])
        ]
        assert len(found) == 1, (end, found)
        return found[0]

    def _check_nesting(self) -> None:
        """Spans of a thread are disjoint, or one lies within the other."""
        threads = defaultdict(list)
        for e in self.spans:
            threads[e["pid"], e["tid"]].append((ns(e["ts"]), -ns(e["dur"]), e["name"]))
        for spans in threads.values():
            open_ends: list[int] = []
            for begin, minus, name in sorted(spans):
                while open_ends and open_ends[-1] <= begin:
                    open_ends.pop()
                assert not open_ends or begin - minus <= open_ends[-1], (name, begin)
                open_ends.append(begin - minus)

    def _pairs(self, first: str, second: str) -> list[tuple[Event, Event]]:
        """Returns the events that belong together by their number. Both are there, in order."""
        pairs = defaultdict(list)
        for e in self.all:
            if e["ph"] in (first, second):
                pairs[e["id"], e["cat"], e["name"]].append(e)
        for pair in pairs.values():
            assert [e["ph"] for e in pair] == [first, second], pair
            assert pair[0]["pid"] == pair[1]["pid"] and pair[0]["ts"] <= pair[1]["ts"], pair
        assert len({number for number, *_ in pairs}) == len(pairs)
        return [(pair[0], pair[1]) for pair in pairs.values()]


class Example:
    """Runs a program of the overlap library with a trace."""

    def __init__(self, outboard: Outboard, native: paths.Native, mpi: str, folder: Path) -> None:
        needs(f"mpiexec.{mpi}")
        self.outboard, self.native, self.mpi, self.folder = outboard, native, mpi, folder

    def trace(self, name: str, *words: str, ranks: int = 2) -> Events:
        program = self.native.root / "examples" / f"example_{name}_{self.mpi}"
        needs_built(program)
        stem, joined = self.folder / "trace", self.folder / "trace.json"
        done = subprocess.run(
            [f"mpiexec.{self.mpi}", "-n", str(ranks), str(program), *words],
            env=clean_environment(**LAUNCHER, OUTBOARD_TRACE=str(stem)),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        result = self.outboard("trace", str(stem), "-o", str(joined))
        assert result.returncode == 0, result.stderr
        return Events(joined)


@pytest.fixture(params=MPIS)
def example(
    request: pytest.FixtureRequest, outboard: Outboard, native: paths.Native, tmp_path: Path
) -> Example:
    return Example(outboard, native, str(request.param), tmp_path)


@pytest.mark.parametrize("mode", ["sync", "async", "ticked", "shared", "proxy"])
def test_runs_of_a_halo(example: Example, mode: str) -> None:
    words = ("--n", str(N), "--iterations", str(ITERATIONS), "--geometry", "2x1x1")
    events = example.trace("redblack3d", *words, "--mode", mode)
    assert sorted(events.ranks.values()) == [0, 1]
    for rank in (0, 1):
        other = 1 - rank
        starts, waits = events.named("start", rank), events.named("wait", rank)
        by_program = [e for e in starts if "plan" in e["args"]]
        assert [e["args"] for e in by_program] == RUNS * [
            {"plan": "u", "mode": mode, "bytes": 2 * FACE}
        ]
        assert [e["args"] for e in waits] == RUNS * [{"plan": "u", "bytes": 2 * FACE}]
        # The faces lie in rows, so each is packed and unpacked by the thread that moves it.
        for name in ("pack", "unpack"):
            packs = events.named(name, rank)
            assert [e["args"]["bytes"] for e in packs] == RUNS * [FACE]
            by_proxy = {events.threads.get(e["tid"]) == "proxy" for e in packs}
            assert by_proxy == {mode in ("shared", "proxy")}
        for name in (f"to {other}", f"from {other}"):
            messages = [
                begin
                for begin, _ in events.intervals
                if begin["name"] == name and events.ranks[begin["pid"]] == rank
            ]
            assert [e["args"]["bytes"] for e in messages] == RUNS * [FACE]
            for e in events.named(name, rank):
                assert e["args"] == {"neighbour": other, "bytes": FACE}
        assert set(events.names(rank)) <= {
            *("start", "wait", "tile", "tick", "pack", "unpack", "test", "nap"),
            *(f"to {other}", f"from {other}"),
        }
        assert len(events.named("tile", rank)) >= 2 * ITERATIONS  # the inner cells of each sweep
    flows = {id(events.around(s, ["start"])): events.around(f, ["wait"]) for s, f in events.flows}
    assert len(flows) == len({id(wait) for wait in flows.values()}) == 2 * RUNS
    if mode == "async":  # nothing moves before the wait, so the rank that starts first waits
        assert events.named("from 1", 0) or events.named("from 0", 1)
    if mode in ("shared", "proxy"):
        assert "proxy" in events.threads.values()
        assert len(events.named("start", 0)) == 2 * RUNS  # the program's, and the proxy's


@pytest.mark.parametrize("mode", ["ticked", "proxy"])
def test_panels(example: Example, mode: str) -> None:
    words = ("--m", "64", "--n", "64", "--k", "64", "--panel", "16", "--turns", "1")
    events = example.trace("summa", *words, "--mesh", "1x2", "--mode", mode)
    plans = Counter(
        (e["args"]["plan"], events.ranks[e["pid"]])
        for e in events.spans
        if e["name"] == "start" and "plan" in e["args"]
    )
    waits = Counter((e["args"]["plan"], events.ranks[e["pid"]]) for e in spans_of(events, "wait"))
    # Four panels of A along the row of the mesh, and of B along a column of one rank.
    assert plans == waits == {(plan, rank): 4 for plan in "AB" for rank in (0, 1)}
    assert len(events.flows) == sum(plans.values())
    for start, end in events.flows:
        first, last = events.around(start, ["start"]), events.around(end, ["wait"])
        assert first["args"]["plan"] == last["args"]["plan"]
    # A panel of A, 64 x 16 doubles, goes from its owner to the other rank.
    panels = [b for b, _ in events.intervals]
    assert {e["args"]["bytes"] for e in panels} == {64 * 16 * 8}
    sent = Counter(e["name"] for e in panels if e["name"].startswith("to "))
    received = Counter(e["name"] for e in panels if e["name"].startswith("from "))
    assert sum(received.values()) == 4
    assert sum(sent.values()) <= 4  # the last ones may go on after the wait


def spans_of(events: Events, name: str) -> list[Event]:
    return [e for e in events.spans if e["name"] == name]


def test_without_a_trace_no_file_is_written(example: Example) -> None:
    program = example.native.root / "examples" / f"example_redblack3d_{example.mpi}"
    needs_built(program)
    words = [f"mpiexec.{example.mpi}", "-n", "2", str(program), "--n", "8"]
    environment = clean_environment(**LAUNCHER)
    subprocess.run(words, env=environment, cwd=example.folder, check=True, capture_output=True)
    assert list(example.folder.iterdir()) == []


def layer_events(
    outboard: Outboard,
    environment: Mapping[str, str],
    words: list[str],
    file: Path,
    mode: str = "on",
) -> Events:
    result = run(outboard, environment, words, f"--overlap={mode}", "--trace", str(file))
    assert result.returncode == 0, result.stdout + result.stderr
    return Events(file)


STARTS = ("MPI_Isend", "MPI_Issend", "MPI_Irecv", "MPI_Start", "MPI_Startall", "MPI_Iallreduce")
ENDS = tuple(
    f"MPI_{kind}{count}" for kind in ("Wait", "Test") for count in ("", "all", "any", "some")
)


@pytest.mark.parametrize("mode", ["on", "count"])
def test_an_unmodified_program(
    outboard: Outboard,
    environment: dict[str, str],
    programs: Programs,
    tmp_path: Path,
    mode: str,
) -> None:
    rounds = 4
    words = job(programs, 2, programs.program("exchange.c"), "loop", str(rounds), "3")
    events = layer_events(outboard, environment, words, tmp_path / "trace.json", mode)
    assert sorted(events.ranks.values()) == [0, 1]
    for rank in (0, 1):
        names = {"MPI_Isend": rounds, "MPI_Irecv": rounds, "MPI_Waitall": rounds}
        assert events.names(rank) == names
        for name in ("MPI_Isend", "MPI_Irecv"):
            for e in events.named(name, rank):
                assert e["args"] == {"neighbour": 1 - rank, "bytes": ROUND}
        for e in events.named("MPI_Waitall", rank):
            assert (e["args"]["operations"], e["args"]["bytes"]) == (2, 2 * ROUND)
            assert e["args"]["site"].startswith("exchange-c+0x")
        assert len({e["args"]["site"] for e in events.named("MPI_Waitall", rank)}) == 1
    assert Counter(s["name"] for s, _ in events.flows) == {
        "MPI_Isend": 2 * rounds,
        "MPI_Irecv": 2 * rounds,
    }
    for start, end in events.flows:
        assert events.around(start, [start["name"]])
        assert events.around(end, ["MPI_Waitall"])


@pytest.mark.parametrize("mode", ["auto", "on"])
def test_random_exchanges(
    outboard: Outboard,
    environment: dict[str, str],
    programs: Programs,
    tmp_path: Path,
    mode: str,
) -> None:
    seed = random.randrange(1 << 20)
    print("seed", seed)
    words = job(programs, 2, programs.program("exchange.c"), "random", str(seed), "25")
    events = layer_events(outboard, environment, words, tmp_path / "trace.json", mode)
    assert {e["name"] for e in events.spans} <= {*STARTS, *ENDS}
    ends = [e for e in events.spans if e["name"] in ENDS]
    assert len(events.flows) == sum(e["args"]["operations"] for e in ends)
    for start, end in events.flows:
        events.around(start, [start["name"]])
        events.around(end, ENDS)
    messages = [e for e in events.spans if "neighbour" in e["args"]]
    assert messages
    for e in messages:
        assert e["args"]["neighbour"] == 1 - events.ranks[e["pid"]]
    # Both ranks send messages of the same sizes, and complete all of them.
    sizes = {
        name: Counter(e["args"]["bytes"] for e in messages if e["name"] in names)
        for name, names in {
            "sent": ("MPI_Isend", "MPI_Issend"),
            "received": ("MPI_Irecv",),
        }.items()
    }
    assert sizes["sent"] == sizes["received"]
    assert sum(e["args"]["bytes"] for e in ends) == sum(e["args"]["bytes"] for e in messages)


@pytest.mark.parametrize("options", [(), ("-DF08",)])
def test_fortran(
    outboard: Outboard,
    environment: dict[str, str],
    programs: Programs,
    tmp_path: Path,
    options: tuple[str, ...],
) -> None:
    program = programs.program("exchange.f90", "-cpp", *options)
    words = job(programs, 2, program, tmp_path / "arrived")
    events = layer_events(outboard, environment, words, tmp_path / "trace.json")
    found = {
        (events.ranks[e["pid"]], e["name"], e["args"].get("neighbour"), e["args"]["bytes"])
        for e in events.spans
    }
    assert found == {
        (0, "MPI_Isend", 1, 8 << 20),
        (0, "MPI_Waitany", None, 8 << 20),
        (1, "MPI_Irecv", 0, 8 << 20),
        (1, "MPI_Waitall", None, 8 << 20),
    }
    for start, end in events.flows:
        events.around(start, ["MPI_Isend", "MPI_Irecv"])
        events.around(end, ["MPI_Waitany", "MPI_Waitall"])
    assert len(events.flows) == 2
