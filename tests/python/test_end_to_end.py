"""Runs the real library and daemon under `outboard run`, and compares results and reports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CONNECT, Outboard, clean_environment, command_line
from outboard import paths

pytestmark = pytest.mark.end_to_end

# Computes a product and a solve of seeded random matrices. Writes the results as raw float64.
NUMPY = """
import os, sys
import numpy as np
rng = np.random.default_rng(int(sys.argv[2]))
a, b = rng.standard_normal((2, 120, 120))
with open(sys.argv[1], "wb") as file:
    file.write((a @ b).tobytes())
    file.write(np.linalg.solve(a, b).tobytes())
"""
# Products of several sizes, also such that a real accelerator gains with.
PRODUCTS = """
import numpy as np
for order in (120, 250, 500, 900):
    a = np.ones((order, order))
    for _ in range(6):
        a @ a
"""
# Two children share the work.
FORKING = """
import os, sys
import numpy as np
children = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        a = np.ones((100, 100))
        os._exit(0 if (a @ a)[3, 4] == 100 else 1)
    children.append(pid)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


@pytest.fixture
def environment(native: paths.Native) -> dict[str, str]:
    return clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))


@pytest.fixture
def seed() -> int:
    value = int(os.environ.get("OUTBOARD_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
    print(f"seed: OUTBOARD_TEST_SEED={value}")
    return value


def assert_close(local: Path, remote: Path) -> None:
    import numpy as np

    expected, actual = np.fromfile(local), np.fromfile(remote)
    assert expected.size == actual.size == 2 * 120 * 120
    # A solve may lose cond(a) * n * eps; 1e-8 allows a cond(a) up to 4e5 at n = 120.
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def routines_of(report: Path) -> dict[str, dict[str, int]]:
    return {r["name"]: r for r in json.loads(report.read_text())["routines"]}


def test_numpy_on_an_embedded_daemon(
    outboard: Outboard, environment: dict[str, str], tmp_path: Path, seed: int
) -> None:
    script = [sys.executable, "-c", NUMPY]
    plain = [*script, str(tmp_path / "local"), str(seed)]
    subprocess.run(plain, env=environment, check=True)
    options = ["--mode", "remote", "--report", "json:report.json", "--trace", "trace.json"]
    remote = [*script, str(tmp_path / "remote"), str(seed)]
    result = outboard("run", *options, "--", *remote, environment=environment)
    assert result.returncode == 0, result.stderr
    assert_close(tmp_path / "local", tmp_path / "remote")
    routines = routines_of(tmp_path / "report.json")
    for name in ("dgemm", "dgesv"):
        assert routines[name]["remote"] == routines[name]["calls"] == 1, routines
        assert routines[name]["bytes_to"] >= 2 * 8 * 120 * 120
        assert routines[name]["bytes_from"] >= 8 * 120 * 120
        assert routines[name]["fell_back"] == 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"dgemm", "dgesv"} <= {event["name"] for event in events}


def test_the_first_call_waits_for_a_daemon_that_starts_slowly(
    outboard: Outboard, environment: dict[str, str], native: paths.Native, tmp_path: Path
) -> None:
    """The start takes longer than a client waits for a daemon that runs (1.75 s)."""
    slow = paths.Native(tmp_path / "slow")
    slow.preload.parent.mkdir(parents=True)
    slow.preload.symlink_to(native.preload)
    slow.daemon.parent.mkdir()
    shutil.copy(native.runner, slow.runner)
    slow.daemon.write_text(f'#!/bin/sh\nsleep 3\nexec {native.daemon} "$@"\n')
    slow.daemon.chmod(0o755)
    environment["OUTBOARD_NATIVE_DIR"] = str(slow.root)
    options = ["--mode", "remote", "--report", "json:report.json"]
    command = [sys.executable, "-c", NUMPY, str(tmp_path / "out"), "1"]
    result = outboard("run", *options, "--", *command, environment=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert routines_of(tmp_path / "report.json")["dgemm"]["remote"] == 1


def test_modes_that_stay_local(
    outboard: Outboard, environment: dict[str, str], tmp_path: Path, seed: int
) -> None:
    command = [sys.executable, "-c", NUMPY, str(tmp_path / "out"), str(seed)]
    traced = ["--mode", "trace", "--report", "json:report.json"]
    result = outboard("run", *traced, "--", *command, environment=environment)
    assert result.returncode == 0, result.stderr
    dgemm = routines_of(tmp_path / "report.json")["dgemm"]
    assert (dgemm["calls"], dgemm["eligible"], dgemm["remote"]) == (1, 1, 0)
    off = ["--mode", "off", "--report", "json:report.json"]
    assert outboard("run", *off, "--", *command, environment=environment).returncode == 0
    assert all(r["remote"] == 0 for r in routines_of(tmp_path / "report.json").values())


@pytest.mark.skipif(
    any(name.startswith(("nvidia", "dri", "kfd")) for name in os.listdir("/dev")),
    reason="this machine may have an accelerator",
)
def test_nothing_goes_out_to_the_own_cores(
    outboard: Outboard, environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    options = ("--mode", "auto", "--report", f"json:{file}")
    command = (sys.executable, "-c", PRODUCTS)
    result = outboard("run", *options, "--", *command, environment=environment)
    assert result.returncode == 0, result.stderr
    report = json.loads(file.read_text())
    (process,) = report["processes"]
    assert process["server"] == "", "a connection was made"
    assert "own cores" in process["reason"]
    (products,) = (routine for routine in report["routines"] if routine["name"] == "dgemm")
    assert (products["calls"], products["remote"], products["tried"]) == (24, 0, 0)


def test_report_joins_processes(
    outboard: Outboard, environment: dict[str, str], tmp_path: Path
) -> None:
    options = ["--mode", "remote", "--report", "json:report.json"]
    command = [sys.executable, "-c", FORKING]
    result = outboard("run", *options, "--", *command, environment=environment)
    assert result.returncode == 0, result.stderr
    assert routines_of(tmp_path / "report.json")["dgemm"]["remote"] == 2
    report = json.loads((tmp_path / "report.json").read_text())
    assert len({process["pid"] for process in report["processes"]}) >= 2


def test_settings_of_env_reach_a_served_daemon(
    outboard: Outboard, environment: dict[str, str], tmp_path: Path, seed: int
) -> None:
    serve = command_line("serve", "--listen", "127.0.0.1:0", "--device-memory", "64M")
    with subprocess.Popen(serve, env=environment, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        first = daemon.stdout.readline()
        assert first.startswith("listening on 127.0.0.1:"), first
        address = first.split()[-1]
        lines = outboard(
            "env",
            *("--server", address, "--mode", "remote", "--report", "dir:counts"),
            environment=environment,
        )
        script = f'{lines.stdout}\nexec "$@"'
        command = ["sh", "-c", script, "sh", sys.executable, "-c", NUMPY]
        command += [str(tmp_path / "remote"), str(seed)]
        subprocess.run(command, env=environment, cwd=tmp_path, check=True)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    local = [sys.executable, "-c", NUMPY, str(tmp_path / "local"), str(seed)]
    subprocess.run(local, env=environment, check=True)
    assert_close(tmp_path / "local", tmp_path / "remote")
    table = outboard("report", "counts")
    assert table.returncode == 0
    assert address in table.stdout
    assert "dgemm" in table.stdout


def test_no_server_still_gives_the_result(
    outboard: Outboard, environment: dict[str, str], tmp_path: Path, seed: int
) -> None:
    nobody = f"unix:{tmp_path}/nobody.sock"
    command = [sys.executable, "-c", NUMPY]
    options = ["--server", nobody, "--mode", "remote"]
    remote = [*command, str(tmp_path / "remote"), str(seed)]
    loud = outboard("run", *options, "--", *remote, environment=environment)
    assert loud.returncode == 0
    assert len(loud.stderr.splitlines()) <= 1, loud.stderr
    quiet = outboard("run", *options, "--quiet", "--", *remote, environment=environment)
    assert (quiet.returncode, quiet.stderr) == (0, "")
    local = [*command, str(tmp_path / "local"), str(seed)]
    subprocess.run(local, env=environment, check=True)
    assert (tmp_path / "local").read_bytes() == (tmp_path / "remote").read_bytes()


def test_daemon_is_gone_when_run_was_killed(environment: dict[str, str], tmp_path: Path) -> None:
    """SIGKILL leaves `run` no time to stop its daemon. --exit-with-parent stops it."""
    script = f"{CONNECT}\nclient.recv(1); print(sys.argv, flush=True); sys.stdin.read()"
    environment["TMPDIR"] = str(tmp_path)
    with subprocess.Popen(
        command_line("run", "--", sys.executable, "-c", script),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        daemons = [pid for pid in children(process.pid) if name_of(pid) == "outboardd"]
        assert len(daemons) == 1
        watch = os.pidfd_open(daemons[0])
        process.kill()
        process.stdin.close()
        import select

        assert select.select([watch], [], [], 60)[0], "the daemon outlived its parent"
        os.close(watch)


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
