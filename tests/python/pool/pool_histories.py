"""Histories of pools, the checker, and twelve ways to make a good history wrong."""

from __future__ import annotations

import copy
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKER = Path(__file__).parents[2] / "cluster" / "check_history.py"
_spec = importlib.util.spec_from_file_location("check_history", CHECKER)
assert _spec is not None and _spec.loader is not None
check_history = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_history)

Event = dict[str, Any]
History = list[Event]

_BEGINS = re.compile(
    r"lease session (\d+) begins at (\d+) ns: device (\S+) epoch (\d+) (exclusive|shared)"
)
_ENDS = re.compile(r"lease session (\d+) ends at (\d+) ns")
_FLOOR = re.compile(r"lease floor of device (\S+) is (\d+) at (\d+) ns")


def events_of_daemon(log: Path) -> History:
    """Returns the events of a daemon's sessions, and the floors that it knew. A session's commands
    run between its begin and its end."""
    events: History = []
    of: dict[str, dict[str, object]] = {}
    for line in log.read_text().splitlines():
        if found := _BEGINS.search(line):
            session, t, device, epoch, mode = found.groups()
            of[session] = {"device": device, "epoch": int(epoch)}
            facts = {**of[session], "exclusive": mode == "exclusive"}
            events.append({"t": int(t), "event": "begin", **facts})
        elif found := _ENDS.search(line):
            session, t = found.groups()
            events.append({"t": int(t), "event": "end", **of[session]})
        elif found := _FLOOR.search(line):
            device, floor, t = found.groups()
            events.append({"t": int(t), "event": "floor", "device": device, "floor": int(floor)})
    return events


def first(history: History, event: str, fits: Callable[[Event], bool] = lambda e: True) -> int:
    """Returns where the first such event is, beyond the quiet start."""
    return next(i for i, e in enumerate(history) if i > 100 and e["event"] == event and fits(e))


def exclusive_command(history: History) -> int:
    """Returns where an exclusive command begins that does not end at the same time."""
    return first(history, "begin", lambda e: e["exclusive"])


def granting(history: History) -> int:
    """Returns where devices are granted by a new revision that was committed."""
    before = 0
    for at, event in enumerate(history):
        if event["event"] not in ("apply", "start"):
            continue
        new, before = event["rev"] > before, event["rev"]
        grants = event.get("type") == "PutLease" and event["answer"].get("handles")
        if at > 100 and new and grants and history[commit_after(history, at)]["event"] == "commit":
            return at
    raise AssertionError("nothing was granted")


def commit_after(history: History, at: int) -> int:
    """Returns where the commit of what was applied is, or the start of another manager."""
    following = range(at, len(history))
    return next(i for i in following if history[i]["event"] in ("commit", "start"))


def two_exclusive_epochs_run_together(history: History) -> None:
    at = exclusive_command(history)
    history.insert(at + 1, {**history[at], "epoch": history[at]["epoch"] + 10**6})


def an_exclusive_and_a_shared_epoch_run_together(history: History) -> None:
    at = exclusive_command(history)
    other = {**history[at], "epoch": history[at]["epoch"] + 10**6, "exclusive": False}
    history.insert(at + 1, other)


def a_command_below_a_floor_from_the_manager(history: History) -> None:
    at = exclusive_command(history)
    floor = {"t": history[at]["t"], "event": "floor", "device": history[at]["device"]}
    history.insert(at, {**floor, "floor": history[at]["epoch"] + 1})


def a_command_of_an_old_epoch(history: History) -> None:
    at = first(history, "floor", lambda e: e["floor"] > 2)
    old = {"event": "begin", "device": history[at]["device"], "epoch": 1, "exclusive": False}
    history.insert(at + 1, {"t": history[at]["t"], **old})


def a_command_after_its_end_was_confirmed(history: History) -> None:
    at = exclusive_command(history)
    died = {"t": history[-1]["t"], "event": "died", "device": history[at]["device"]}
    history += [died, {**history[at], "t": history[-1]["t"]}]


def an_answered_grant_is_missing(history: History) -> None:
    at = first(history, "answer", lambda e: e["handles"])
    history[at] = copy.deepcopy(history[at])
    history[at]["handles"][0][1] += 10**6


def an_answer_comes_before_its_commit(history: History) -> None:
    at = first(history, "answer", lambda e: e["handles"])
    answer = history.pop(at)
    grant = next(
        i for i, e in enumerate(history) if e["event"] == "commit" and e["rev"] >= answer["rev"]
    )
    history.insert(grant, {**answer, "asked": 0})


def a_handle_is_told_to_another_lease(history: History) -> None:
    at = first(history, "answer", lambda e: e["handles"])
    history[at] = {**history[at], "lease": "somebody else's"}


def the_manager_answers_another_epoch(history: History) -> None:
    at = granting(history)
    history[at] = copy.deepcopy(history[at])
    history[at]["answer"]["handles"][0]["epoch"] += 1


def a_commit_is_lost(history: History) -> None:
    del history[granting(history)]


def an_answer_is_stale(history: History) -> None:
    at = first(history, "answer", lambda e: e["rev"] > 20)
    later = history[at]["t"] + 1
    history.append({**history[at], "t": later + 1, "asked": later, "rev": 5, "handles": []})


def the_manager_starts_with_an_old_store(history: History) -> None:
    at = commit_after(history, granting(history))
    history.insert(at + 1, {**history[at], "event": "start", "rev": history[at]["rev"] - 2})


VIOLATIONS = {
    two_exclusive_epochs_run_together: "run together",
    an_exclusive_and_a_shared_epoch_run_together: "run together",
    a_command_below_a_floor_from_the_manager: "below floor",
    a_command_of_an_old_epoch: "below floor",
    a_command_after_its_end_was_confirmed: "end was confirmed",
    an_answered_grant_is_missing: "was not granted",
    an_answer_comes_before_its_commit: "was not (granted|committed)",
    a_handle_is_told_to_another_lease: "was not granted",
    the_manager_answers_another_epoch: "answers PutLease otherwise",
    a_commit_is_lost: "should be|otherwise",
    an_answer_is_stale: "was known",
    the_manager_starts_with_an_old_store: "the manager starts with",
}


def expect_found(violate: Callable[[History], None], good: History) -> None:
    """Makes a copy of a good history wrong; the checker must say so in the words of VIOLATIONS."""
    history = list(good)
    violate(history)
    wrong = check_history.check(history)
    assert any(re.search(VIOLATIONS[violate], text) for text in wrong), (violate, wrong[:3])
