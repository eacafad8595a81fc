"""Tests `outboard bench devices`: its options, its lines, its picture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from outboard.errors import OutboardError
from outboard_bench import devices

LINE = "qr,100,3,32,chosen,1000,990,0.5,1.0,2.0,3.0"


def test_a_line_is_a_case() -> None:
    row = devices.row_of(LINE, 70.0, 20.8)
    assert row.case == "qr n=100 70 GF/s 20.8 Gb/s g=3 nb=32 chosen"
    assert (row.bytes, row.value, row.ceiling, row.min, row.max) == (990, 2000, 500, 1000, 3000)
    assert row.ratio == pytest.approx(0.25)


def test_options() -> None:
    options = devices.parse(["--machine", "1:2:300", "--devices", "1,4", "--routines", "qr"])
    assert options.machines == [(1.0, 2.0, 300)]
    assert options.devices == (1, 4)
    assert options.routines == ("qr",)
    assert len(devices.parse([]).machines) == 3


@pytest.mark.parametrize("words", [["--devices", "0"], ["--machine", "1:2"]])
def test_what_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        devices.parse(words)
    assert words[1] in capsys.readouterr().err


def test_the_picture_has_what_was_chosen(tmp_path: Path) -> None:
    lines = [LINE, LINE.replace("chosen", "tried"), LINE.replace("qr,100,3", "qr,100,4")]
    found = [asdict(devices.row_of(line, 70.0, 20.8)) for line in lines]
    file = tmp_path / "devices.svg"
    devices.Devices().draw(found, file)
    assert "qr n=100 70 GF/s 20.8 Gb/s" in file.read_text()
    with pytest.raises(OutboardError, match="nothing to plot"):
        devices.Devices().draw(found[1:2], file)
