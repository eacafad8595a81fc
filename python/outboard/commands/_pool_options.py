"""The options of commands that talk to the manager of a pool."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from outboard import values

if TYPE_CHECKING:
    from outboard.pool.client import PoolClient
    from outboard.pool.hold import Hold

Function = Callable[..., Any]
_VARIABLE = "OUTBOARD_POOL"
_KEY_VARIABLE = "OUTBOARD_KEY"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Duration(click.ParamType[float]):
    """ "30s", "10m", "2h", "7d"; a number is seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float | int):
            return float(value)
        found = _DURATION.fullmatch(value.strip())
        if not found:
            self.fail(f"'{value}' is no time (a number, then s, m, h or d); write 10m", param, ctx)
        return float(found.group(1)) * _UNIT_S[found.group(2)]


def pool_time(text: str, now_ms: Callable[[], int]) -> int:
    """Returns pool time in ms for "2026-12-01T09:00" in local time, "+2h", or seconds since
    1970."""
    if found := re.fullmatch(r"\+(\d+(?:\.\d+)?[smhd]?)", text):
        return now_ms() + int(Duration().convert(found.group(1), None, None) * 1000)
    if text.isdecimal() and text.isascii() and len(text) <= 11:
        return int(text) * 1000
    try:
        seconds = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        seconds = -1.0
    if text.isdigit() or seconds < 0:
        raise click.UsageError(
            f"'{text}' is no time (a date and time, time from now, or seconds since 1970); write "
            "2026-12-01T09:00, or +2h"
        )
    return int(seconds * 1000)


class Label(click.ParamType[tuple[str, str]]):
    """A label of a daemon, "rack=r7"."""

    name = "name=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        label, equals, wanted = value.partition("=")
        if not (label and equals and wanted):
            self.fail(f"'{value}' is no label; write rack=r7", param, ctx)
        return label, wanted


PRIORITIES = ("normal", "high", "idle")

label_option = click.option(
    "--label",
    "labels",
    type=Label(),
    multiple=True,
    help="Only accelerators of daemons with this label, e.g. rack=r7. Repeatable: all of them.",
)
priority_option = click.option(
    "--priority",
    type=click.Choice(PRIORITIES),
    help="The class in the queue. high: before others, for administrators and batch systems; idle: "
    f"after others, who get the accelerators back.  [default: {PRIORITIES[0]}]",
)


class PoolWish(NamedTuple):
    """The options of `outboard run` that are about a pool."""

    url: str
    accelerators: str
    share: float
    memory_bytes: int
    kind: str
    wait_s: float
    require: bool
    labels: tuple[tuple[str, str], ...]
    priority: str

    def hold(self, key: str | None) -> Hold:
        from outboard.pool.hold import Hold, Wish

        least, _, most = self.accelerators.partition("..")
        wish = Wish(
            max(1, int(least)),
            int(most or least),
            self.share,
            self.memory_bytes,
            self.kind,
            self.wait_s,
            self.labels,
            self.priority,
        )
        return Hold(connect(self.url, Path(key) if key else None), wish)


def connect(url: str | None, key: Path | None) -> PoolClient:
    """Returns the manager that the options or the environment name."""
    url = url or os.environ.get(_VARIABLE)
    if not url:
        raise click.UsageError(
            f"no manager is named (no --pool, and {_VARIABLE} is not set); write --pool "
            "https://HOST:7780"
        )
    named = os.environ.get(_KEY_VARIABLE)
    from outboard.pool.client import PoolClient

    return PoolClient(url, key or (Path(named) if named else None))


def _accelerators(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,4})(?:\.\.(\d{1,4}))?", value)
    if not found or int(found.group(2) or found.group(1)) < max(1, int(found.group(1))):
        raise click.BadParameter(f"'{value}' is no number of accelerators; write 2, or 1..4")
    return value


def pool_options(function: Function) -> Function:
    """Adds the options; `function` gets them as `pool`."""

    @functools.wraps(function)
    def with_pool(**given: Any) -> Any:
        url = given.pop("pool_url") or os.environ.get(_VARIABLE, "")
        alone = [word for name, word in _WITH_ACCELERATORS.items() if given[name]]
        if alone and not given["accelerators"]:
            raise click.UsageError(f"{alone[0]} belongs to --accelerators; add --accelerators N")
        wish = PoolWish(
            url,
            given.pop("accelerators") or "",
            0.0 if given.pop("exclusive") else given.pop("shared", 0.0) or 0.0,
            given.pop("pool_memory") or 0,
            given.pop("kind") or "",
            given.pop("pool_wait") or 0.0,
            given.pop("require"),
            given.pop("labels"),
            given.pop("priority") or PRIORITIES[0],
        )
        given.pop("shared", None)
        if wish.accelerators and not url:
            raise click.UsageError("--accelerators needs a pool (none is named); add --pool URL")
        return function(pool=wish, **given)

    for option in reversed(_OPTIONS):
        option(with_pool)
    return with_pool


# Parameters, and options that say nothing by themselves.
_WITH_ACCELERATORS = {
    "exclusive": "--exclusive",
    "shared": "--shared",
    "pool_memory": "--memory",
    "kind": "--kind",
    "labels": "--label",
    "priority": "--priority",
    "pool_wait": "--wait",
    "require": "--require",
}

_OPTIONS = (
    click.option(
        "--pool",
        "pool_url",
        metavar="URL",
        help="The manager of a pool, or several: URL,URL. Without --accelerators, each program "
        f"takes one accelerator while its calls gain by it.  [default: {_VARIABLE}]",
    ),
    click.option(
        "--accelerators",
        callback=_accelerators,
        metavar="N",
        help="Hold N accelerators of the pool while the command runs; 1..4: those that are free.",
    ),
    click.option("--exclusive", is_flag=True, help="Nobody else uses them.  [the default]"),
    click.option(
        "--shared",
        type=click.FloatRange(0.001, 1),
        metavar="PART",
        help="Share them: the weight of this command on each, e.g. 0.25.",
    ),
    click.option(
        "--memory",
        "pool_memory",
        type=values.Size(),
        help="Memory of each shared one, e.g. 8G.  [default: PART of its memory]",
    ),
    click.option("--kind", metavar="KIND", help="Only accelerators of this kind, e.g. gpu, cpu."),
    label_option,
    priority_option,
    click.option(
        "--wait",
        "pool_wait",
        type=Duration(),
        metavar="TIME",
        help="Wait so long for accelerators, e.g. 10m. Without it, and if none are free, the "
        "command runs with its own library.",
    ),
    click.option(
        "--require", is_flag=True, help="End with status 125 if there are no accelerators."
    ),
)
