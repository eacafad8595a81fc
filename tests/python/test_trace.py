"""Tests the joining of traces: the result is JSON for pieces in any state."""

from __future__ import annotations

import json
import os
from pathlib import Path

from conftest import Outboard
from outboard import trace


def line(pid: int, name: str) -> str:
    return json.dumps({"name": name, "ph": "X", "ts": 1.5, "dur": 2, "pid": pid, "tid": 1}) + ",\n"


def test_pieces_become_one_object(tmp_path: Path) -> None:
    stem = tmp_path / "trace"
    (tmp_path / "trace.7").write_text("[\n" + line(7, "dgemm") + line(7, 'quote"d'))
    (tmp_path / "trace.10").write_text("[\n" + line(10, "fft"))
    (tmp_path / "trace.json").write_text("not a piece")
    summary = trace.merge(stem, tmp_path / "out.json")
    value = json.loads((tmp_path / "out.json").read_text())
    assert [(e["pid"], e["name"]) for e in value["traceEvents"]] == [
        (7, "dgemm"),
        (7, 'quote"d'),
        (10, "fft"),
    ]
    assert value["displayTimeUnit"] == "ms"
    assert (summary.files, summary.events, summary.dropped) == (2, 3, 0)


def test_cut_line_of_a_killed_process_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.1").write_text("[\n" + line(1, "whole") + line(1, "cut")[:20])
    (tmp_path / "t.2").write_text("[\n")
    (tmp_path / "t.3").write_text("")
    (tmp_path / "t.4").write_bytes(b'[\n{"name":"\xff"},\n17,\n')
    summary = trace.merge(tmp_path / "t", tmp_path / "out.json")
    names = [e["name"] for e in json.loads((tmp_path / "out.json").read_text())["traceEvents"]]
    assert names == ["whole", "\ufffd"]
    assert summary.dropped == 2


def test_no_pieces_still_give_valid_json(tmp_path: Path) -> None:
    trace.merge(tmp_path / "t", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["traceEvents"] == []


def test_mode_of_the_file_is_the_users(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        trace.merge(tmp_path / "t", tmp_path / "out.json")
    finally:
        os.umask(before)
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["out.json"], "temporary file left"


def test_trace_command(tmp_path: Path, outboard: Outboard) -> None:
    (tmp_path / "t.1").write_text("[\n" + line(1, "a"))
    assert outboard("trace", "t").returncode == 0
    assert len(json.loads((tmp_path / "t.json").read_text())["traceEvents"]) == 1
    nothing = outboard("trace", "none")
    assert nothing.returncode == 1
    assert "there is no none.<pid>" in nothing.stderr
