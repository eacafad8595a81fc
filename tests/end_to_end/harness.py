"""Starts a daemon, runs programs under the drop-in library, and reads the counters of their calls.

Every test script uses `Daemon`, `Bench.run` and `Suite`. A test that passes because all calls ran
locally would be worthless, so `Outcome.expect_out` checks the counters that the drop-in library
leaves.

With --native the scripts run the programs without Outboard. That checks only the programs and their
oracles.
"""

from __future__ import annotations

import argparse
import collections.abc
import contextlib
import dataclasses
import functools
import importlib
import os
import pathlib
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

SKIP = 77  # ctest's SKIP_RETURN_CODE in this project
DEFAULT_TIMEOUT_S = 120.0  # far longer than any program needs; it ends a test that hangs

DRAIN_TIMEOUT_S = 45.0  # a daemon ends within 35 s after SIGTERM, even if its device hangs

# src/offload/report_block.hpp
REPORT_MAGIC = 0x54524F504552424F
REPORT_VERSION = 6
REPORT_HEAD = struct.Struct("<QIIQQ64s128s16s256s256sQQ")
REPORT_ROW = struct.Struct("<32s30Q")
REPORT_FIELDS = (
    "calls remote fell_back bytes_to bytes_from "
    "to_server_ns plan_ns compute_ns from_server_ns remote_ns "
    "local_ns local_calls local_megaflop remote_megaflop eligible bytes_kept "
    "verified mismatched unchecked "
    "decided tried mispredicted lost_ns several devices "
    "strict fast emulated bytes_between changed"
).split()


Arguments = collections.abc.Callable[[argparse.ArgumentParser], object]
During = collections.abc.Callable[[subprocess.Popen[bytes], pathlib.Path], None]


class CheckError(Exception):
    """A test found an error. The message describes it."""


class MissingError(Exception):
    """The test needs something that is not installed. The message names it."""


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise CheckError(message)


@dataclasses.dataclass(frozen=True)
class TableRow:
    """The fields of a routine of the table that tests use. SCHEMA.md explains them."""

    level: int
    local: str
    rerun: bool


@functools.cache
def table_rows() -> dict[str, TableRow]:
    """Returns every BLAS and LAPACK routine of the table, by its full name."""
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = str(root / "codegen")
    if folder not in sys.path:
        sys.path.append(folder)
    paths = [p for library in ("blas", "lapack") for p in root.glob(f"routines/{library}*.toml")]
    return {
        name: TableRow(routine.level, routine.local, routine.rerun)
        for routine in importlib.import_module("table").load(sorted(paths))
        for name in routine.names().values()
    }


@dataclasses.dataclass
class Report:
    """The counters of one process."""

    pid: int
    program: str
    server: str
    mode: str
    notice: str
    reason: str
    rows: dict[str, dict[str, int]]


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def read_report(path: pathlib.Path) -> Report:
    data = path.read_bytes()
    expect(len(data) >= REPORT_HEAD.size, f"{path} is too short for a report")
    magic, version, count, pid, _started, *rest = REPORT_HEAD.unpack_from(data)
    program, server, mode, notice, reason = (_text(text) for text in rest[:5])
    expect(
        magic == REPORT_MAGIC and version == REPORT_VERSION,
        f"{path} is no report of version {REPORT_VERSION}",
    )
    rows = {}
    for index in range(count):
        name, *values = REPORT_ROW.unpack_from(data, REPORT_HEAD.size + index * REPORT_ROW.size)
        if _text(name):
            rows[_text(name)] = dict(zip(REPORT_FIELDS, values, strict=True))
    return Report(pid, program, server, mode, notice, reason, rows)


@dataclasses.dataclass
class Outcome:
    """The output of a program and, unless it ran natively, the counters of all its processes."""

    code: int
    stdout: str
    stderr: str
    reports: list[Report]
    native: bool

    def total(self, routine: str, field: str = "remote") -> int:
        """Returns the sum over processes. A trailing * stands for any rest of the name ("fftw*",
        "*")."""
        return sum(
            row[field]
            for report in self.reports
            for name, row in report.rows.items()
            if name == routine or (routine.endswith("*") and name.startswith(routine[:-1]))
        )

    def counters(self) -> str:
        """Returns one line per process and routine, for messages."""
        lines = []
        for report in self.reports:
            for name, row in sorted(report.rows.items()):
                shown = {key: row[key] for key in ("calls", "remote", "fell_back", "eligible")}
                lines.append(f"  {report.program}[{report.pid}] {name} {shown}")
            if report.notice:
                lines.append(f"  {report.program}[{report.pid}] notice: {report.notice}")
        return "\n".join(lines) or "  (no counters at all: was the drop-in library loaded?)"

    def expect_ok(self) -> Outcome:
        expect(
            self.code == 0, f"exit status {self.code}\n{self.stdout[-3000:]}\n{self.stderr[-3000:]}"
        )
        return self

    def expect_out(
        self, least: dict[str, int], reruns: collections.abc.Collection[str] = ()
    ) -> Outcome:
        """Checks that each routine (see total) went out at least so often, and that no call was
        lost. Only calls of `reruns` may run locally afterwards.
        """
        if self.native:
            return self
        for name, count in least.items():
            expect(
                self.total(name) >= count,
                f"{name}: {self.total(name)} calls went out, expected {count}\n{self.counters()}",
            )
        lost = self.total("*", "fell_back") - sum(self.total(n, "fell_back") for n in reruns)
        expect(lost == 0, f"{lost} calls fell back\n{self.counters()}\n{self.stderr[-1000:]}")
        return self

    def expect_share_out(self, share: float) -> Outcome:
        """Checks that at least this share of all counted calls went out."""
        calls, out = self.total("*", "calls"), self.total("*")
        expect(
            self.native or (calls > 0 and out >= share * calls),
            f"only {out} of {calls} calls went out\n{self.counters()}",
        )
        return self

    def expect_shares_out(self, shares: dict[str, float]) -> Outcome:
        """Checks that at least these shares of each routine's calls went out. A routine may have no
        calls."""
        for name, share in shares.items():
            calls, out = self.total(name, "calls"), self.total(name)
            expect(
                self.native or out >= share * calls,
                f"{name}: only {out} of {calls} calls went out\n{self.counters()}",
            )
        return self

    def expect_none_out(self) -> Outcome:
        expect(self.total("*") == 0, f"calls went out although none should\n{self.counters()}")
        return self

    def expect_stderr_lines(self, most: int) -> Outcome:
        lines = self.stderr.splitlines()
        expect(
            len(lines) <= most,
            f"{len(lines)} lines on stderr, at most {most} allowed:\n{self.stderr[-2000:]}",
        )
        return self


def kill_quietly(process: subprocess.Popen[bytes]) -> None:
    """Kills a child process by its own pid, and reaps it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)


class Daemon:
    """A daemon on a free port of `host` and a socket file of its own, by default with the cpu
    backend.

    `wrap` is the command that runs it.
    """

    def __init__(
        self,
        bench: Bench,
        options: collections.abc.Sequence[str] = (),
        host: str = "127.0.0.1",
        wrap: collections.abc.Sequence[str] = (),
        backend: str = "cpu",
    ) -> None:
        self.folder = pathlib.Path(
            tempfile.mkdtemp(prefix="ob-")
        )  # short: socket paths end at 107 bytes
        address = f"unix:{self.folder}/d.sock"
        self.log = (self.folder / "stderr").open("wb+")
        command = [
            *wrap,
            str(bench.daemon),
            "--listen",
            f"{host}:0",
            "--listen",
            address,
            "--backend",
            backend,
            *options,
        ]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=clean_environment() | accelerator_environment(),
        )
        try:
            addresses = self._addresses(2 + list(options).count("--listen"))
        except BaseException:
            kill_quietly(self.process)
            raise
        self.tcp, self.shm, *self.others = addresses

    def _addresses(self, count: int, timeout_s: float = 60.0) -> list[str]:
        assert self.process.stdout is not None
        deadline = time.monotonic() + timeout_s
        text = b""
        while text.count(b"listening on ") < count or not text.endswith(b"\n"):
            ready, _, _ = select.select(
                [self.process.stdout], [], [], max(0.0, deadline - time.monotonic())
            )
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            expect(chunk != b"", f"the daemon did not get ready ({text!r}, {self.errors()!r})")
            text += chunk
        prefix = "listening on "
        lines = text.decode().splitlines()
        return [line[len(prefix) :].split()[0] for line in lines if line.startswith(prefix)]

    def errors(self) -> str:
        self.log.flush()
        return pathlib.Path(self.log.name).read_text(errors="replace")[-2000:]

    def address(self, transport: str) -> str:
        return self.tcp if transport == "tcp" else self.shm

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        kill_quietly(self.process)

    def stop(self) -> None:
        """Asks the daemon to end, as an operator does. It must drain and exit with status 0."""
        self.signal(signal.SIGTERM)
        try:
            code = self.process.wait(DRAIN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            kill_quietly(self.process)
            raise CheckError(
                f"the daemon did not end within {DRAIN_TIMEOUT_S:.0f} s of SIGTERM\n{self.errors()}"
            ) from None
        expect(code == 0, f"the daemon ended with status {code}\n{self.errors()}")

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self.process.poll() is None:
                self.stop()
        finally:
            kill_quietly(self.process)
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.log.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def clean_environment() -> dict[str, str]:
    """Returns the caller's environment without the variables of Outboard and without a preload."""
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("OUTBOARD_") and key not in ("RCPU_SERVER", "LD_PRELOAD")
    }


def accelerator_environment() -> dict[str, str]:
    """Returns the caller's variables that tell a daemon the location of CUDA."""
    return {key: value for key, value in os.environ.items() if key == "OUTBOARD_CUDA_PATH"}


@dataclasses.dataclass(frozen=True)
class Bench:
    """The folders of the built programs, and the function that runs a program."""

    build: pathlib.Path
    native: bool = False
    seed: int = 0

    @property
    def preload(self) -> pathlib.Path:
        return self.build / "lib" / "liboutboard-preload.so"

    @property
    def daemon(self) -> pathlib.Path:
        return self.build / "bin" / "outboardd"

    def program(self, name: str) -> str:
        path = self.build / "tests" / name
        if not path.exists():
            raise MissingError(f"{path} was not built")
        return str(path)

    def environment(
        self, mode: str | None, server: str, report: str, extra: dict[str, str] | None, quiet: bool
    ) -> dict[str, str]:
        """Returns the environment of a program. If `mode` is None, the program runs without the
        library."""
        env = clean_environment()
        env["OUTBOARD_TEST_SEED"] = str(self.seed)
        env["OUTBOARD_PROFILE"] = "off"  # not the profiles of the user who runs the tests
        if mode is not None and not self.native:
            env["LD_PRELOAD"] = str(self.preload)
            env["OUTBOARD_MODE"] = mode
            env["OUTBOARD_REPORT"] = f"dir:{report}"
            env["OUTBOARD_SERVER"] = server
            # The time that connecting takes must not change the result of a test.
            env["OUTBOARD_FIRST_WAIT"] = "60000"
            if quiet:
                env["OUTBOARD_QUIET"] = "1"
        env.update(extra or {})
        return env

    def run(
        self,
        command: collections.abc.Sequence[str],
        mode: str | None = None,
        server: str = "",
        *,
        extra: dict[str, str] | None = None,
        quiet: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        cwd: str | os.PathLike[str] | None = None,
        stdin: str | None = None,
        during: During | None = None,
    ) -> Outcome:
        """Runs a program to its end. After the start it calls `during(process, folder of its
        reports)`.
        """
        with tempfile.TemporaryDirectory(prefix="ob-report-") as folder:
            reports = pathlib.Path(folder, "reports")
            reports.mkdir()
            env = self.environment(mode, server, str(reports), extra, quiet)
            out, err = pathlib.Path(folder, "out"), pathlib.Path(folder, "err")
            with (
                out.open("wb") as stdout,
                err.open("wb") as stderr,
                open(stdin or os.devnull, "rb") as source,
            ):
                process = subprocess.Popen(
                    command, env=env, stdin=source, stdout=stdout, stderr=stderr, cwd=cwd
                )
                try:
                    if during:
                        during(process, reports)
                    code = process.wait(timeout_s)
                except subprocess.TimeoutExpired:
                    kill_quietly(process)
                    shown = (
                        out.read_text(errors="replace")[-1500:]
                        + err.read_text(errors="replace")[-1500:]
                    )
                    raise CheckError(
                        f"{command[0]} still ran after {timeout_s:g} s\n{shown}"
                    ) from None
                finally:
                    kill_quietly(process)
            found = [read_report(path) for path in sorted(reports.iterdir()) if path.is_file()]
            text = out.read_text(errors="replace"), err.read_text(errors="replace")
            return Outcome(code, *text, found, self.native or mode is None)


@dataclasses.dataclass(frozen=True)
class Way:
    """One way of running a program under the drop-in library."""

    name: str
    mode: str
    transport: str

    @property
    def remote(self) -> bool:
        return self.mode == "remote"


WAYS = (
    Way("off", "off", "shm"),
    Way("auto", "auto", "shm"),
    Way("remote over shm", "remote", "shm"),
    Way("remote over tcp", "remote", "tcp"),
)


class Suite:
    """Runs named checks, prints one line for each, and remembers whether all passed."""

    def __init__(
        self,
        description: str,
        arguments: Arguments | None = None,
    ) -> None:
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder")
        parser.add_argument(
            "--native", action="store_true", help="run the programs without Outboard"
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            help="as OUTBOARD_TEST_SEED: repeats a run with the seed it printed",
        )
        if arguments:
            arguments(parser)
        self.arguments = parser.parse_args()
        given = self.arguments.seed or int(os.environ.get("OUTBOARD_TEST_SEED", "0"))
        seed = given or random.SystemRandom().randrange(1, 2**31)
        self.bench = Bench(self.arguments.build.resolve(), self.arguments.native, seed)
        self.random = random.Random(seed)
        self.passed, self.failed, self.skipped = 0, 0, 0
        print(
            f"seed: OUTBOARD_TEST_SEED={seed}"
            + (" (native only: nothing goes out)" if self.bench.native else ""),
            flush=True,
        )

    def check(self, name: str, body: collections.abc.Callable[[], object]) -> None:
        start = time.monotonic()
        try:
            body()
            self.passed += 1
            print(f"ok    {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except MissingError as reason:
            self.skipped += 1
            print(f"skip  {name} ({reason})", flush=True)
        except CheckError as reason:
            self.failed += 1
            print(f"FAIL  {name}: {reason}", flush=True)
        except Exception:  # a broken test is a failed one; the others still run
            self.failed += 1
            print(f"FAIL  {name}: {traceback.format_exc()}", flush=True)

    @contextlib.contextmanager
    def server(
        self, options: collections.abc.Sequence[str] = (), backend: str = "cpu"
    ) -> collections.abc.Iterator[Daemon | None]:
        """Runs a daemon for the length of a block; yields None in a native run."""
        if self.bench.native:
            yield None
            return
        for path in (self.bench.daemon, self.bench.preload):
            expect(path.exists(), f"{path} does not exist; build it first")
        with Daemon(self.bench, options, backend=backend) as daemon:
            yield daemon

    def each_way(
        self,
        name: str,
        body: collections.abc.Callable[[Way, str], object],
        ways: collections.abc.Sequence[Way] = WAYS,
        options: collections.abc.Sequence[str] = (),
        backend: str = "cpu",
    ) -> None:
        """Runs `body(way, address)` for every way, all with one daemon."""
        with self.server(options, backend) as daemon:
            for way in ways:
                address = daemon.address(way.transport) if daemon else ""
                self.check(f"{name}, {way.name}", functools.partial(body, way, address))

    def end(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        if self.failed:
            return 1
        return SKIP if self.skipped and not self.passed else 0


def main(suite: Suite, body: collections.abc.Callable[[Suite], None]) -> None:
    """Runs a script's checks and exits. A daemon that does not start fails the whole script."""
    try:
        body(suite)
    except MissingError as reason:
        print(f"skipped ({reason})")
        sys.exit(SKIP)
    except CheckError as reason:
        print(f"FAIL  {reason}")
        sys.exit(1)
    sys.exit(suite.end())
