"""Runs programs whose calls are computed by several devices at once, even if that is slower."""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import pathlib
import subprocess
import time

import harness
from harness import Daemon, Outcome, Suite, expect

PRODUCTS = ("gemm", "symm", "trmm", "trsm", "syrk", "syr2k")
HERMITIAN = ("hemm", "herk", "her2k")
FACTORS = [p + family for p in "sdcz" for family in ("potrf", "getrf", "gesv")]
ROUNDS = 6


def names() -> list[str]:
    """Returns the names of the level 3 routines, in the notation of the workload."""
    plain = [p + family for p in "sdcz" for family in PRODUCTS[:-1]]
    return plain + [p + family for p in "cz" for family in HERMITIAN[:-1]]


def run(suite: Suite, server: str, devices: str, size: int, rounds: int = ROUNDS) -> Outcome:
    program = suite.bench.program("e2e_poison")
    command = [program, str(rounds), str(size), *names()]
    outcome = suite.bench.run(command, "remote", server, extra={"OUTBOARD_DEVICES": devices})
    return outcome.expect_ok().expect_stderr_lines(0)


def split(suite: Suite, daemon: Daemon, address: str, count: int, size: int) -> None:
    """Checks that results are right, and that this number of devices computed them."""
    outcome = run(suite, address, f"always:{count}", size)
    outcome.expect_out(dict.fromkeys(names(), ROUNDS))
    for name in names():
        several, devices = outcome.total(name, "several"), outcome.total(name, "devices")
        expect(
            several >= ROUNDS - 2,  # an edge of 1 cannot be cut
            f"{name}: {several} of {ROUNDS} calls were split\n{outcome.counters()}",
        )
        expect(
            2 * several <= devices <= count * several,
            f"{name}: {devices} devices for {several} calls, at most {count} each",
        )
    total, most = outcome.total("*", "devices"), count * outcome.total("*", "several")
    expect(total > 0.8 * most, f"{total} devices worked on calls, of {most}")


def factored(suite: Suite, address: str, count: int, size: int, route: str) -> None:
    """Checks that all devices work on each factorization, and that no call is lost that one device
    could compute."""
    program = suite.bench.program("e2e_poison")
    command = [program, str(ROUNDS), str(size), *FACTORS]
    extra = {"OUTBOARD_DEVICES": f"always:{count}", "OUTBOARD_ROUTE": route}
    outcome = suite.bench.run(command, "remote", address, extra=extra)
    outcome.expect_ok().expect_stderr_lines(0).expect_out(dict.fromkeys(FACTORS, ROUNDS))
    several, devices = outcome.total("*", "several"), outcome.total("*", "devices")
    calls = ROUNDS * len(FACTORS)
    expect(several > 0.8 * calls, f"{several} of {calls} were split\n{outcome.counters()}")
    expect(devices > 0.8 * count * several, f"{devices} devices for {several} calls")
    between = outcome.total("*", "bytes_between")
    expect((between > 0) == (route != "relay"), f"{between} bytes went from device to device")


def whole(suite: Suite, server: str, devices: str) -> None:
    """Checks that small calls, which are not worth several devices, are not split."""
    outcome = run(suite, server, devices, 40, 2).expect_out(dict.fromkeys(names(), 2))
    expect(outcome.total("*", "several") == 0, f"something was split\n{outcome.counters()}")


def capped(suite: Suite, server: str, devices: str, size: int) -> None:
    """Checks that products of operands which are several times larger than the devices' memory all
    go out."""
    outcome = run(suite, server, devices, size, 3).expect_out(dict.fromkeys(names(), 3))
    expect(outcome.total("*", "bytes_to") > 0, "nothing travelled")


def factored_in_slabs(suite: Suite, server: str, devices: str, size: int) -> None:
    """Checks that factorizations of matrices which are several times larger than the devices'
    memory all go out."""
    program = suite.bench.program("e2e_poison")
    command = [program, str(ROUNDS), str(size), *FACTORS]
    outcome = suite.bench.run(command, "remote", server, extra={"OUTBOARD_DEVICES": devices})
    outcome.expect_ok().expect_stderr_lines(0).expect_out(dict.fromkeys(FACTORS, ROUNDS))


def programs(suite: Suite) -> dict[str, tuple[list[str], dict[str, int]]]:
    """Returns programs whose threads, children and descriptors must work beside those of the
    library."""
    program = suite.bench.program
    return {
        "threads": ([program("e2e_threads"), "8", "40", "60"], {"*": 280}),
        "fork": ([program("e2e_fork"), "80", "busy"], {"dgemm": 7, "dgesv": 7, "fftw*": 7}),
        "closed": ([program("e2e_preserve_errno"), "closed"], {"dgemm": 4}),
        "first": ([program("e2e_preserve_errno"), "first"], {"dgemm": 2}),
        "cancel": ([program("e2e_preserve_errno"), "cancel"], {"dgemm": 2}),
    }


def preserve_errno(suite: Suite, server: str, name: str) -> None:
    command, least = programs(suite)[name]
    outcome = suite.bench.run(command, "remote", server, extra={"OUTBOARD_DEVICES": "always:2"})
    outcome.expect_ok().expect_stderr_lines(0).expect_out(least)
    expect(outcome.total("*", "several") > 0, f"nothing was split\n{outcome.counters()}")


def checked(suite: Suite, server: str) -> None:
    """Checks that --verify verifies results that several devices computed."""
    program = suite.bench.program("e2e_poison")
    extra = {"OUTBOARD_DEVICES": "always:2", "OUTBOARD_VERIFY": "1"}
    outcome = suite.bench.run([program, "4", "60", *names()], "remote", server, extra=extra)
    outcome.expect_ok().expect_stderr_lines(0).expect_out(dict.fromkeys(names(), 4))
    verified, several = outcome.total("*", "verified"), outcome.total("*", "several")
    expect(several > 0 and verified >= several, f"{verified} verified, {several} split")


def two_servers(suite: Suite) -> None:
    with Daemon(suite.bench) as one, Daemon(suite.bench) as other:
        servers = f"{one.tcp},{other.shm}"
        outcome = run(suite, servers, "always:2", 60)
        split_calls = outcome.total("*", "several")
        expect(split_calls > 100, f"{split_calls} calls were split\n{outcome.counters()}")


def factored_on_servers(suite: Suite, transport: str, options: list[str]) -> None:
    """Checks factorizations on three daemons. If the daemons may connect, panels go between them
    over TCP; otherwise through the client."""
    with contextlib.ExitStack() as stack:
        daemons = [stack.enter_context(Daemon(suite.bench, options)) for _ in range(3)]
        servers = ",".join(daemon.address(transport) for daemon in daemons)
        reached = transport == "tcp" and "--no-peers" not in options
        factored(suite, servers, 3, 120, "auto" if reached else "relay")
        if reached:
            return
        extra = {"OUTBOARD_DEVICES": "always:3", "OUTBOARD_ROUTE": "auto"}
        program = suite.bench.program("e2e_poison")
        command = [program, str(ROUNDS), "120", *FACTORS]
        outcome = suite.bench.run(command, "remote", servers, extra=extra)
        outcome.expect_ok().expect_stderr_lines(0).expect_out(dict.fromkeys(FACTORS, ROUNDS))
        between = outcome.total("*", "bytes_between")
        expect(between == 0, f"{between} bytes went where nothing could")
        several = outcome.total("*", "several")
        expect(several > 0.8 * ROUNDS * len(FACTORS), f"{several} calls were split")


def wait_for_split_calls(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        for path in reports.iterdir():
            with contextlib.suppress(harness.CheckError):  # this report is still being made
                report = harness.read_report(path)
                if any(row["several"] > 20 for row in report.rows.values()):
                    return
        time.sleep(0.01)
    raise harness.CheckError("no call was split within a minute")


def one_dies(suite: Suite, transport: str, which: int, routines: list[str]) -> None:
    """Checks that one daemon does the parts of the other, which is killed while calls run."""
    with Daemon(suite.bench) as one, Daemon(suite.bench) as other:

        def kill(process: subprocess.Popen[bytes], reports: pathlib.Path) -> None:
            wait_for_split_calls(process, reports)
            harness.kill_quietly((one, other)[which].process)

        servers = ",".join(daemon.address(transport) for daemon in (one, other))
        program = suite.bench.program("e2e_poison")
        outcome = suite.bench.run(
            [program, "120", "150", *routines],
            "remote",
            servers,
            extra={"OUTBOARD_DEVICES": "always:2"},
            during=kill,
        )
        outcome.expect_ok().expect_stderr_lines(1)
        several, remote = outcome.total("*", "several"), outcome.total("*")
        expect(several < 300, f"{several} of 360 calls were split: nothing died in time")
        expect(remote >= 355, f"only {remote} of 360 calls went out\n{outcome.counters()}")


def body(suite: Suite) -> None:
    for count in (2, 4):
        with suite.server(["--devices", str(count)]) as daemon:
            if daemon is None:
                return
            for transport in ("shm", "tcp"):
                for size in (8, 60, 190):
                    suite.check(
                        f"{count} devices over {transport}, up to {size}",
                        functools.partial(
                            split, suite, daemon, daemon.address(transport), count, size
                        ),
                    )
                for route in ("ring", "relay"):
                    suite.check(
                        f"factorizations on {count} devices over {transport}, {route}",
                        functools.partial(
                            factored, suite, daemon.address(transport), count, 150, route
                        ),
                    )
            for name in programs(suite) if count == 2 else ():
                suite.check(
                    name, functools.partial(preserve_errno, suite, daemon.address("tcp"), name)
                )
            suite.check("verified", functools.partial(checked, suite, daemon.shm))
            suite.check("small calls", lambda d=daemon: whole(suite, d.tcp, "all"))
    # Three matrices of 100 x 100 take 120 to 480 KB. Each program has a daemon of its own, because
    # the memory of a program that has just ended may be freed a little later.
    small = {"products": capped, "factorizations": factored_in_slabs}
    for count, transport, what in itertools.product((1, 2, 4), ("shm", "tcp"), small):
        with suite.server(["--devices", str(count), "--device-memory", "64K"]) as daemon:
            address = daemon.address(transport) if daemon else ""
            suite.check(
                f"{what} on {count} devices of 64 KiB over {transport}",
                functools.partial(
                    small[what], suite, address, f"always:{count}", suite.arguments.capped_size
                ),
            )
    with suite.server(["--device-memory", "512K", "--session-memory", "200K"]) as daemon:
        address = daemon.tcp if daemon else ""
        suite.check(
            "factorizations that get less memory than they were told of",
            functools.partial(factored_in_slabs, suite, address, "1", 190),
        )
    with suite.server() as daemon:
        if daemon is not None:
            suite.check("there is only one", lambda: whole(suite, daemon.tcp, "always:3"))
    suite.check("two servers", lambda: two_servers(suite))
    for transport, options in itertools.product(("tcp", "shm"), ([], ["--no-peers"])):
        suite.check(
            f"factorizations on three servers over {transport} {' '.join(options)}",
            functools.partial(factored_on_servers, suite, transport, options),
        )
    what = {
        "products": ["dgemm", "zsyrk", "strsm"],
        "factorizations": ["dpotrf", "zgetrf", "sgesv"],
    }
    for transport, which, name in itertools.product(("tcp", "shm"), (0, 1), what):
        suite.check(
            f"server {which} dies, over {transport}, {name}",
            functools.partial(one_dies, suite, transport, which, what[name]),
        )


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--capped-size", type=int, default=100, help="of matrices on devices with little memory"
    )


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), body)
