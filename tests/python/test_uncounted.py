"""Tests the sentence about a command or a folder without counters."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from blocks import block
from conftest import Outboard
from needs import needs
from outboard import counters, uncounted
from outboard.report import Report

BEGIN = "no counters were left, because "
NO_CALL = BEGIN + "the library saw no call of BLAS, LAPACK or FFTW in the command"


def program(file: Path, *types: int) -> Path:
    """Writes the headers of an ELF program with program headers of these types."""
    head = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + struct.pack("<HHI", 2, 62, 1)
    head += struct.pack("<QQQIHHH", 0, 64, 0, 0, 64, 56, len(types)) + bytes(6)
    file.write_bytes(head + b"".join(struct.pack("<I", kind) + bytes(52) for kind in types))
    file.chmod(0o755)
    return file


def test_a_usual_program_made_no_call(tmp_path: Path) -> None:
    usual = program(tmp_path / "usual", 6, 3, 1, 2)
    assert uncounted.reason([str(usual)], "auto", 0) == NO_CALL
    ended = uncounted.reason([str(usual), "x"], "remote", 139)
    assert ended == NO_CALL + ", and it ended with status 139"
    assert uncounted.reason(["no-such-program"], "auto", 0) == NO_CALL


@pytest.mark.parametrize("types", [(1, 1), (1, 2)])  # the second one is position independent
def test_a_static_program_loads_no_library(tmp_path: Path, types: tuple[int, ...]) -> None:
    static = program(tmp_path / "static", *types)
    words = f"{static} is linked statically, so no library can be loaded into it"
    assert uncounted.reason([str(static)], "auto", 0) == BEGIN + words
    script = tmp_path / "script"
    script.write_text(f"#! {static} -x\n")
    script.chmod(0o755)
    assert uncounted.reason([str(script)], "auto", 3) == BEGIN + words


def test_a_real_static_program(tmp_path: Path) -> None:
    needs("cc", package="g++")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    command = ["cc", "-static", tmp_path / "main.c", "-o", tmp_path / "static"]
    subprocess.run(command, check=True)
    assert "linked statically" in uncounted.reason([str(tmp_path / "static")], "auto", 0)


def test_a_program_with_other_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = program(tmp_path / "other", 3)
    file.chmod(0o4755)
    assert uncounted.reason([str(file)], "auto", 0) == NO_CALL, "it belongs to this user"
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    words = f"{file} gets other rights when it starts, and the loader then ignores LD_PRELOAD"
    assert uncounted.reason([str(file)], "auto", 0) == BEGIN + words


def test_mode_off() -> None:
    assert uncounted.reason(["true"], "off", 0) == BEGIN + "mode off counts no calls"
    off = Report([counters.parse(block({}, mode="off"))], [])  # type: ignore[arg-type]
    assert off.headlines()[1:] == ["outboard: mode off counts no calls"]


def test_processes_without_a_counted_call() -> None:
    report = Report([counters.parse(block({}, mode="auto"))], [])  # type: ignore[arg-type]
    assert report.headlines()[1:] == ["outboard: no call of BLAS, LAPACK or FFTW was counted"]


def test_folders(outboard: Outboard, tmp_path: Path) -> None:
    folder = tmp_path / "counters"
    folder.mkdir()
    empty = outboard("report", "counters")
    assert empty.stdout == (
        "outboard: no counters are in counters, because no program with "
        "OUTBOARD_REPORT=dir:counters has made a call of BLAS, LAPACK or FFTW that the library "
        "sees\n"
    )
    (folder / "report.1.bin").write_text("x")
    unreadable = outboard("report", "counters").stdout.splitlines()
    assert unreadable[0].startswith("outboard: report.1.bin: not a report")
    assert unreadable[1:] == ["outboard: no counters could be read"]
