"""The commands that ask a manager, and programs that run while they hold accelerators."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pool_daemon import until
from pool_server import Manager, running

from conftest import Outboard, clean_environment, command_line
from outboard.commands.pool import command
from outboard.paths import Native
from outboard.pool.client import PoolClient, PoolError
from outboard.pool.core.replies import LeaseChanged
from outboard.pool.hold import Hold, Wish
from outboard.pool.serve.settings import read_settings
from outboard.pool.serve.waits import Waits, passed

PRINT = "import os; print(os.environ.get('OUTBOARD_SERVER'), os.environ['OUTBOARD_MODE'])"
ADDRESSES = ["unix:/run/node.sock", "10.1.2.3:7770"]


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("m"))
    yield made
    assert made.stop() == 0


@pytest.fixture
def client(manager: Manager) -> Iterator[PoolClient]:
    client = manager.local()
    with running(client, "n1", devices=2, addresses=ADDRESSES) as (daemon,):
        yield client
    for device in daemon.devices:
        client.ask("PATCH", f"/v1/devices/{device.replace('/', '%2F')}", {"clear": True})


def leases(client: PoolClient) -> list[Any]:
    rows = client.pages("/v1/leases", "leases")
    return [row for row in rows if row["state"] in ("queued", "held")]


def test_a_command_holds_accelerators_while_it_runs(
    client: PoolClient, manager: Manager, outboard: Outboard, fake_native: dict[str, str]
) -> None:
    script = f"{PRINT}; print(os.environ['OUTBOARD_LEASE'])"
    words = [
        "run",
        "--pool",
        manager.url,
        "--accelerators",
        "2",
        "--wait",
        "10s",
        "--",
        sys.executable,
        "-c",
        script,
    ]
    # Servers that the environment names would go before the lease.
    done = outboard(*words, environment={**fake_native, "OUTBOARD_SERVER": "127.0.0.1:1"})
    assert done.returncode == 0, done.stderr
    address, mode, lease = done.stdout.split()
    assert (address, mode) == ("None", "auto")
    with pytest.raises(PoolError, match="released"):
        client.ask("GET", f"/v1/leases/{lease}")
    assert leases(client) == []


def native_run(native: Native, manager: Manager, *words: str) -> list[str]:
    """Returns the command line of a run that is not handed to Python; it fails if it must be."""
    own = ["--otherwise", "/bin/false", "--", "run", "--pool", manager.url]
    return [str(native.runner), *own, "--accelerators", *words]


def test_the_short_way_holds_them_too(
    native: Native, client: PoolClient, manager: Manager, tmp_path: Path
) -> None:
    names = "LEASE", "POOL", "MODE", "SERVER"
    script = f"import os; print(*(os.environ.get('OUTBOARD_' + name) for name in {names}))"
    words = native_run(native, manager, "2", "--wait", "1.5m", "--require", "--", sys.executable)
    environment = {"OUTBOARD_SERVER": "127.0.0.1:1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [*words, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    lease, url, mode, server = done.stdout.split()
    assert (url, mode, server) == (manager.url, "auto", "None")
    with pytest.raises(PoolError, match="released"):
        client.ask("GET", f"/v1/leases/{lease}")
    assert leases(client) == []
    # The pool never has three devices.
    words = native_run(native, manager, "3", "--require", "--", "true")
    assert subprocess.run(words, check=False).returncode == 1
    assert leases(client) == []
    # A request that was not granted leaves nothing in the queue.
    client.ask("PUT", "/v1/leases/others", {"count": 2, "ttl_s": 60})
    words = native_run(native, manager, "1", "--require", "--", "true")
    assert subprocess.run(words, check=False).returncode == 1
    assert [row["id"] for row in leases(client)] == ["others"]
    client.ask("DELETE", "/v1/leases/others")


WAIT_FOR_ANSWER = """
import json, os, pathlib, time
file = pathlib.Path(os.environ["OUTBOARD_LEASE_ANSWER"])
while not file.exists():
    time.sleep(0.01)
answer = json.loads(file.read_text())
print(os.environ["OUTBOARD_LEASE"], answer["state"] or None, len(answer["handles"]))
"""


OTHER_WORDS = [
    ("1..2",), ("1", "--memory", "1G"), ("1", "--no-such-option"), ("1", "--exclusive=yes"),
    *(("1", "--wait", wait) for wait in ("1.", "m", "1x", ".5s")),
    *(("1", "--shared", part) for part in ("0", "0.0009", "1.5", "nan", "0x1", "1e-1", ".5x")),
    ("1", "--exclusive", "--shared", "2"), ("1", "--kind", "a\"b"),
    ("1", "--label", "rack=r7"), ("1", "--priority", "idle"),
]  # fmt: skip


def test_the_short_way_leaves_other_words_to_the_whole_command_line(
    native: Native, client: PoolClient, manager: Manager
) -> None:
    for words in OTHER_WORDS:
        line = native_run(native, manager, *words, "--", "true")
        assert subprocess.run(line, check=False).returncode == 1, words
        assert leases(client) == []


def test_the_short_way_asks_for_what_the_options_say(
    native: Native, client: PoolClient, manager: Manager
) -> None:
    def are_free() -> bool:
        return {row["allocation"] for row in client.pages("/v1/devices", "devices")} == {"free"}

    def held() -> list[Any]:
        return [row["id"] for row in leases(client) if row["state"] == "held"]

    def lease_with(*words: str) -> list[Any]:
        until(are_free, "the devices of the lease before are free")
        with subprocess.Popen(native_run(native, manager, *words, "--", "sleep", "60")) as run:
            try:
                until(lambda: held() != [], "the lease is held")
                handles: list[Any] = client.ask("GET", f"/v1/leases/{held()[0]}")["handles"]
            finally:
                run.terminate()
        assert leases(client) == []
        return handles

    (kind,) = {one["kind"] for one in client.ask("GET", "/v1/devices")["devices"]}
    handles = lease_with("2", "--shared", "0.25", f"--kind={kind}")
    assert [(one["exclusive"], one["share"]) for one in handles] == [(False, 250)] * 2
    (handle,) = lease_with("1", "--exclusive", "--shared", "0.25")
    assert handle["exclusive"]
    until(are_free, "all are free, but none is of this kind")
    words = native_run(native, manager, "1", "--kind", "none-such", "--", sys.executable, "-c")
    done = subprocess.run([*words, WAIT_FOR_ANSWER], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1:] == ["None", "0"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_command_begins_before_its_accelerators_are_there(
    native: Native, client: PoolClient, manager: Manager, tmp_path: Path, count: int
) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {"TMPDIR": str(tmp_path)}
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert list(tmp_path.iterdir()) == []
        return done

    words = native_run(native, manager, str(count), "--", sys.executable, "-c", WAIT_FOR_ANSWER)
    done = run(*words)
    lease, state, handles = done.stdout.split()
    assert (state, handles, done.stderr) == ("held", str(count), "")
    with pytest.raises(PoolError, match="released"):
        client.ask("GET", f"/v1/leases/{lease}")
    # It goes on without them, and leaves nothing in the queue. Both or none: one of two is free.
    client.ask("PUT", f"/v1/leases/strangers.{count}", {"count": 3 - count, "ttl_s": 60})
    done = run(*words)
    assert done.stdout.split()[1:] == ["None", "0"]
    assert "no accelerators are free" in done.stderr
    assert [row["id"] for row in leases(client)] == [f"strangers.{count}"]
    client.ask("DELETE", f"/v1/leases/strangers.{count}")
    gone = [word.replace(manager.url, "http://127.0.0.1:1") for word in words]
    done = run(*gone)
    assert done.stdout.split()[1:] == ["None", "0"]
    assert "127.0.0.1:1" in done.stderr and "without accelerators" in done.stderr


@pytest.mark.slow
def test_the_short_way_renews(native: Native, client: PoolClient, manager: Manager) -> None:
    words = native_run(native, manager, "1", "--", "sleep", "170")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
        time.sleep(130)  # longer than the lease time
        (lease,) = leases(client)
        assert lease["state"] == "held"
        client.ask("DELETE", f"/v1/leases/{lease['id']}")
        _, said = run.communicate(timeout=60)
    assert run.returncode == 0
    assert "the lease is lost" in said


@pytest.mark.parametrize(("script", "status"), [("raise SystemExit(7)", 7), ("crash", 139)])
def test_however_the_command_ends(
    client: PoolClient, manager: Manager, outboard: Outboard, fake_native: dict[str, str],
    script: str, status: int,
) -> None:  # fmt: skip
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    words = ["run", "--pool", manager.url, "--accelerators", "1", "--", sys.executable, "-c"]
    done = outboard(*words, crash if script == "crash" else script, environment=fake_native)
    assert done.returncode == status
    assert leases(client) == []


def test_sigterm_and_sigkill(
    client: PoolClient, manager: Manager, fake_native: dict[str, str]
) -> None:
    words = command_line("run", "--pool", manager.url, "--accelerators", "1", "--", "sleep", "60")
    for number in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen(words, env=fake_native) as run:
            until = time.monotonic() + 20
            while not leases(client):
                assert time.monotonic() < until
                time.sleep(0.05)
            file = Path(f"/proc/{run.pid}/task/{run.pid}/children")
            while not (children := file.read_text().split()):
                assert time.monotonic() < until
                time.sleep(0.05)
            time.sleep(0.3)  # it waits for the command
            run.send_signal(number)
            run.wait(20)
        if number == signal.SIGTERM:
            assert run.returncode == 128 + number
            assert leases(client) == []
    (left,) = leases(client)
    assert left["end_ms"] - client.ask("GET", "/v1/devices")["now_ms"] <= 120_000
    client.ask("DELETE", f"/v1/leases/{left['id']}")
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    for folder in Path(fake_native["TMPDIR"]).iterdir():  # SIGKILL leaves it behind
        shutil.rmtree(folder)


def test_without_accelerators_the_command_runs_locally(
    client: PoolClient, manager: Manager, outboard: Outboard, fake_native: dict[str, str]
) -> None:
    client.ask("PUT", "/v1/leases/all", {"count": 2, "ttl_s": 60})
    pool = ["run", "--pool", manager.url, "--accelerators", "1..2"]
    script = "import os; print(os.environ['OUTBOARD_MODE'])"
    done = outboard(*pool, "--", sys.executable, "-c", script, environment=fake_native)
    assert (done.returncode, done.stdout) == (0, "off\n")
    assert "no accelerators are free" in done.stderr
    done = outboard(*pool, "--require", "--", "echo", "no", environment=fake_native)
    assert (done.returncode, done.stdout) == (125, "")
    assert [row["id"] for row in leases(client)] == ["all"]
    client.ask("DELETE", "/v1/leases/all/handles/n1%2F0")
    words = ["run", "--pool", manager.url, "--accelerators", "1..4", "--wait", "20s", "--"]
    done = outboard(*words, sys.executable, "-c", PRINT, environment=fake_native)
    assert done.stdout == "None auto\n", done.stderr
    gone = ["run", "--pool", "http://127.0.0.1:1", "--accelerators", "1..2", "--"]
    done = outboard(*gone, sys.executable, "-c", script, environment=fake_native)
    assert (done.returncode, done.stdout) == (0, "off\n")
    assert "does not answer" in done.stderr
    client.ask("DELETE", "/v1/leases/all")


def test_questions(
    client: PoolClient, manager: Manager, outboard: Outboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = clean_environment(OUTBOARD_POOL=f"unix:{manager.folder}/s")
    monkeypatch.setenv("OUTBOARD_POOL", environment["OUTBOARD_POOL"])

    def ask(*words: str) -> str:
        done = CliRunner().invoke(command, words)  # a process of its own takes half a second
        assert done.exit_code == 0, done.exception
        return done.output

    lease = json.loads(ask("acquire", "--id", "job.1", "--for", "ada", "--until", "+1h"))
    again = json.loads(ask("acquire", "--id", "job.1", "--for", "ada", "--until", "+1h"))
    assert lease["handles"][0]["epoch"] == again["handles"][0]["epoch"]
    assert lease["holder"] == "certificate ada"
    device = lease["handles"][0]["device"]
    assert f"{device}: ok, exclusive, open\n  it is held\n  lease job.1" in ask("why", device)
    status = ask("status")
    assert "certificate ada" in status
    assert "job.1" in status
    assert len(json.loads(ask("status", "--json"))["devices"]) == 2
    part = ("acquire", "--id", "job.2", "--shared", "0.5", "--memory", "1M", "--until", "+1h")
    assert json.loads(ask(*part))["handles"][0]["memory_bytes"] == 1 << 20
    assert ask("release", "job.2") == "released job.2\n"
    assert CliRunner().invoke(command, ("acquire", "--memory", "1M")).exit_code == 2
    done = outboard("pool", "acquire", "--count", "2", environment=environment)
    assert done.returncode == 1
    assert "no devices are free" in done.stderr
    assert [row["id"] for row in leases(client)] == ["job.1"]
    assert ask("release", "--prefix", "job.") == "released job.1\n"
    assert ask("cordon", "n1").splitlines() == ["cordoned n1/0", "cordoned n1/1"]
    assert "cordoned" in ask("why", "n1/1")
    ask("drain", "n1", "--deadline", "1h")
    ask("uncordon", "n1")
    ask("ban", "mallory", "--reason", "x")
    ask("ban", "mallory", "--end")
    assert "certificate ada" in ask("usage")
    assert ask("usage", "--format", "csv", "--by", "lease").startswith("name,leases")
    assert "cordoned" in ask("audit")
    for line in ask("audit", "--json").splitlines():
        json.loads(line)


def test_backup_and_restore(tmp_path: Path, outboard: Outboard) -> None:
    manager = Manager(tmp_path / "m")
    client = manager.local()
    environment = clean_environment(OUTBOARD_POOL=f"unix:{manager.folder}/s")
    with running(client, "b1", devices=2) as (daemon,):
        before = client.ask("PUT", "/v1/leases/before", {"ttl_s": 600})["handles"][0]
        done = outboard("pool", "backup", "copy.db", environment=environment)
        assert done.returncode == 0, done.stderr
        late = client.ask("PUT", "/v1/leases/late", {"ttl_s": 600})["handles"][0]
        rev = client.ask("GET", "/v1/leases/late")["rev"]
        manager.stop()
        state = tmp_path / "m" / "state"
        words = ["pool", "restore", "copy.db", "--state", str(state)]
        assert "is there already" in outboard(*words).stderr
        for file in state.glob("pool.db*"):
            file.unlink()
        done = outboard(*words)
        assert done.returncode == 0, done.stderr
        manager.start()
        client = daemon.client = manager.local()
        lease = client.ask("GET", "/v1/leases/before")
        assert [h["epoch"] for h in lease["handles"]] == [before["epoch"]]
        with pytest.raises(PoolError, match="no lease late"):
            client.ask("GET", "/v1/leases/late")
        again = client.ask("PUT", "/v1/leases/again", {"wait_s": 20}, wait_s=20)
        assert again["handles"][0]["device"] == late["device"]
        assert again["handles"][0]["epoch"] > late["epoch"] + (1 << 31)
        assert again["rev"] > rev + (1 << 31)
    assert manager.stop() == 0


def test_a_real_daemon_registers_from_its_launcher(
    manager: Manager, native: Any, tmp_path: Path
) -> None:
    words = command_line("serve", "--listen", "127.0.0.1:0", "--devices", "2", "--backend", "null")
    words += ["--pool", manager.url, "--label", "rack=r7"]
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))
    client, name = manager.local(), socket.gethostname()
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as serve:
        assert serve.stdout is not None
        address = serve.stdout.readline().split()[-1]
        body = {"count": 2, "class": {"kind": "null", "labels": {"rack": "r7"}}, "wait_s": 10}
        until = time.monotonic() + 20
        while not any(d["daemon"] == name for d in client.ask("GET", "/v1/devices")["devices"]):
            assert time.monotonic() < until
            time.sleep(0.05)
        lease = client.ask("PUT", "/v1/leases/real", body, wait_s=10)
        assert [h["device"] for h in lease["handles"]] == [f"{name}/0", f"{name}/1"]
        assert lease["handles"][0]["addresses"] == [address]
        client.ask("DELETE", "/v1/leases/real")
        serve.send_signal(signal.SIGTERM)
        assert serve.wait(30) == 0
    row = client.ask("GET", f"/v1/devices/{name}%2F0")
    assert row["health"] == "lost"


@pytest.mark.parametrize(
    "words",
    [("--exclusive",), ("--shared", "0.5"), ("--memory", "1G"), ("--kind", "gpu"),
     ("--label", "rack=r7"), ("--priority", "idle"), ("--wait", "1s"), ("--require",)],
)  # fmt: skip
def test_options_that_say_nothing_without_accelerators(
    words: tuple[str, ...], outboard: Outboard, fake_native: dict[str, str]
) -> None:
    done = outboard("run", "--pool", "http://127.0.0.1:1", *words, "--", "true",
                    environment=fake_native)  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"{words[0]} belongs to --accelerators" in done.stderr


def test_run_imports_nothing_of_the_pool(outboard: Outboard, fake_native: dict[str, str]) -> None:
    """A short command must not wait for packages that it does not need."""
    environment = {**fake_native, "PYTHONPROFILEIMPORTTIME": "1"}
    for options in ((), ("--report",)):
        done = outboard("run", *options, "--", "true", environment=environment)
        for package in ("urllib3", "uvicorn", "msgspec", "jwt", "outboard.pool"):
            assert f" {package}" not in done.stderr, package


def test_no_change_falls_between_a_look_and_the_wait() -> None:
    async def wait() -> None:
        waits = Waits()
        with waits.watching("lease", "x") as change:
            waits.deliver([LeaseChanged("x")], 1)  # during the look
            await passed(change, 60)
        assert waits._waiting == {}

    asyncio.run(asyncio.wait_for(wait(), 10))


def test_the_example_of_settings_is_valid() -> None:
    example = Path(__file__).resolve().parents[3] / "examples/pool/pool.toml"
    settings = read_settings(example)
    assert settings.batch_user("alovelace") == "certificate ada"
    assert settings.groups_of("certificate bob") == ["chem"]


@pytest.mark.parametrize("name", ["starting", "storage", "not-leader"])
def test_who_waits_for_devices_waits_while_no_manager_leads(name: str) -> None:
    held = {"state": "held", "handles": [{"device": "n/0"}], "ttl_s": 120.0}

    class Refusing(PoolClient):
        def __init__(self) -> None:
            self.answers: list[Any] = [PoolError(503, name, "ask again"), held]

        def ask(self, method: str, path: str, *more: Any, **options: Any) -> Any:
            if method != "PUT":
                return {}
            answer = self.answers.pop(0)
            if isinstance(answer, PoolError):
                raise answer
            return answer

    with Hold(Refusing(), Wish(1, 1, 0, 0, "", 30)) as hold:
        assert hold.handles == held["handles"]
    with pytest.raises(PoolError), Hold(Refusing(), Wish(1, 1, 0, 0, "", 0)):
        pass
