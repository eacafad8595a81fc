"""Runs programs whose connections are striped over three streams, in blocks far smaller than
usual."""

from __future__ import annotations

import functools
import pathlib

import harness
from harness import Daemon, Suite, expect

STREAMS = 3
JOINED = "stream {} of a client"


def joined(daemon: Daemon) -> list[int]:
    """Returns the number of streams of each index that joined a connection, by the daemon's log."""
    daemon.log.flush()
    log = pathlib.Path(daemon.log.name).read_text(errors="replace")
    return [log.count(JOINED.format(index)) for index in range(1, STREAMS + 1)]


def programs(suite: Suite) -> dict[str, tuple[list[str], dict[str, int]]]:
    program = suite.bench.program
    return {
        "poison": ([program("e2e_poison"), "3", "60"], {"dgemm": 3, "zgesv": 3, "fftw*": 12}),
        "threads": ([program("e2e_threads"), "8", "40", "60"], {"*": 280}),
        "fork": ([program("e2e_fork"), "80", "busy"], {"dgemm": 7, "dgesv": 7, "fftw*": 7}),
        "closed": ([program("e2e_preserve_errno"), "closed"], {"dgemm": 4}),
    }


def striped(suite: Suite, daemon: Daemon, name: str) -> None:
    command, least = programs(suite)[name]
    before = joined(daemon)
    extra = {"OUTBOARD_STREAMS": str(STREAMS)}
    outcome = suite.bench.run(command, "remote", daemon.tcp, extra=extra)
    outcome.expect_ok().expect_stderr_lines(0).expect_out(least)
    fresh = [after - first for after, first in zip(joined(daemon), before, strict=True)]
    expect(
        fresh[0] == fresh[1] >= 1 and fresh[2] == 0,
        f"streams that joined, by index from 1: {fresh} (1 and 2 should, as often)",
    )


def whole(suite: Suite, daemon: Daemon, address: str, streams: str, complaints: int) -> None:
    """Checks that nothing is striped, and that the program works as usual."""
    command, least = programs(suite)["poison"]
    before = joined(daemon)
    extra = {"OUTBOARD_STREAMS": streams}
    outcome = suite.bench.run(command, "remote", address, extra=extra)
    outcome.expect_ok().expect_stderr_lines(complaints).expect_out(least)
    expect(complaints == 0 or streams in outcome.stderr, f"it said {outcome.stderr!r}")
    expect(joined(daemon) == before, "something was striped")


def body(suite: Suite) -> None:
    options = ["--log-level", "debug", "--stripe", "997"]
    with suite.server(options) as daemon:
        if daemon is None:
            return
        for name in programs(suite):
            suite.check(name, functools.partial(striped, suite, daemon, name))
        suite.check("one stream", lambda: whole(suite, daemon, daemon.tcp, "1", 0))
        suite.check("shared memory", lambda: whole(suite, daemon, daemon.shm, "3", 0))
        suite.check("nonsense", lambda: whole(suite, daemon, daemon.tcp, "lots", 1))
    with suite.server([*options, "--max-streams", "1"]) as daemon:
        if daemon is not None:
            suite.check("no grant", lambda: whole(suite, daemon, daemon.tcp, "3", 0))


if __name__ == "__main__":
    harness.main(Suite(__doc__), body)
