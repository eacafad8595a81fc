"""Measures the device API between daemons on hosts of their own, beside plain TCP streams between
the same hosts, and factorizations on several devices beside the step model."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import native_program, rows
from outboard_bench.daemons import daemon
from outboard_bench.link import Load, Wrap, limit_with_least_burst, mtu_at, stream
from outboard_bench.native_program import CHECK_BURST
from outboard_bench.netns import DEVICE, Star, inside

PROGRAM_NAME, MODEL_NAME = "device_work", "several_devices"
_DAEMON_PORT = 7770
_MIB = 1 << 20
_SIZES = (_MIB, 16 * _MIB, 64 * _MIB)
# A copy of a size is repeated until so many bytes have passed, within one turn.
_BYTES_OF_TURN = 64 * _MIB
# Devices of this rate and the order of their matrices: a second or less on one of them.
_FACTOR_GFLOPS, _FACTOR_ORDER = 20.0, 2048
# The widest block of ob_on_devices(): kWidestBlock, src/algorithms/on_devices.cpp.
_WIDEST_BLOCK = 256
# The routines, and their names in the step model.
_ROUTINES = {"potrf": "cholesky", "geqrf": "qr", "getrf": "lu"}
_LOOPBACK_WINDOWS = 3


class Worker:
    """A running device_work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, line: str) -> float:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise OutboardError(f"{PROGRAM_NAME} failed (its message is above)")
        return float(answer)


@contextlib.contextmanager
def worker(native: paths.Native, servers: Sequence[str], wrap: Wrap = list) -> Iterator[Worker]:
    """Runs device_work for the block."""
    program = native_program.require(native, PROGRAM_NAME)
    with subprocess.Popen(
        wrap([str(program), "--servers", ",".join(servers)]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Worker(process)
        finally:
            process.kill()


def row(
    case: str,
    size: int,
    unit: str,
    values: Sequence[float],
    beside: Sequence[float],
    beside_name: str | None,
) -> rows.Row:
    """Returns the row beside the median of `beside`."""
    ceiling = statistics.median(beside) if beside else None
    return rows.Row.of_runs("device", case, size, values, unit, ceiling, beside_name)


# --- from daemon to daemon ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Client:
    """The host of the program, whose link is counted."""

    namespace: str

    def wrap(self, words: Sequence[str]) -> list[str]:
        return inside(self.namespace, words)

    def link_bytes(self) -> int:
        """Returns the bytes that have passed its link, in both directions."""
        counted = [f"/sys/class/net/{DEVICE}/statistics/{way}_bytes" for way in ("rx", "tx")]
        done = subprocess.run(
            self.wrap(["cat", *counted]), stdout=subprocess.PIPE, text=True, check=True
        )
        return sum(int(word) for word in done.stdout.split())


def between_hosts(gbit_per_s: float, runs: int, *, check: bool) -> list[rows.Row]:
    """Returns the rows of copies between the daemons of two hosts."""
    native = paths.require_native()
    sizes = (64 << 10,) if check else _SIZES
    with Star(mtu_at(gbit_per_s), 2) as star, contextlib.ExitStack() as stack:
        ends = _wrap(star.hosts[0]), _wrap(star.hosts[1]), star.address(star.hosts[1])
        if check:
            star.limit(gbit_per_s, CHECK_BURST)
        else:
            limit_with_least_burst(star, gbit_per_s, *ends)
        servers = []
        for name in star.hosts:
            there = [f"{star.address(name)}:{_DAEMON_PORT}"]
            options = ["--backend", "null"]
            servers += stack.enter_context(daemon(native.daemon, there, options, _wrap(name)))
        client = _Client(star.client)
        work = stack.enter_context(worker(native, servers, client.wrap))
        load = Load(1, 0.1 if check else 0.3)
        name = f"daemon to daemon, {gbit_per_s:g} Gb/s"
        return _copies(name, work, sizes, runs, lambda: stream(*ends, load)[0] / 8, client)


def _wrap(namespace: str) -> Wrap:
    return lambda words: inside(namespace, words)


@dataclass
class _Measured:
    """The rates of copies of one size, and the part of their bytes on the client's link."""

    one_by_one: list[float]
    in_a_row: list[float]
    client_percent: list[float]


def _copies(
    name: str,
    work: Worker,
    sizes: Sequence[int],
    runs: int,
    raw: Callable[[], float],
    client: _Client | None = None,
    raw_name: str = "plain TCP stream",
) -> list[rows.Row]:
    """Measures in turns: the raw rate [GB/s], then the copies of each size."""
    found = {size: _Measured([], [], []) for size in sizes}
    limits: list[float] = []
    for size in sizes:
        work.ask(f"copy {size} 2")  # connects, and touches the memory
    for _ in range(runs):
        limits.append(raw())
        for size, measured in found.items():
            count = max(2, _BYTES_OF_TURN // size)
            before = client.link_bytes() if client else 0
            measured.one_by_one.append(work.ask(f"copy {size} {count}"))
            measured.in_a_row.append(work.ask(f"stream {size} {count}"))
            if client:
                passed = client.link_bytes() - before
                measured.client_percent.append(100 * passed / (2 * count * size))
    result = []
    for size, measured in found.items():
        for how, rates in (("waited for", measured.one_by_one), ("in a row", measured.in_a_row)):
            result.append(row(f"{name}, {how}", size, "GB/s", rates, limits, raw_name))
        if client:
            percents = measured.client_percent
            bar = "the bar, 1 % of the bytes"
            case = f"{name}, on the client's link"
            result.append(row(case, size, "%", percents, [1.0] * len(percents), bar))
    return result


def within_daemon(runs: int, *, check: bool) -> list[rows.Row]:
    """Returns the rows of copies between two devices of one daemon, beside memcpy."""
    native = paths.require_native()
    options = ["--backend", "null", "--devices", "2"]
    sizes = (64 << 10,) if check else _SIZES
    with contextlib.ExitStack() as stack:
        (server,) = stack.enter_context(daemon(native.daemon, ["127.0.0.1:0"], options))
        work = stack.enter_context(worker(native, [f"{server}/0", f"{server}/1"]))
        return _copies(
            "within a daemon",
            work,
            sizes,
            runs,
            lambda: work.ask(f"memcpy {16 * _MIB} 1"),
            raw_name="memcpy, one thread",
        )


# --- factorizations -------------------------------------------------------------------------------


def factorizations(most_devices: int, runs: int, *, check: bool) -> list[rows.Row]:
    """Returns the rows of ob_on_devices() with devices of a given rate, over loopback TCP."""
    native = paths.require_native()
    order = 300 if check else _FACTOR_ORDER
    options = ["--backend", "null", "--device-rate", f"{_FACTOR_GFLOPS:g}GF"]
    counts = range(1, most_devices + 1)
    with contextlib.ExitStack() as stack:
        servers: list[str] = []
        for _ in counts:
            servers += stack.enter_context(daemon(native.daemon, ["127.0.0.1:0"], options))
        work = stack.enter_context(worker(native, servers))
        gbit = statistics.median(stream(list, list, "127.0.0.1", Load(_LOOPBACK_WINDOWS, 0.1)))
        found = []
        for routine, model in _ROUTINES.items():
            times: dict[int, list[float]] = {devices: [] for devices in counts}
            work.ask(f"factor {routine} {order} {most_devices}")
            for _ in range(runs):
                for devices in counts:
                    times[devices].append(1e3 * work.ask(f"factor {routine} {order} {devices}"))
            for devices in counts:
                predicted = _predicted(native, model, order, devices, gbit)
                case = f"d{routine}, {order}, {devices} of {_FACTOR_GFLOPS:g} GFLOP/s"
                found.append(
                    row(case, 8 * order * order, "ms", times[devices], [predicted], "step model")
                )
        return found


def _predicted(native: paths.Native, routine: str, order: int, devices: int, gbit: float) -> float:
    """Returns the step model's time for the blocks of ob_on_devices() [ms]."""
    block = max(1, min(order // (2 * devices), _WIDEST_BLOCK))
    model = native_program.require(native, MODEL_NAME)
    command = [str(model), "--routine", routine, "--order", str(order), "--relay"]
    command += ["--rate", str(_FACTOR_GFLOPS), "--gbit", str(gbit), "--runs", "0"]
    command += ["--devices", str(devices), "--blocks", str(block)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=60)
    lines = [line.split(",") for line in done.stdout.splitlines()[1:]]
    found = [float(words[7]) for words in lines if int(words[3]) == block]
    if done.returncode != 0 or not found:
        raise OutboardError(f"{MODEL_NAME} failed (its message is above)")
    return found[0] * 1e3
