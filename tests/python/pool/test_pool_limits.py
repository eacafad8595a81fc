"""The commands for quotas and reservations, with a manager in a process of its own."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pool_server import Manager, running

from conftest import Outboard, clean_environment
from outboard.commands.pool import command
from outboard.pool.client import PoolClient, PoolError

HOUR_MS = 3_600_000
Ask = Callable[..., Result]


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("m"), '[groups]\nchem = ["bob"]\n')
    yield made
    assert made.stop() == 0


@pytest.fixture
def ask(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a subcommand of `outboard pool` as an administrator, in this process."""
    monkeypatch.setenv("OUTBOARD_POOL", f"unix:{manager.folder}/s")
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(command, words)


def said(result: Result) -> str:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def lease(client: PoolClient, name: str, user: str, **body: Any) -> Any:
    return client.ask("PUT", f"/v1/leases/{name}", {"for_user": user, "ttl_s": 60, **body})


def test_a_quota_from_its_first_limit_to_its_end(ask: Ask, manager: Manager) -> None:
    client = manager.local()
    table = said(ask("quota", "user:ada", "--devices", "1", "--per-week", "40h"))
    assert "user:certificate ada" in table
    # Limits that are not named stay.
    said(ask("quota", "user:ada", "--waiting", "5"))
    (row,) = json.loads(said(ask("quota", "user:ada", "--json")))["quotas"]
    assert row == {
        "name": "user:certificate ada", "devices": 1, "week_device_ms": 40 * HOUR_MS, "waiting": 5,
    }  # fmt: skip
    said(ask("quota", "group:chem", "--devices", "2"))
    listed = said(ask("quota")).splitlines()
    assert listed[1].split() == ["name", "devices", "device-hours", "a", "week", "waiting"]
    assert listed[2].split() == ["group:chem", "2", "no", "limit", "no", "limit"]
    assert listed[3].split() == ["user:certificate", "ada", "1", "40", "5"]
    with running(client, "q1", devices=2):
        with pytest.raises(PoolError, match="may hold 1 devices at once"):
            lease(client, "two", "ada", count=2)
        assert said(ask("quota", "user:ada", "--remove")) == "user:ada has no limits any more\n"
        assert lease(client, "two", "ada", count=2)["state"] == "held"
        client.ask("DELETE", "/v1/leases/two")
    said(ask("quota", "group:chem", "--remove"))
    assert json.loads(said(ask("quota", "--json"))) == {"quotas": []}
    assert "user:ada has 2 shares" in said(ask("quota", "user:ada", "--shares", "2"))
    assert json.loads(said(ask("quota", "--json"))) == {"quotas": []}


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--devices", "3"), 2, "no user or group is named"),
        (("--remove",), 2, "no user or group is named"),
        (("ada", "--devices", "3"), 2, "'ada' is no user and no group; write user:ada"),
        (("team:chem",), 2, "'team:chem' is no user and no group"),
        (("user:",), 2, "'user:' is no user and no group"),
        (("user:ada", "--devices", "-1"), 2, "0<=x<=16384"),
        (("user:ada", "--per-week", "much"), 2, "'much' is no time"),
        (("user:ada", "--remove", "--devices", "3"), 2, "--remove removes all limits"),
        (("group:chem", "--shares", "2"), 2, "--shares is for users"),
        (("user:nobody", "--remove"), 1, "user:nobody has no limits"),
        (("user:" + 70 * "x", "--devices", "3"), 1, "1 to 64 printable characters"),
    ],
)
def test_quotas_that_are_refused(words: tuple[str, ...], status: int, text: str, ask: Ask) -> None:
    result = ask("quota", *words)
    assert (result.exit_code, text in f"{result.output}{result.exception}") == (status, True)


def test_a_reservation_keeps_devices_from_others(ask: Ask, manager: Manager) -> None:
    client = manager.local()
    with running(client, "r1", devices=2, labels={"rack": "r7"}):
        words = ("--user", "ada", "--user", "bob", "--devices", "1", "--start", "+1h")
        told = said(ask("reserve", "course", *words, "--length", "2h", "--label", "rack=r7"))
        assert told.startswith("course keeps 1 device for certificate ada, certificate bob from ")
        answer = json.loads(said(ask("reservation", "--json")))
        (row,) = answer["reservations"]
        assert row["end_ms"] - row["start_ms"] == 2 * HOUR_MS
        assert abs(row["start_ms"] - time.time() * 1000 - HOUR_MS) < 60_000
        assert row["selector"]["labels"] == {"rack": "r7"}
        cells = said(ask("reservation")).splitlines()[2].split()
        assert cells[:8] == [
            "course", "comes", "1", "rack=r7", "certificate", "ada,", "certificate", "bob",
        ]  # fmt: skip
        # A lease without an end gets only the other device. One that ends before may have both.
        assert lease(client, "first", "eve")["state"] == "held"
        assert lease(client, "second", "eve")["state"] == "queued"
        until_ms = int((time.time() + 1800) * 1000)
        assert lease(client, "third", "eve", until_ms=until_ms)["state"] == "held"
        for name in ("first", "second", "third"):
            client.ask("DELETE", f"/v1/leases/{name}")
        assert lease(client, "fourth", "ada", count=2, wait_s=5)["state"] == "held"
        client.ask("DELETE", "/v1/leases/fourth")
    assert said(ask("reserve", "course", "--remove")) == "removed course\n"
    assert json.loads(said(ask("reservation", "--json"))) == {"reservations": []}


def test_times_as_people_write_them(ask: Ask) -> None:
    words = ("--user", "ada", "--devices", "2", "--kind", "gpu", "--min-memory", "40G")
    said(ask("reserve", "a", *words, "--start", "2126-12-01T09:00", "--end", "2126-12-01 12:00"))
    said(ask("reserve", "b", *words, "--start", "4950000000", "--length", "90m"))
    said(ask("reserve", "c", *words, "--start", "2126-12-01T09:00+00:00", "--length", "3d"))
    said(ask("reserve", "d", *words, "--end", "+2h"))
    rows = json.loads(said(ask("reservation", "--json")))["reservations"]
    windows = {row["id"]: (row["start_ms"], row["end_ms"]) for row in rows}
    begin = int(datetime(2126, 12, 1, 9).timestamp()) * 1000
    assert windows["a"] == (begin, begin + 3 * HOUR_MS)
    assert windows["b"] == (4_950_000_000_000, 4_950_000_000_000 + 90 * 60_000)
    assert windows["c"][0] == 4_951_789_200_000
    assert windows["c"][1] - windows["c"][0] == 72 * HOUR_MS
    assert windows["d"][1] - windows["d"][0] == 2 * HOUR_MS
    table = said(ask("reservation"))
    assert "in force" in table and "gpu, 40 GiB or more" in table
    for name in windows:
        said(ask("reserve", name, "--remove"))


WHO = ("--user", "ada", "--devices", "1")


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("x", "--length", "1h"), 2, "a reservation needs users and devices"),
        (("x", "--user", "ada", "--length", "1h"), 2, "a reservation needs users and devices"),
        (("x", *WHO), 2, "a reservation needs one end"),
        (("x", *WHO, "--length", "1h", "--end", "+1h"), 2, "a reservation needs one end"),
        (("x", *WHO, "--length", "0"), 2, "lies not after its start"),
        (("x", *WHO, "--start", "+2h", "--end", "+1h"), 2, "lies not after its start"),
        (("x", *WHO, "--start", "2020-01-01", "--length", "1h"), 2, "lies in the past"),
        (("x", *WHO, "--start", "tomorrow", "--length", "1h"), 2, "'tomorrow' is no time"),
        (("x", *WHO, "--end", "2126-13-01"), 2, "'2126-13-01' is no time"),
        (("x", *WHO, "--end", "0001-01-01"), 2, "'0001-01-01' is no time"),
        (("x", *WHO, "--end", "+1h", "--label", "rack"), 2, "'rack' is no label; write rack=r7"),
        (("x", *WHO, "--end", "+1h", "--min-memory", "big"), 2, "'big'"),
        (("x", "--remove", *WHO), 2, "--remove removes the reservation"),
        (("x", "--remove"), 1, "there is no reservation x"),
        (("a/b", *WHO, "--end", "+1h"), 1, "id"),
    ],
)
def test_reservations_that_are_refused(
    words: tuple[str, ...], status: int, text: str, ask: Ask
) -> None:
    result = ask("reserve", *words)
    assert (result.exit_code, text in f"{result.output}{result.exception}") == (status, True)
    assert json.loads(said(ask("reservation", "--json"))) == {"reservations": []}


def test_others_see_their_own_and_change_nothing(
    manager: Manager, ask: Ask, outboard: Outboard
) -> None:
    said(ask("quota", "user:loopback", "--devices", "7"))
    said(ask("quota", "user:ada", "--devices", "3"))
    said(ask("reserve", "mine", "--user", "loopback", "--devices", "1", "--end", "+1h"))
    said(ask("reserve", "hers", "--user", "ada", "--devices", "1", "--end", "+1h"))
    environment = clean_environment(OUTBOARD_POOL=manager.url)

    def refused(*words: str) -> bool:
        done = outboard("pool", *words, environment=environment)
        assert done.stderr.startswith("outboard: ") and done.stderr.count("\n") == 1, done.stderr
        return done.returncode == 1 and "admin" in done.stderr

    rows = json.loads(outboard("pool", "quota", "--json", environment=environment).stdout)
    assert [row["name"] for row in rows["quotas"]] == ["user:loopback"]
    rows = json.loads(outboard("pool", "reservation", "--json", environment=environment).stdout)
    assert [row["id"] for row in rows["reservations"]] == ["mine"]
    assert refused("quota", "user:loopback", "--devices", "70")
    assert refused("reserve", "mine", "--remove")
    assert refused("reserve", "mine", "--user", "loopback", "--devices", "9", "--end", "+9h")
    for name in ("mine", "hers"):
        said(ask("reserve", name, "--remove"))
    for name in ("loopback", "ada"):
        said(ask("quota", f"user:{name}", "--remove"))


def test_without_a_manager(tmp_path: Path, outboard: Outboard) -> None:
    environment = clean_environment(OUTBOARD_POOL=f"unix:{tmp_path}/none")
    for words in (("quota",), ("reservation",), ("reserve", "x", "--remove")):
        done = outboard("pool", *words, environment=environment)
        assert done.returncode == 1
        assert done.stderr.startswith("outboard: ")


def printed_lease(*options: str) -> tuple[str, ...]:
    script = "import os; print(os.environ.get('OUTBOARD_LEASE'))"
    return ("run", "--accelerators", "1", *options, "--", sys.executable, "-c", script)


def test_labels_choose_devices(
    ask: Ask, manager: Manager, outboard: Outboard, fake_native: dict[str, str]
) -> None:
    client = manager.local()
    labelled = running(client, "far", labels={"rack": "r7", "job": "41"})
    with running(client, "near", labels={"rack": "r6"}), labelled:
        words = ("acquire", "--id", "a", "--label", "rack=r7", "--label", "job=41")
        (handle,) = json.loads(said(ask(*words, "--priority", "idle")))["handles"]
        assert handle["device"] == "far/0"
        said(ask("release", "a"))
        for wrong in ("rack=r8", "job=41"), ("rack=r7", "job=42"):
            result = ask("acquire", *(word for one in wrong for word in ("--label", one)))
            assert result.exit_code == 1, result.output
            assert "never" in str(result.exception)
        environment = {**fake_native, "OUTBOARD_POOL": f"unix:{manager.folder}/s"}
        words = printed_lease("--label", "rack=r7", "--wait", "10s", "--priority", "high")
        done = outboard(*words, environment=environment)
        assert done.returncode == 0, done.stderr
        grants = [line for line in said(ask("audit")).splitlines() if done.stdout.strip() in line]
        assert grants[0].endswith("far/0"), grants
        # A label that no daemon has ends the wait with the command's own library.
        words = printed_lease("--label", "rack=r8", "--wait", "1s")
        done = outboard(*words, environment=environment)
        assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
        assert "the command runs with its own library" in done.stderr


def test_a_command_waits_for_the_first_daemon_with_its_label(
    manager: Manager, outboard: Outboard, fake_native: dict[str, str]
) -> None:
    client = manager.local()
    environment = {**fake_native, "OUTBOARD_POOL": f"unix:{manager.folder}/s"}
    with running(client, "early"), ThreadPoolExecutor(1) as pool:
        words = printed_lease("--label", "job=43", "--wait", "60s", "--require")
        done = pool.submit(outboard, *words, environment=environment)
        time.sleep(2)
        assert not done.done(), done.result()
        with running(client, "late", labels={"job": "43"}):
            assert done.result().returncode == 0, done.result().stderr
            assert len(done.result().stdout.strip()) == 32


def test_classes_order_the_queue(ask: Ask, manager: Manager, outboard: Outboard) -> None:
    client = manager.local()
    environment = clean_environment(OUTBOARD_POOL=f"unix:{manager.folder}/s")
    with running(client, "c1"):
        assert lease(client, "busy", "eve")["state"] == "held"
        with ThreadPoolExecutor(3) as pool:
            for priority in ("idle", "normal", "high"):
                words = ("--id", priority, "--priority", priority, "--wait", "--kind", "gpu")
                pool.submit(outboard, "pool", "acquire", *words, environment=environment)
            until = time.monotonic() + 30
            while len(rows := client.ask("GET", "/v1/queue")["requests"]) < 3:
                assert time.monotonic() < until, rows
                time.sleep(0.05)
            assert [row["priority"] for row in rows] == ["high", "normal", "idle"]
            for name in ("busy", "high", "normal", "idle"):
                client.ask("DELETE", f"/v1/leases/{name}")
    assert ask("acquire", "--priority", "urgent").exit_code == 2
