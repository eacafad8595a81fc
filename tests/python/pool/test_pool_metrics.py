"""The manager's metrics, read as Prometheus reads them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pool_commands import SECOND, Pool
from pool_server import EVERYBODY, FakeDaemon, Manager, running
from prometheus_client.parser import text_string_to_metric_families

from outboard.pool.client import PoolClient, PoolError
from outboard.pool.core.commands import SetAdmin
from outboard.pool.core.records import Admin
from outboard.pool.core.state import State
from outboard.pool.serve.bodies import ReportBody
from outboard.pool.serve.busy import BusyTime
from outboard.pool.serve.metrics import Metrics

BUSY, MEMORY, UP = (f"outboard_device_{name}" for name in ("busy_ratio", "memory_used_bytes", "up"))


def devices(text: str, metric: str) -> dict[str, float]:
    """Returns the values of a metric by device."""
    return {
        sample.labels["device"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == metric
    }


def scrape(metrics: Metrics, state: State) -> str:
    async def fill() -> None:
        metrics.fill(state)

    return asyncio.run(metrics.scrape(fill)).decode()


def test_only_devices_that_are_there_have_a_use() -> None:
    pool, metrics = Pool(daemons=3), Metrics("1")
    for number in range(3):
        name = f"n{number}"
        own = ReportBody(f"{name}/0", 1, busy=0.25, memory_used_bytes=7 + number)
        others = [ReportBody(x, 1, busy=1.0, memory_used_bytes=99) for x in ("n1/0", f"{name}/9")]
        metrics.reported(name, [*others, own], pool.now_ms)
    metrics.reported("n1", [ReportBody("n1/0", 1, busy=0.5, memory_used_bytes=8)], pool.now_ms)
    text = scrape(metrics, pool.state)
    assert devices(text, BUSY) == {"n0/0": 0.25, "n1/0": 0.5, "n2/0": 0.25}
    assert devices(text, MEMORY) == {"n0/0": 7, "n1/0": 8, "n2/0": 9}
    pool.ask(SetAdmin("root", "n1/0", Admin.RETIRED))
    for _ in range(15):  # n2 is silent
        pool.now_ms += SECOND
        pool.beat("n0")
    text = scrape(metrics, pool.state)
    assert devices(text, UP) == {"n0/0": 1, "n2/0": 0}
    assert devices(text, BUSY) == {"n0/0": 0.25}
    assert devices(text, MEMORY) == {"n0/0": 7}
    pool.beat("n2")
    assert devices(scrape(metrics, pool.state), MEMORY) == {"n0/0": 7, "n2/0": 9}


def test_a_busy_device() -> None:
    busy, now_ms = BusyTime(), 1_000_000

    def told(after_s: float, **seconds: float) -> float:
        """Returns the ratio after a heartbeat with these counts; `e7` is that of epoch 7."""
        nonlocal now_ms
        now_ms += int(after_s * SECOND)
        counts = {int(epoch[1:]): int(s * 1e9) for epoch, s in seconds.items()}
        busy.beat(now_ms, {"n/0": counts} if counts else {})
        assert busy.ratio("n/1") == 0
        return busy.ratio("n/0")

    assert told(0, e7=1000) == 0  # before the manager's start
    assert told(10, e7=1005) == 0.5
    assert told(10, e7=1005, e8=10) == 0.75  # a new lease
    assert told(0, e7=1005, e8=10) == 0.75  # a repeated heartbeat
    assert told(20, e8=10) == 15 / 40  # a lease is forgotten
    assert told(20, e8=30) == 35 / 60
    assert told(10, e8=30) == 30 / 60  # the first ten seconds are too long ago
    assert told(10, e8=3) == 20 / 60  # the daemon has started anew
    assert told(2, e8=300) == 1  # several queues at once, or a call that has lasted for long
    assert told(1000, e8=300) == 0
    assert len(busy._devices["n/0"].points) == 2
    assert told(1) == 0
    assert busy._devices == {}
    assert told(30, e9=45) == 0.75  # since the heartbeat before, nothing had been counted


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("m"), EVERYBODY)
    yield made
    assert made.stop() == 0


def report(client: PoolClient, daemon: FakeDaemon, ids: list[str], **more: Any) -> Any:
    daemon.seq += 1
    rows = [{"id": name, "floor": 1, "busy": 0.5, "memory_used_bytes": 3} for name in ids]
    body = {"instance": daemon.instance, "seq": daemon.seq, "rev": 0, "devices": rows, "wait_s": 0}
    return client.ask("POST", f"{daemon.path}/heartbeat", body | more)


def test_a_heartbeat_that_is_refused_changes_no_figure(manager: Manager) -> None:
    client = manager.client()
    text = lambda: client.raw("GET", "/metrics")[1].decode()  # noqa: E731
    one, two = FakeDaemon(client, "n1"), FakeDaemon(client, "n2")
    one.register()
    two.register()
    report(client, one, ["n1/0"])
    assert devices(text(), MEMORY) == {"n1/0": 3, "n2/0": 0}
    with pytest.raises(PoolError) as refused:
        report(client, one, ["n1/0"], instance="another", devices=[
            {"id": "n1/0", "floor": 1, "memory_used_bytes": 77}])  # fmt: skip
    assert refused.value.name == "other-instance"
    report(client, two, ["n2/0", "n1/0", "n9/9"])
    assert devices(text(), MEMORY) == {"n1/0": 3, "n2/0": 3}
    two.stop()
    assert devices(text(), MEMORY) == {"n1/0": 3}
    one.stop()


def test_scrapes_at_the_same_time_are_whole(manager: Manager) -> None:
    with running(manager.client(), "many", devices=200):
        texts: list[bytes] = []

        def ask() -> None:
            client = manager.client()
            texts.extend(client.raw("GET", "/metrics")[1] for _ in range(6))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(texts) == 24
    assert {text.count(b'outboard_device_up{device="many/') for text in texts} == {200}
