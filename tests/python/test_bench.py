"""Tests benchmarks: the form of rows, compiled ones behind the common interface, and `startup`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import outboard
import outboard_bench
from needs import needs
from outboard import preload
from outboard.build import Build
from outboard.commands import bench
from outboard.errors import OutboardError
from outboard_bench import plot, rows, startup

ROW: dict[str, Any] = {
    "bench": "transport",
    "case": "tcp to device",
    "bytes": 1024,
    "value": 2.5,
    "unit": "GB/s",
    "ceiling": 3,
    "ceiling_name": "socket",
    "ratio": 0.83,
    "min": 2.4,
    "max": 2.6,
    "runs": 7,
}


def test_good_rows() -> None:
    assert rows.check([ROW, {**ROW, "ceiling": None, "ceiling_name": None, "ratio": None}])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "expected a list"),
        ([], "at least one row"),
        ([1], "row 0 is no object"),
        ([{**ROW, "extra": 1}], "row 0 has missing or unknown keys: extra"),
        ([ROW, {k: v for k, v in ROW.items() if k != "runs"}], "row 1 .*: runs"),
        ([{**ROW, "value": "fast"}], "value is 'fast'"),
        ([{**ROW, "bytes": 1.5}], "bytes is 1.5"),
        ([{**ROW, "runs": True}], "runs is True"),
        ([{**ROW, "value": None}], "value is None"),
    ],
)
def test_bad_rows(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rows.check(value)


def test_plot_draws_figure_and_ceiling_of_every_case_with_sizes(tmp_path: Path) -> None:
    several = [{**ROW, "case": case, "bytes": 1 << k} for case in ("to", "from") for k in (10, 20)]
    file = tmp_path / "rows.svg"
    plot.draw([*several, {**ROW, "case": "single"}], file)
    drawn = file.read_text()
    for text in ("to", "from", "socket", "outboard", "1 KiB", "1 MiB", "GB/s"):
        assert f">{text}</text>" in drawn
    assert ">single</text>" not in drawn


def test_plot_says_when_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(OutboardError, match="nothing to plot"):
        plot.draw([ROW], tmp_path / "rows.svg")


def program(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.write_text(f"#!{sys.executable}\nimport json, sys\n{body}")
    file.chmod(0o755)


def test_compiled_benchmarks_are_found_and_checked(tmp_path: Path) -> None:
    write = "open(sys.argv[2], 'w').write(json.dumps({}))\nassert sys.argv[1] == '--json'\n"
    program(tmp_path, "bench_good", write.format([ROW]) + "assert sys.argv[3:] == ['-n', '3']")
    program(tmp_path, "bench_bad", write.format([{}]))
    program(tmp_path, "bench_fails", "sys.exit(9)")
    lines = "".join(f"add_executable(bench_{name} x.cpp)\n" for name in ("good", "bad"))
    (tmp_path / "CMakeLists.txt").write_text(lines + "add_executable(other x.cpp)\n")
    (tmp_path / "more.cmake").write_text("  add_executable(bench_fails x.cpp)\n")
    (tmp_path / "last.cmake").write_text("add_executable(bench_unbuilt x.cpp)\n")
    found = outboard_bench.available(tmp_path, tmp_path)
    assert list(found) == ["bad", "fails", "good", "unbuilt", *outboard_bench.written_here()]
    assert {"fft", "links", "paper", "products", "startup"} <= found.keys()
    assert found["good"].run(["-n", "3"], tmp_path / "kept.json") == 0
    assert json.loads((tmp_path / "kept.json").read_text()) == [ROW]
    with pytest.raises(OutboardError, match="rows of the wrong form"):
        found["bad"].run([], None)
    assert found["fails"].run([], None) == 9
    with pytest.raises(OutboardError, match="was not built"):
        found["unbuilt"].run([], None)


def test_list_and_unknown_names_build_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_arguments: object, **_options: object) -> None:
        raise AssertionError("it builds")

    monkeypatch.setattr(Build, "run", forbidden)
    listed = CliRunner().invoke(bench.command, ["list"])
    assert listed.exit_code == 0, listed.output
    names = [line.split()[0] for line in listed.output.splitlines()]
    assert {"entry_overhead", "small_calls", "startup", "transport"} <= set(names)
    unknown = CliRunner().invoke(bench.command, ["nonsense"])
    assert unknown.exit_code == 2
    assert "there is no 'nonsense'" in unknown.output


def test_startup_measures_two_rows(empty_library: Path, tmp_path: Path) -> None:
    measured = startup.measure(empty_library, runs=3)
    rows.write(measured, tmp_path / "rows.json")
    checked = rows.check(rows.load(tmp_path / "rows.json"))
    assert [row["case"] for row in checked] == ["preloaded", "added"]
    assert all(row["runs"] == 3 and row["min"] <= row["value"] <= row["max"] for row in checked)


def test_startup_of_a_library_that_kills(tmp_path: Path) -> None:
    with pytest.raises(OutboardError, match="failed"):
        startup.measure(killing_library(tmp_path), runs=1)


def killing_library(tmp_path: Path) -> Path:
    import subprocess

    needs("cc", package="g++")
    source = tmp_path / "kill.c"
    source.write_text(
        "#include <unistd.h>\n__attribute__((constructor)) static void f(void) { _exit(3); }\n"
    )
    library = tmp_path / preload.PRELOAD_NAME
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def test_benchmarks_are_found_without_the_packages_that_only_some_need() -> None:
    missing = ("cryptography", "msgspec", "urllib3", "uvicorn", "uvloop", "matplotlib", "numpy")
    program = f"import sys; sys.modules.update(dict.fromkeys({missing})); import outboard_bench"
    folders = [str(Path(module.__path__[0]).parent) for module in (outboard_bench, outboard)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
