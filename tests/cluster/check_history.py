#!/usr/bin/env python3
"""Checks the history of a pool: python tests/cluster/check_history.py LOG...

Each line of a log is a JSON object: `event`, and `t` by one CLOCK_MONOTONIC for all. Managers
write logs with `outboard pool serve --history LOG`; their store is empty at the beginning.
    start   a manager leads from now on, with what its store has: rev, manager
    apply   it is about to commit this: rev, now_ms, type and command, answer, manager
    commit  all that it was about to commit is stored: rev, manager
    answer  a holder heard of a held or queued lease: lease, rev, asked (a time), handles
    floor   a daemon knows a floor: device, floor
    begin   a command begins on a device: device, epoch, exclusive; end: it ended
    died    the daemon of a device has ended, and its commands with it: device

The revision is a witness of the order of all commits, so that one pass over the history decides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from outboard.pool.core import commands
from outboard.pool.core.apply import apply
from outboard.pool.core.records import Handle
from outboard.pool.core.state import Config, State
from outboard.pool.core.transaction import Change
from outboard.pool.simulation.recorder import plain
from outboard.pool.store.base import StoreError
from outboard.pool.store.memory import MemoryStore

Event = dict[str, Any]


class Replay:
    """The manager's part of a history: the core says what each command must have answered."""

    def __init__(self) -> None:
        self._state, self._store = State(Config()), MemoryStore()
        self._leader = ""
        self._pending: list[Change] = []
        self._granted: dict[tuple[str, int], str] = {}
        self._highest: dict[str, int] = {}
        self.confirmed: set[tuple[str, int]] = set()

    def start(self, event: Event) -> Iterator[str]:
        if event["rev"] >= self._state.rev:  # the last one died before it could say so
            yield from self._commit()
        self._pending = []
        self._leader = event["manager"]
        self._state = self._store.load(Config())
        if event["rev"] != self._state.rev:
            yield f"the manager starts with revision {event['rev']}, not {self._state.rev}"

    def apply(self, event: Event) -> Iterator[str]:
        if event["manager"] != self._leader:
            return  # one that has lost its place cannot commit this
        command = msgspec.convert(event["command"], getattr(commands, event["type"]))
        try:
            outcome = apply(self._state, command, event["now_ms"])
        except Exception as error:  # a history that is wrong enough breaks what the core relies on
            yield f"the core fails on {event['type']} at revision {event['rev']}: {error!r}"
            return
        self._pending += outcome.changes
        if self._state.rev != event["rev"]:
            yield f"revision {event['rev']} should be {self._state.rev}"
        elif plain(outcome.answer) != event["answer"]:
            yield f"the core answers {event['type']} otherwise at revision {event['rev']}"

    def commit(self, event: Event) -> Iterator[str]:
        if event["manager"] == self._leader:
            yield from self._commit()
        # One that lost its place may say late what it did before; the next start has counted it.
        if event["rev"] > self._store.rev:
            yield f"revision {event['rev']} is committed, which should be {self._store.rev}"

    def answer(self, event: Event) -> Iterator[str]:
        if event["rev"] > self._store.rev:
            yield f"answer of revision {event['rev']}, which was not committed"
        for device, epoch in event["handles"]:
            if self._granted.get((device, epoch)) != event["lease"]:
                yield f"{event['lease']} was told of {device} epoch {epoch}, which was not granted"

    def _commit(self) -> Iterator[str]:
        """All commands since the last commit are stored, in one transaction."""
        changes, self._pending = self._pending, []
        for change in changes:
            handle, key = change.record, change.key
            if not isinstance(handle, Handle) or isinstance(key, str):
                continue
            if handle.open and key not in self._granted:
                if handle.epoch <= self._highest.get(handle.device, 0):
                    yield f"{handle.device}: epoch {handle.epoch} does not rise"
                self._highest[handle.device] = handle.epoch
                self._granted[key] = handle.lease
            elif not handle.open:
                self.confirmed.add(key)
        try:
            self._store.commit(self._state.rev, self._state.now_ms, changes)
        except StoreError as error:
            yield f"the commits overlap: {error}"


class Devices:
    """The daemons' part: what ran when."""

    def __init__(self) -> None:
        self._running: dict[str, list[tuple[int, bool]]] = {}
        self._floors: dict[str, int] = {}

    def begin(self, event: Event, confirmed: set[tuple[str, int]]) -> Iterator[str]:
        device, epoch, exclusive = event["device"], event["epoch"], event["exclusive"]
        if epoch < self._floors.get(device, 0):
            yield f"{device}: epoch {epoch} begins below floor {self._floors[device]}"
        if (device, epoch) in confirmed:
            yield f"{device}: epoch {epoch} begins after its end was confirmed"
        running = self._running.setdefault(device, [])
        for other, alone in running:
            if other != epoch and (alone or exclusive):
                yield f"{device}: epochs {other} and {epoch} run together"
        running.append((epoch, exclusive))

    def end(self, event: Event) -> None:
        running = self._running.get(event["device"], [])
        for entry in running:
            if entry[0] == event["epoch"]:
                running.remove(entry)
                return

    def floor(self, event: Event) -> None:
        device = event["device"]
        self._floors[device] = max(self._floors.get(device, 0), event["floor"])

    def died(self, event: Event) -> None:
        self._running.pop(event["device"], None)
        self._floors.pop(event["device"], None)


class RealTime:
    """Who asks after somebody heard revision r must not be told of an older one."""

    def __init__(self) -> None:
        self._heard: list[tuple[int, int]] = []  # time, and the highest revision heard until then

    def answer(self, event: Event) -> Iterator[str]:
        low, high = 0, len(self._heard)
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (middle + 1, high) if self._heard[middle][0] < event["asked"] else (low, middle)
            )
        if low and self._heard[low - 1][1] > event["rev"]:
            known = self._heard[low - 1][1]
            yield f"answer of revision {event['rev']} to a question asked after {known} was known"
        highest = max(event["rev"], self._heard[-1][1] if self._heard else 0)
        self._heard.append((event["t"], highest))


def check(events: Iterable[Event]) -> list[str]:
    """Returns what is wrong with a history, in the order of its times."""
    replay, devices, real_time = Replay(), Devices(), RealTime()
    wrong: list[str] = []
    for event in events:
        kind = event["event"]
        if kind in ("start", "apply", "commit"):
            found = list(getattr(replay, kind)(event))
        elif kind == "answer":
            found = [*replay.answer(event), *real_time.answer(event)]
        elif kind == "begin":
            found = list(devices.begin(event, replay.confirmed))
        else:
            found = getattr(devices, kind)(event) or []
        wrong += [f"t={event['t']}: {text}" for text in found]
    return wrong


def read(files: Iterable[Path]) -> list[Event]:
    """Returns the events of all logs in the order of their times. Raises ValueError if a line is
    none, unless its manager died while it wrote it: another start of it follows, or nothing."""
    events: list[Event] = []
    for file in files:
        broken = ""
        for line in filter(None, file.read_text(encoding="utf-8").split("\n")):
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            if broken and (event is None or event["event"] != "start"):
                raise ValueError(f"{file}: this line is no event: {broken[:200]}")
            broken = line if event is None else ""
            if event is not None:
                events.append(event)
    return sorted(events, key=lambda event: event["t"])


def main() -> int:
    events = read(map(Path, sys.argv[1:]))
    wrong = check(events)
    for text in wrong[:50]:
        print(text)
    print(f"check_history: {len(events)} events, {len(wrong)} problem(s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
