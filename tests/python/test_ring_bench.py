"""Tests `outboard bench ring`: its options, its rows, its picture; and, as root, the star of
hosts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from outboard.errors import OutboardError
from outboard_bench import netns, ring, rows
from outboard_bench.link import Load, Wrap, stream
from outboard_bench.netns import Star, inside
from outboard_bench.ring_measure import Factorization, Machine, Way

needs_namespaces = pytest.mark.needs("ip", "tc", package="iproute2", root=True)

PROBLEM = Factorization(Machine(1, 50, 600), "dpotrf", 3)
WAYS = [
    Way("relay", [40.0, 60.0, 50.0], 3, 0, 45.0),
    Way("ring", [20.0, 30.0, 25.0], 3, 1000, 22.5),
    Way("auto", [26.0, 26.0, 26.0], 2, 900),
]


def test_rows_of_a_call_on_several_devices() -> None:
    found = ring.rows_of(PROBLEM, WAYS)
    relay, direct, auto, gain = found
    assert relay.case == "dpotrf n=600 50 GF/s 1 Gb/s g=3 relay"
    assert (relay.value, relay.min, relay.max, relay.ceiling) == (50, 40, 60, 45)
    assert direct.ratio == pytest.approx(0.9)
    assert auto.case.endswith(" g=3 auto (ring of 2)")
    assert (auto.ceiling, auto.ceiling_name) == (25, "ring")
    assert auto.ratio == pytest.approx(25 / 26)
    assert (gain.value, gain.ceiling, gain.unit, gain.runs) == (2, 2, "times", 3)
    assert rows.check([asdict(row) for row in found])
    # the picture shows times
    drawn = [match["way"] for row in found if (match := ring._CASE.fullmatch(row.case))]
    assert drawn == ["relay", "ring", "auto (ring of 2)"]


def test_rows_of_a_call_on_one_device() -> None:
    (row,) = ring.rows_of(PROBLEM, [Way("alone", [3.0], 1, 0, 2.0)])
    assert row.case.endswith(" alone")
    assert (row.value, row.ceiling) == (3, 2)


@pytest.mark.parametrize(
    ("way", "taken"),
    [(Way("auto"), "alone"), (Way("auto", [], 2), "relay"), (Way("auto", [], 2, 1), "ring")],
)
def test_which_route_was_taken(way: Way, taken: str) -> None:
    assert way.taken == taken


def test_blocks_are_those_of_calls_that_are_cut_anyway() -> None:
    assert Factorization(Machine(1, 50, 4096), "dgeqrf", 4).block == 256
    assert PROBLEM.block == 100
    assert PROBLEM.bytes_to == 8 * 600 * 601 / 2


def test_options() -> None:
    options = ring.parse(["--machine", "2.5:100:512", "--devices", "2,4", "--routines", "dgeqrf"])
    assert options.machines == [Machine(2.5, 100, 512)]
    assert options.devices == (2, 4)
    assert options.routines == ("dgeqrf",)
    assert len(ring.parse([]).machines) == 2
    assert ring.parse(["--check"]).runs == 1


@pytest.mark.parametrize(
    "words",
    [["--devices", "0"], ["--machine", "1:2"], ["--machine", "0:1:8"], ["--routines", "dgetrf"]],
)
def test_what_is_refused(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ring.parse(words)
    assert words[1] in capsys.readouterr().err


def test_without_root_a_check_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert ring.Ring().run(["--check"], None) == rows.SKIPPED
    assert "skipped: emulated links need root" in capsys.readouterr().err
    with pytest.raises(OutboardError, match="need root"):
        ring.Ring().run([], None)


def test_the_picture_has_both_routes_and_the_model(tmp_path: Path) -> None:
    alone = Factorization(PROBLEM.machine, "dpotrf", 1)
    found = ring.rows_of(alone, [Way("alone", [60.0], 1, 0, 50.0)]) + ring.rows_of(PROBLEM, WAYS)
    file = tmp_path / "ring.svg"
    ring.Ring().draw([asdict(row) for row in found], file)
    drawn = file.read_text()
    for text in ("dpotrf n=600 50 GF/s 1 Gb/s", "relay", "ring", "auto", "ring, step model"):
        assert f">{text}</text>" in drawn
    with pytest.raises(OutboardError, match="nothing to plot"):
        ring.Ring().draw([], file)


@needs_namespaces
def test_each_host_of_a_star_has_a_link_of_its_own() -> None:
    def on(name: str) -> Wrap:
        return lambda words: inside(name, words)

    with Star(9000, 2) as star:
        star.limit(0.5, 80 << 10)
        one, other = star.hosts
        # one way to a host from the client, and one from the other host
        for source, sink in ((star.client, one), (one, other), (other, star.client)):
            (rate,) = stream(on(source), on(sink), star.address(sink), Load(1, 0.2))
            assert 0 < rate < 1  # without a limit the rate would be far higher
        assert len({star.address(name) for name in (star.client, one, other)}) == 3
        names = star.names
    assert not any((Path("/run/netns") / name).exists() for name in names)


@needs_namespaces
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_a_star(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(error), Star(9000, 1) as star:
        raise error
    assert not any((Path("/run/netns") / name).exists() for name in star.names)

    def fail(*_: object) -> None:
        raise OutboardError("no bridge")

    monkeypatch.setattr(netns.Star, "_address", fail)
    broken = Star(9000, 1)
    with pytest.raises(OutboardError, match="no bridge"), broken:
        pass
    assert not any((Path("/run/netns") / name).exists() for name in broken.names)
