"""Tests counter files: the layout against the C++ header, merging, and files that are not valid."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from blocks import COUNTER_NAMES, HEADER_BYTES, ROW_BYTES, block
from conftest import ROOT
from needs import needs
from outboard import counters

# Writes a block through the header. Every counter of every second row has a value of its own.
WRITER = """
#include <cstdio>
#include <cstring>
#include <memory>
#include "offload/report_block.hpp"
using namespace ob::offload;
int main() {
  auto block = std::make_unique<ReportBlock>();
  block->magic = kReportMagic;
  block->version = kReportVersion;
  block->rows = kReportRows;
  block->pid = 4711;
  block->started_unix_ns = 1700000000000000001ULL;
  std::strcpy(block->program, "python3");
  std::strcpy(block->server, "127.0.0.1:7770");
  std::strcpy(block->mode, "remote");
  std::strcpy(block->notice, "server lost");
  std::strcpy(block->reason, "own cores");
  block->spent_ns = 17;
  block->cost_ns = 5;
  for (unsigned i = 0; i < kReportRows; i += 2) {
    ReportRow& row = block->row[i];
    std::snprintf(row.name, sizeof row.name, "routine%u", i);
    unsigned long long value = 1000ULL * i;
#define SET(name) row.name = ++value
    @SETTERS@
  }
  return std::fwrite(block.get(), sizeof *block, 1, stdout) == 1 ? 0 : 1;
}
"""


def test_layout_is_that_of_the_header(tmp_path: Path) -> None:
    needs("c++", package="g++")
    source = tmp_path / "writer.cpp"
    setters = " ".join(f"SET({name});" for name in COUNTER_NAMES)
    source.write_text(WRITER.replace("@SETTERS@", setters))
    program = tmp_path / "writer"
    options = ["-std=c++20", "-I", str(ROOT / "src"), "-o", str(program), str(source)]
    subprocess.run(["c++", *options], check=True)
    written = subprocess.run([program], capture_output=True, check=True).stdout

    process = counters.parse(written)
    assert (process.pid, process.started_unix_ns) == (4711, 1700000000000000001)
    assert (process.program, process.mode) == ("python3", "remote")
    assert (process.server, process.notice) == ("127.0.0.1:7770", "server lost")
    assert (process.reason, process.spent_ns, process.cost_ns) == ("own cores", 17, 5)
    assert [r.name for r in process.routines] == [f"routine{i}" for i in range(0, 1024, 2)]
    for index, routine in enumerate(process.routines):
        for place, name in enumerate(counters.COUNTERS):
            assert getattr(routine, name) == 2000 * index + place + 1, (routine.name, name)
    assert counters.COUNTERS == tuple(COUNTER_NAMES)
    assert (counters.HEADER.size, counters.ROW.size) == (HEADER_BYTES, ROW_BYTES)


def test_merging_adds_per_routine() -> None:
    first = counters.parse(block({"dgemm": {"calls": 2, "remote": 1}, "dsyrk": {"calls": 1}}))
    second = counters.parse(block({"dgemm": {"calls": 3, "bytes_to": 7, "local_ns": 5}}))
    merged = {routine.name: routine for routine in counters.merged([first, second])}
    assert set(merged) == {"dgemm", "dsyrk"}
    assert merged["dgemm"] == counters.Routine("dgemm", calls=5, remote=1, bytes_to=7, local_ns=5)
    assert first.routines[0].calls == 2, "merging must not change what it read"


def test_busiest_routine_comes_first() -> None:
    rows = {"a": {"calls": 9}, "b": {"remote_ns": 5}, "c": {"local_ns": 6}}
    merged = counters.merged([counters.parse(block(rows))])
    assert [routine.name for routine in merged] == ["c", "b", "a"]


def test_observed_local_rate() -> None:
    # 200 Mflop took 0.1 s.
    known = counters.Routine("dgemm", local_ns=100_000_000, local_megaflop=200)
    assert known.local_ns_per_megaflop() == pytest.approx(1e5 * 5)
    assert counters.Routine("dgemm", local_ns=1).local_ns_per_megaflop() is None
    assert counters.Routine("dgemm", local_megaflop=1).local_ns_per_megaflop() is None


def test_full_names_need_no_zero() -> None:
    parsed = counters.parse(block({"x" * 32: {"calls": 1}}, program="y" * 64))
    assert parsed.routines[0].name == "x" * 32
    assert parsed.program == "y" * 64


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a report"),
        (b"\0" * 200_000, "not a report"),
        (block({})[:900], "cut short"),
        (block({})[:8] + b"\x02" + block({})[9:], "version 2"),
        (block({})[:12] + b"\xff\xff\xff\xff" + block({})[16:], "cut short"),
    ],
)
def test_what_is_no_block(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        counters.parse(data)


def test_folder_with_good_and_bad_files(tmp_path: Path) -> None:
    (tmp_path / "report.20.bin").write_bytes(block({"a": {"calls": 1}}, pid=20, started=2))
    (tmp_path / "report.30.bin").write_bytes(block({"a": {"calls": 2}}, pid=30, started=1))
    (tmp_path / "report.40.bin").write_bytes(b"junk")
    (tmp_path / "other.bin").write_bytes(b"not ours")
    processes, notes = counters.read_folder(tmp_path)
    assert [process.pid for process in processes] == [30, 20]
    assert len(notes) == 1
    assert notes[0].startswith("report.40.bin: not a report")
