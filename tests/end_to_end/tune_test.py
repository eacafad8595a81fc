"""Runs `outboard tune` with real daemons. Checks the profiles, the answers of `outboard explain`,
and that programs decide by the profiles from their first call on.
"""

from __future__ import annotations

import collections.abc
import functools
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import typing

import harness
from harness import Bench, Daemon, MissingError, Outcome, Suite, expect

Json = dict[str, typing.Any]
ROOT = pathlib.Path(__file__).resolve().parents[2]
# The time for a whole tuning, which measures a few sizes of each routine. The longer times are for
# a slow or busy machine.
SECONDS = ("8", "24", "72")
# a simulated device is never faster than this times its rate; the tolerance is for clocks
NEVER_FASTER = 1.1
NEAR = 1.5  # above this predicted gain, the call must go out: 1.1^4, twice the errors
TICK_S = 1e-3
ROUNDING = 1.01  # the rounding of figures that are printed with three digits or more
ROUTINES = ("dgemm", "fftw c2c", "dgetrf")
ENOUGH_FLOP = 2.0 * 256**3  # a product of 600 is decided by a rate of 256 or more
TIMEOUT_S = 120.0
# Arguments of e2e_iterate. A product takes some milliseconds, so that the first one is worth a
# connection.
PRODUCTS = ("600", "5", "600", "1")
ONE_PRODUCT = ("600", "1", "600", "0")


def outboard(bench: Bench, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line to its end."""
    environment = harness.clean_environment()
    environment["OUTBOARD_NATIVE_DIR"] = str(bench.build)
    environment["PYTHONPATH"] = str(ROOT / "python")
    return subprocess.run(
        [sys.executable, "-P", "-m", "outboard", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def expect_good(result: subprocess.CompletedProcess[str]) -> str:
    expect(result.returncode == 0, f"status {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def tune(
    bench: Bench,
    folder: pathlib.Path,
    address: str,
    complete: collections.abc.Callable[[Json], bool],
) -> Json:
    """Returns the measurements as JSON. Repeats them with more time until they are complete."""
    file = folder / "tune.json"
    content: Json = {}
    for seconds in SECONDS:
        options = ["--quick", "--seconds", seconds, "--profile", str(folder), "--json", str(file)]
        expect_good(outboard(bench, "tune", *options, "--server", address))
        content = json.loads(file.read_text())
        assert isinstance(content, dict)
        if complete(content):
            break
    return content


def explain(bench: Bench, folder: str, address: str, routine: str, *sizes: str) -> list[Json]:
    options = ["--json", "--profile", folder, "--server", address]
    calls = json.loads(expect_good(outboard(bench, "explain", *options, routine, *sizes)))["calls"]
    assert isinstance(calls, list)
    return calls


def hashed(key: str) -> str:
    """Returns FNV-1a, 64 bits: the hash that names a profile."""
    value = 0xCBF29CE484222325
    for byte in key.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def expect_files(content: Json, folder: pathlib.Path, address: str) -> None:
    """Checks that each profile is where the library of the next program looks for it."""
    host = folder / socket.gethostname()
    for kind in ("library", "server"):
        for one in content["libraries" if kind == "library" else "servers"]:
            file = host / f"{kind}-{hashed(one['key'])}.profile"
            expect(file.is_file(), f"{one['key']} is not in {file}")
            expect(one["file"] == str(file), f"{one['file']} is not {file}")
            expect(abs(one["written"] - time.time()) < 600, f"written {one['written']}")
    (server,) = content["servers"]
    expect(server["key"].startswith(f"{address} "), f"the key is '{server['key']}'")


def local_runs(content: Json, routine: str) -> list[Json]:
    runs = [r for one in content["libraries"] for r in one["local"]]
    return [r for r in runs if r["routine"] == routine]


def device_runs(content: Json, routine: str) -> list[Json]:
    (server,) = content["servers"]
    return [r for r in server["device"] if r["routine"] == routine]


def lacking(content: Json) -> list[str]:
    """Returns the routines that were not measured. Products must be measured up to a size that
    decides others."""
    result = []
    for name, runs in (("here", local_runs), ("there", device_runs)):
        for routine in ROUTINES:
            largest = max((r["flop"] for r in runs(content, routine)), default=0.0)
            if largest < (ENOUGH_FLOP if routine == "dgemm" else 1.0):
                result.append(f"{routine} {name}")
    return result


def expect_figures(content: Json) -> None:
    (server,) = content["servers"]
    for way in ("to", "from"):
        sizes = [t["bytes"] for t in server[way]]
        expect(len(sizes) >= 5 and sizes == sorted(sizes), f"link {way}: {sizes}")
    expect(not lacking(content), f"not measured: {lacking(content)}")


def measured(suite: Suite, daemon: Daemon, folder: pathlib.Path) -> None:
    content = tune(suite.bench, folder, daemon.tcp, lambda found: not lacking(found))
    expect_files(content, folder, daemon.tcp)
    expect_figures(content)
    (server,) = content["servers"]
    (call,) = explain(suite.bench, str(folder), daemon.tcp, "dgemm", "200")
    for key in ("local_from", "device_from"):
        expect(call[key] == "profile", f"{key} is {call[key]}\n{call}")
    expect(call["profile_server_written"] == server["written"], f"another profile: {call}")
    # The local time follows from the rates in the profile, for any rates.
    rates = [r["flop"] / r["seconds"] for r in local_runs(content, "dgemm")]
    fastest, slowest = call["flop"] / max(rates), call["flop"] / min(rates)
    expect(
        fastest / ROUNDING <= call["local_s"] <= slowest * ROUNDING,
        f"{call['local_s']} s; by the rates in the profile {fastest} to {slowest} s",
    )


def known(outcome: Outcome) -> tuple[int, int]:
    """Returns the calls of dgemm that were decided with both times known, and all calls."""
    return outcome.total("dgemm", "decided"), outcome.total("dgemm", "calls")


def decided(suite: Suite, daemon: Daemon, folder: pathlib.Path) -> None:
    """Checks that the first call is decided, also without profiles. On the own cores nothing is,
    whatever the profiles say, because it cannot gain."""
    command = [suite.bench.program("e2e_iterate"), *ONE_PRODUCT, str(suite.bench.seed)]
    with Daemon(suite.bench, ["--device-rate", "1GF"], backend="null") as slow:
        for server, expected in ((slow.tcp, 1), (daemon.tcp, 0)):
            for profile in (str(folder), "off"):
                extra = {"OUTBOARD_PROFILE": profile}
                outcome = suite.bench.run(command, "auto", server, extra=extra).expect_ok()
                outcome.expect_stderr_lines(0)
                expect(
                    known(outcome) == (expected, 1) and outcome.total("dgemm") == 0,
                    f"{known(outcome)} calls were decided, profile {profile}, server {server}",
                )


def learnt(suite: Suite, daemon: Daemon, _folder: pathlib.Path) -> None:
    """Checks that programs write profiles only if OUTBOARD_LEARN asks for them."""
    command = [suite.bench.program("e2e_iterate"), *PRODUCTS, str(suite.bench.seed)]
    for mode, kind in (("trace", "library"), ("remote", "server")):
        for learn in ("0", "1"):
            with tempfile.TemporaryDirectory(prefix="ob-") as profiles:
                extra = {"OUTBOARD_PROFILE": profiles, "OUTBOARD_LEARN": learn}
                suite.bench.run(command, mode, daemon.tcp, extra=extra).expect_ok()
                names = [f.name for f in pathlib.Path(profiles).rglob("*.profile")]
            expect(
                any(n.startswith(kind) for n in names) == (learn == "1"),
                f"mode {mode}, learn {learn}: {names}",
            )


def damaged(suite: Suite, daemon: Daemon, folder: pathlib.Path) -> None:
    """Checks that a damaged profile is ignored and reported once."""
    files = sorted(folder.rglob("*.profile"))
    kept = {file: file.read_bytes() for file in files}
    try:
        for file in files:
            file.write_text("outboard-profile 1\nlocal much dgemm\n")
        command = [suite.bench.program("e2e_iterate"), *ONE_PRODUCT, "1"]
        extra = {"OUTBOARD_PROFILE": str(folder)}
        outcome = suite.bench.run(command, "auto", daemon.tcp, extra=extra).expect_ok()
        expect(known(outcome) == (0, 1), "a call was decided by a damaged profile")
        expect(".profile" in outcome.stderr, f"it said {outcome.stderr!r}")
        outcome.expect_stderr_lines(len(files))
    finally:
        for file, content in kept.items():
            file.write_bytes(content)


def unreachable(suite: Suite, _daemon: Daemon, _folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ob-") as profiles, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        result = outboard(suite.bench, "tune", "--profile", profiles, "--server", address)
        expect(result.returncode == 1, f"status {result.returncode}")
        expect(address in result.stderr and "efused" in result.stderr, f"it said {result.stderr!r}")
        expect("measuring" not in result.stderr, "it began to measure")
        expect(not list(pathlib.Path(profiles).rglob("*.profile")), "it left a profile")


def consistent(call: Json) -> bool:
    """Returns true if the choice is the side with the smaller time. Local is right, too, if remote
    is faster by less than NEAR."""
    here, there = call["local_s"], call["remote_s"]
    return (call["choice"] == "remote" or there * NEAR > here) and (
        call["choice"] == "local" or there < here
    )


def simulated(suite: Suite, rate: str, gflops: float) -> None:
    """Checks a device whose rate is known: the profile contains the rate, and decisions follow
    it."""
    options = ["--device-rate", rate]
    with (
        Daemon(suite.bench, options, backend="null") as daemon,
        tempfile.TemporaryDirectory(prefix="ob-") as profiles,
    ):
        content = tune(suite.bench, pathlib.Path(profiles), daemon.shm, lambda _: True)
        # the device does not sleep for less than a clock tick
        products = [r for r in device_runs(content, "dgemm") if r["seconds"] > TICK_S]
        rates = [r["flop"] / r["seconds"] / 1e9 for r in products]
        expect(
            all(r <= NEVER_FASTER * gflops for r in rates),
            f"dgemm at {rates} GFLOP/s on a device of {gflops:g}",
        )
        calls = explain(suite.bench, profiles, daemon.shm, "dgemm", "100", "200", "400")
    for call in calls:
        expect(consistent(call), f"{call}")
    if rates:
        least = call["flop"] / gflops / 1e9 / NEVER_FASTER
        expect(call["compute_s"] >= least, f"computes in less than {least} s: {call}")
    if gflops < 1:
        expect(call["choice"] == "local" and bool(rates), f"not local: {call}")


def body(suite: Suite) -> None:
    for module in ("click", "rich"):
        if importlib.util.find_spec(module) is None:
            raise MissingError(f"the command line needs {module}")
    if suite.bench.native:
        raise MissingError("natively there is nothing to measure")
    with suite.server() as daemon, tempfile.TemporaryDirectory(prefix="ob-") as name:
        assert daemon is not None
        for test in (measured, decided, learnt, damaged, unreachable):
            suite.check(test.__name__, functools.partial(test, suite, daemon, pathlib.Path(name)))
    for rate, gflops in (("40GF", 40.0), ("100TF", 1e5), ("50MF", 0.05)):
        suite.check(f"device of {rate}", functools.partial(simulated, suite, rate, gflops))


if __name__ == "__main__":
    os.environ.pop("OUTBOARD_PROFILE", None)
    harness.main(Suite(__doc__ or ""), body)
