"""Tests emulated links: namespaces are made and removed, and a rate holds. Most tests need root."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import ROOT, clean_environment
from outboard.errors import OutboardError
from outboard_bench import links, netns, rows, streams
from outboard_bench.link import Link, Load, Speed, rate_list, stream

needs_namespaces = pytest.mark.needs("ip", "tc", package="iproute2", root=True)


def namespaces(pid: int) -> list[str]:
    text = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    names = [line.split()[0] for line in text.stdout.splitlines()]
    return [name for name in names if name.startswith(f"outboard-{pid}-")]


def sent_bytes(link: Link) -> int:
    command = link.near(["ip", "-s", "-j", "link", "show", netns.DEVICE])
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(json.loads(text)[0]["stats64"]["tx"]["bytes"])


@needs_namespaces
def test_the_stream_passes_the_device_and_its_limit() -> None:
    with Link(1.0, burst_bytes=80 << 10) as link:
        before = sent_bytes(link)
        (rate,) = stream(link.near, link.far, netns.FAR_ADDRESS, Load(1, 0.4))
        passed = sent_bytes(link) - before
        (back,) = stream(link.far, link.near, netns.NEAR_ADDRESS, Load(1, 0.4))
    assert passed >= rate * 0.4e9 / 8
    # On a busy machine, buffered bytes may arrive in one window. Without a limit, far more would
    # arrive.
    for measured in (rate, back):
        assert 0 < measured < 2


@needs_namespaces
def test_a_burst_is_found_that_is_larger_than_a_packet() -> None:
    with Link(25.0) as link:
        assert link.burst_bytes > 65535 + 14


@needs_namespaces
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_after_an_exception(error: type[BaseException]) -> None:
    with pytest.raises(error), Link(1.0, burst_bytes=80 << 10):
        assert len(namespaces(os.getpid())) == 2
        raise error
    assert namespaces(os.getpid()) == []


@needs_namespaces
def test_nothing_is_left_when_the_setup_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OutboardError("no tbf")

    monkeypatch.setattr(netns.TwoHosts, "limit", fail)
    with pytest.raises(OutboardError, match="no tbf"), Link(1.0, burst_bytes=80 << 10):
        pass
    assert namespaces(os.getpid()) == []


@contextlib.contextmanager
def holding_a_link() -> Iterator[subprocess.Popen[str]]:
    """Yields a process inside a Link, after it reported that the link exists."""
    code = (
        "import signal, time\n"
        # a process that runs in the background inherits that SIGINT is ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from outboard_bench.link import Link\n"
        "from outboard_bench.netns import ended_by_exception\n"
        "with ended_by_exception(), Link(1.0, burst_bytes=81920):\n"
        "    print('up', flush=True)\n"
        "    time.sleep(600)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=clean_environment(PYTHONPATH=f"{ROOT / 'python'}:{ROOT / 'bench'}"),
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "up\n"
        yield child
    finally:
        child.kill()
        child.communicate()


@needs_namespaces
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_after_a_signal(number: signal.Signals) -> None:
    with holding_a_link() as child:
        assert len(namespaces(child.pid)) == 2
        child.send_signal(number)
        assert child.wait(30) != 0
    assert namespaces(child.pid) == []


@needs_namespaces
def test_leftovers_of_the_dead_are_removed_and_nothing_else() -> None:
    with holding_a_link() as living, holding_a_link() as killed:
        killed.kill()
        killed.wait(30)
        assert len(namespaces(killed.pid)) == 2
        netns.remove_leftovers()
        assert namespaces(killed.pid) == []
        assert len(namespaces(living.pid)) == 2
        living.terminate()
        living.wait(30)


def test_without_root_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(OutboardError, match=r"need root .* run the same command as root"):
        links.Links().run(["--check"], None)


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/sbin/ip" if name == "ip" else None)
    with pytest.raises(OutboardError, match=r"`tc`.*iproute2"):
        netns.require_root()


def test_transfer_time_leaves_out_what_passes_at_once() -> None:
    speed = Speed(to_far=[8.0, 1.0, 16.0], to_near=[4.0], burst_bytes=1000)  # 1 GB/s and 0.5 GB/s
    assert speed.transfer_ms(2_001_000, 501_000) == pytest.approx(2.0 + 1.0)
    assert speed.transfer_ms(1000, 999) == 0


@pytest.mark.parametrize("text", ["", "fast", "1,,2", "0", "-1", "nan", "1000"])
def test_bad_rates(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no rates"):
        rate_list(text)


@needs_namespaces
def test_rows_of_every_link(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    assert links.Links().run(["--check", "--rates", "1,10"], file) == 0
    found = rows.check(rows.load(file))
    assert [row["ceiling"] for row in found] == [None, 1, 1, 10, 10]
    assert all(row["unit"] == "Gb/s" and row["value"] > 0 for row in found)
    assert namespaces(os.getpid()) == []


@pytest.mark.parametrize("text", ["", "many", "1,,2", "0", "-1", "17", "1.5"])
def test_bad_numbers_of_streams(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no numbers of streams"):
        links.stream_counts(text)


def classes_in_use(link: Link) -> int:
    """Counts the near host's flows that carried more than acknowledgements."""
    words = ["tc", "-s", "class", "show", "dev", netns.DEVICE]
    text = subprocess.run(link.near(words), capture_output=True, text=True, check=True).stdout
    return sum(int(sent) > 1 << 20 for sent in re.findall(r"Sent (\d+) bytes", text))


@needs_namespaces
def test_a_limit_per_flow_is_that_of_each_stream() -> None:
    with Link(0.5, burst_bytes=1 << 20, each_flow=True) as link:
        (one,) = stream(link.near, link.far, netns.FAR_ADDRESS, Load(1, 0.4))
        assert classes_in_use(link) == 1
        (four,) = stream(link.near, link.far, netns.FAR_ADDRESS, Load(1, 0.4, streams=4))
        assert classes_in_use(link) >= 4  # one of them may be a flow of the previous run
    # Without a limit the rates would be far higher.
    assert 0 < one < 1
    assert 0 < four < 4


def test_rows_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def no_daemon(*_: object) -> Iterator[list[str]]:
        yield ["here:1"]

    monkeypatch.setattr("outboard_bench.native_program.require", lambda *_: Path("program"))
    monkeypatch.setattr(streams, "_plain", lambda _, count, __: ([count, 9 * count], [5.0]))
    monkeypatch.setattr(streams, "_ours", lambda _, count, __: ([2.0], [4.0, 4.0 * count]))
    monkeypatch.setattr(streams, "daemon", no_daemon)
    monkeypatch.setattr("outboard.paths.require_native", lambda: SimpleNamespace(daemon=Path()))
    place = streams.Place("road", list, list, "near", "far")
    found = streams.measure(place, (1, 4), 2)
    assert [row.case for row in found] == [
        "road, 1 stream, to the daemon: plain TCP",
        "road, 1 stream, to the daemon: outboard",
        "road, 1 stream, back: plain TCP",
        "road, 1 stream, back: outboard",
        "road, 4 streams, to the daemon: plain TCP",
        "road, 4 streams, to the daemon: outboard",
        "road, 4 streams, back: plain TCP",
        "road, 4 streams, back: outboard",
    ]
    assert [row.value for row in found] == [5, 2, 5, 4, 20, 2, 5, 10]
    assert [row.ceiling for row in found] == [None, 5, None, 5, None, 20, None, 5]
    assert found[5].ratio == pytest.approx(0.1)
