"""Use, the record of acts, and lost devices: the commands, against a real manager."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pool_commands import fresh_seed
from pool_daemon import PATIENCE_S, until
from pool_server import EVERYBODY, PYTHON, Manager, running

from conftest import clean_environment


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    toml = EVERYBODY + '[groups]\nchem = ["loopback"]\n[users]\neve = "certificate eve"\n'
    made = Manager(tmp_path / "m", toml)
    yield made
    if made.process.poll() is None:
        made.kill()


def words(manager: Manager, *more: str) -> list[str]:
    return [sys.executable, "-m", "outboard", "pool", *more, "--pool", f"unix:{manager.folder}/s"]


ENVIRONMENT = clean_environment(PYTHONPATH=str(PYTHON))


def said(manager: Manager, *more: str) -> str:
    done = subprocess.run(
        words(manager, *more), capture_output=True, text=True, env=ENVIRONMENT, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_use_is_summed_by_job(manager: Manager) -> None:
    rng = random.Random(fresh_seed())
    client = manager.client()
    jobs = rng.sample(range(1, 10_000), 3)
    plan = [(f"slurm.c1.{job}.{n}", str(job)) for n, job in enumerate(rng.choices(jobs, k=6))]
    plan += [("plain", ""), (f"slurm.c2.{jobs[0]}.0", "")]
    held: dict[str, tuple[float, float]] = {}  # the least and the most that a lease can be held
    with running(client, "n1", devices=8):
        for name, _ in plan:
            begin = time.time()
            lease = client.ask("PUT", f"/v1/leases/{name}", {"ttl_s": 60, "wait_s": 20}, wait_s=20)
            assert lease["state"] == "held"
            granted = time.time()
            time.sleep(rng.uniform(0.05, 0.2))
            end = time.time()
            client.ask("DELETE", f"/v1/leases/{name}")
            held[name] = (end - granted, time.time() - begin)
    told = json.loads(said(manager, "usage", "--by", "job", "--format", "json"))
    rows = {row["name"]: row for row in told["rows"]}
    expected: dict[str, list[str]] = {}
    for name, _ in plan:
        expected.setdefault(".".join(name.split(".")[:3]) if "." in name else "", []).append(name)
    assert rows.keys() == expected.keys()
    for name, leases in expected.items():
        assert rows[name]["leases"] == len(leases)
        # Pool time is in ms, and rounds twice for each lease.
        slack_s = 0.002 * len(leases)
        least, most = (sum(held[lease][at] for lease in leases) for at in (0, 1))
        assert least - slack_s <= rows[name]["device_s"] <= most + slack_s
        assert rows[name].get("job", "") == (name.split(".")[2] if name else "")

    text = said(manager, "usage", "--by", "job", "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert {(line["cluster"], line["job"]) for line in lines} == {
        ("", ""), ("c2", str(jobs[0])), *(("c1", job) for name, job in plan if job)
    }  # fmt: skip
    table = said(manager, "usage", "--by", "job")
    assert "(no job)" in table
    assert f"slurm.c2.{jobs[0]}" in table
    by_lease = json.loads(said(manager, "usage", "--by", "lease", "--format", "json"))["rows"]
    total = sum(row["device_s"] for row in by_lease)
    assert sum(row["device_s"] for row in rows.values()) == pytest.approx(total)
    later = said(manager, "usage", "--since", "2999-01-01", "--by", "job", "--format", "json")
    assert json.loads(later)["rows"] == []


def test_the_record_is_followed_over_a_restart_of_the_manager(
    manager: Manager, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with open(out, "wb") as stream, open(tmp_path / "err", "wb") as errors:
        follower = subprocess.Popen(
            words(manager, "audit", "--follow", "--json"),
            env=ENVIRONMENT, stdout=stream, stderr=errors,
        )  # fmt: skip
    try:
        manager.local().ask("PUT", "/v1/bans/first", {"reason": "x"})
        until(lambda: '"first"' in out.read_text().replace("certificate ", ""), "the first act")
        assert manager.stop() == 0
        until(lambda: (tmp_path / "err").read_text(), "it says that the manager is away")
        manager.start()
        manager.local().ask("PUT", "/v1/bans/second", {"reason": "x"})
        manager.local().ask("DELETE", "/v1/bans/second")
        until(lambda: '"unban"' in out.read_text(), "the acts after the restart")
        assert follower.poll() is None
    finally:
        follower.kill()
        follower.wait()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["verb"] for row in rows] == ["ban", "ban", "unban"]
    revs = [row["rev"] for row in rows]
    assert revs == sorted(set(revs))
    assert (tmp_path / "err").read_text().count("waiting for the manager") == 1


def test_following_ends_at_once_if_no_manager_ever_answered(tmp_path: Path) -> None:
    nowhere = [sys.executable, "-m", "outboard", "pool", "audit", "--follow", "--pool"]
    nowhere.append(f"unix:{tmp_path}/none")
    done = subprocess.run(
        nowhere, capture_output=True, text=True, env=ENVIRONMENT, timeout=PATIENCE_S
    )
    assert done.returncode == 1
    assert "does not answer" in done.stderr


def test_a_device_that_is_gone_is_retired(manager: Manager) -> None:
    client = manager.client()
    with running(client, "n1", devices=2):
        assert said(manager, "clear", "n1/0") == "cleared n1/0\n"
        assert said(manager, "retire", "n1/0") == "retired n1/0\n"
        rows = {r["id"]: r["admin"] for r in client.pages("/v1/devices", "devices")}
        assert rows == {"n1/0": "retired", "n1/1": "open"}
        _, metrics = client.raw("GET", "/metrics")
        assert b'outboard_device_up{device="n1/1"} 1.0' in metrics
        assert b'outboard_device_up{device="n1/0"}' not in metrics
        assert "n1/0" not in said(manager, "status")
    wrong = subprocess.run(
        words(manager, "retire", "n9/0"), capture_output=True, text=True, env=ENVIRONMENT,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert wrong.returncode == 1
    assert "n9/0" in wrong.stderr
