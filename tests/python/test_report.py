"""Tests the report: tables that fit, JSON with every counter, and `outboard report`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from blocks import block
from conftest import Outboard
from outboard import counters
from outboard.report import Report, format_bytes, format_time

ROWS = {
    "dgemm": {
        "calls": 12,
        "remote": 10,
        "fell_back": 1,
        "bytes_to": 3 << 20,
        "bytes_from": 512,
        "to_server_ns": 1_500_000,
        "compute_ns": 2_000_000_000,
        "from_server_ns": 900,
        "remote_ns": 2_100_000_000,
        "local_ns": 100_000_000,
        "local_calls": 2,
        "local_megaflop": 200,
        "remote_megaflop": 3000,
        "bytes_kept": 4096,
    },
    "fftw c2c": {"calls": 4, "remote": 4, "plan_ns": 7_000_000},
}


def report(**header: str) -> Report:
    return Report([counters.parse(block(ROWS, **header))], [])  # type: ignore[arg-type]


def printed(value: Report, width: int) -> str:
    stream = io.StringIO()
    value.print(stream, width=width)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (3 << 20, "3 MiB"),
        (1 << 50, "1.02e+03 TiB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0"),
        (900, "900 ns"),
        (1_500_000, "1.5 ms"),
        (999_999, "1 ms"),
        (2.1e9, "2.1 s"),
        (1.2345e12, "1234 s"),
    ],
)
def test_times(ns: float | None, text: str) -> None:
    assert format_time(ns) == text


def test_one_table_where_it_fits() -> None:
    text = printed(report(server="h:1", mode="remote"), 200)
    assert text.startswith("outboard: 1 process (prog), mode remote, server h:1\n")
    assert text.count("routine") == 1
    (row,) = [line for line in text.splitlines() if line.strip().startswith("dgemm")]
    assert row.split() == (
        "dgemm 12 10 1 3 MiB 4 KiB 512 B 1.5 ms 0 2 s 900 ns 2.1 s 100 ms 1.5 s".split()
    )
    (fft,) = [line for line in text.splitlines() if line.strip().startswith("fftw c2c")]
    assert fft.split()[-2:] == ["-", "-"], "no local run was timed"


def test_two_tables_on_a_narrow_terminal() -> None:
    text = printed(report(), 80)
    assert text.count("routine") == 2
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "1.5 ms" in text
    assert "3 MiB" in text


def total_of(value: Report) -> list[str]:
    (row,) = [line for line in printed(value, 200).splitlines() if line.startswith("total")]
    return row.split()


def test_total_adds_estimates_only_where_all_are_known() -> None:
    assert total_of(report())[:4] == ["total", "16", "14", "1"]
    assert total_of(report())[-1] == "-", "nothing is known of fftw c2c"
    whole = {"dgemm": ROWS["dgemm"], "zgemm": ROWS["dgemm"], "dsyrk": {"calls": 1}}
    assert total_of(Report([counters.parse(block(whole))], []))[-2:] == ["3", "s"]


def test_rates_known_from_elsewhere() -> None:
    rows = {"dgemm": {"calls": 1, "remote": 1, "remote_megaflop": 3000}}
    value = Report([counters.parse(block(rows))], [], rates={"dgemm": 500_000.0})
    assert value.to_json()["routines"][0]["local_would_take_ns"] == 1_500_000_000
    assert report().local_rates() == {"dgemm": 500_000.0}


def test_trace_mode_shows_what_could_go() -> None:
    counted = counters.parse(block({"dgemm": {"calls": 5, "eligible": 3}}, mode="trace"))
    text = printed(Report([counted], []), 200)
    assert "could" in text
    assert text.split("dgemm", 1)[1].split()[:2] == ["5", "3"]


def test_checks_have_columns_where_there_were_any() -> None:
    assert "wrong" not in printed(report(), 250)
    rows = {"dgemm": {"calls": 9, "verified": 4, "mismatched": 3, "unchecked": 2}}
    text = printed(Report([counters.parse(block(rows))], []), 250)
    assert all(word in text for word in ("verified", "wrong", "unchecked"))
    cells = text.split("dgemm", 1)[1].split()
    assert cells[6:9] == ["4", "3", "2"]


def test_decisions_have_columns_where_there_were_any() -> None:
    assert "wrongly" not in printed(report(), 250)
    decided = {"calls": 9, "decided": 8, "tried": 2, "mispredicted": 1, "lost_ns": 2_500_000}
    decided["changed"] = 3
    text = printed(Report([counters.parse(block({"dgemm": decided}))], []), 250)
    assert all(word in text for word in ("known", "tried", "wrongly", "lost", "sides"))
    assert text.split("dgemm", 1)[1].split()[6:12] == ["8", "2", "1", "2.5", "ms", "3"]
    once = {"dgemm": {"calls": 1, "lost_ns": 5}}
    assert "wrongly" in printed(Report([counters.parse(block(once))], []), 250)


def test_the_reason_is_told_where_nothing_went_out() -> None:
    header = {"reason": "it cannot gain", "spent_ns": 2_000_000_000, "cost_ns": 1_500_000}
    one = counters.parse(block({"dgemm": {"calls": 2}}, **header))  # type: ignore[arg-type]
    stayed = [one, one]
    text = printed(Report(stayed, []), 200)
    assert text.count("outboard: nothing went out: it cannot gain\n") == 1
    assert "outboard: deciding cost 3 ms of 4 s in calls\n" in text
    gone = counters.parse(block({"dgemm": {"calls": 2, "remote": 1}}))
    assert "nothing went out" not in printed(Report([*stayed, gone], []), 200)
    assert "deciding cost" not in printed(report(), 200)


def test_several_devices_have_columns_where_there_were_any() -> None:
    assert "several" not in printed(report(), 250)
    several = {"calls": 9, "remote": 8, "several": 4, "devices": 10}
    text = printed(Report([counters.parse(block({"dgemm": several}))], []), 250)
    assert "on several" in text
    assert text.split("dgemm", 1)[1].split()[6:8] == ["4", "2.5"]


def test_notices_and_notes_are_told_once() -> None:
    lost = [counters.parse(block({}, notice="server h:1 was lost")) for _ in range(3)]
    text = printed(Report(lost, ["report.1.bin: not a report"]), 200)
    assert "outboard: 3 processes (prog), mode auto, no server\n" in text
    assert text.count("server h:1 was lost") == 1
    assert "report.1.bin: not a report" in text


def test_markup_in_a_program_name_is_text() -> None:
    assert "([red]x)" in printed(report(program="[red]x"), 200)


def test_json_has_every_counter(tmp_path: Path, outboard: Outboard) -> None:
    (tmp_path / "report.9.bin").write_bytes(block(ROWS, pid=9, server="h:1", mode="remote"))
    result = outboard("report", "--json", "out.json", str(tmp_path))
    assert result.returncode == 0, result.stderr
    value = json.loads((tmp_path / "out.json").read_text())
    assert value["version"] == 1
    assert value["processes"][0]["pid"] == 9
    dgemm = value["routines"][0]
    assert dgemm.pop("name") == "dgemm"
    assert dgemm.pop("local_would_take_ns") == 1_500_000_000
    assert dgemm == {name: ROWS["dgemm"].get(name, 0) for name in counters.COUNTERS}
    assert value["routines"][1]["local_would_take_ns"] is None


def test_report_command_prints_to_stdout(tmp_path: Path, outboard: Outboard) -> None:
    (tmp_path / "report.9.bin").write_bytes(block(ROWS))
    result = outboard("report", str(tmp_path))
    assert "dgemm" in result.stdout
    assert outboard("report", "/nonexistent").returncode == 2
