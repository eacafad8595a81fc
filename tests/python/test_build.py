"""Tests building. A small CMake project stands in for ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from needs import needs
from outboard.build import Build
from outboard.errors import OutboardError

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(outboard C)
option(OUTBOARD_TESTS "" ON)
option(OUTBOARD_BENCH "" ON)
find_file(LATER later.txt PATHS ${CMAKE_SOURCE_DIR} NO_DEFAULT_PATH)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_executable(good good.c)
if(OUTBOARD_TESTS)
  add_executable(tested good.c)
endif()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    needs("cmake", "ninja")
    needs("cc", package="g++")
    monkeypatch.delenv("OUTBOARD_BUILD_DIR", raising=False)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "good.c").write_text("int main(void) { return 0; }\n")
    return tmp_path


def test_parts_stay_switched_on(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = Build(project)
    work.run()
    folder = project / "build" / "release"
    assert (folder / "bin" / "good").exists()
    assert not (folder / "bin" / "tested").exists()
    assert work.cache()["OUTBOARD_TESTS"] == "OFF"
    assert work.cache()["LATER"] == "LATER-NOTFOUND"
    (project / "later.txt").touch()
    assert "outboard: building 100 %" in capsys.readouterr().err
    work.run(parts=["TESTS"])
    assert (folder / "bin" / "tested").exists()
    assert work.cache()["OUTBOARD_BENCH"] == "OFF"
    assert work.cache()["LATER"].endswith("/later.txt"), "installed since: it must be looked for"
    capsys.readouterr()
    work.run()
    assert work.cache()["OUTBOARD_TESTS"] == "ON"
    assert capsys.readouterr().err == "", "nothing was to do, so nothing is said"


def test_preset_is_used(project: Path) -> None:
    preset = {
        "name": "release",
        "generator": "Ninja",
        "binaryDir": "${sourceDir}/build/release",
        "cacheVariables": {"FROM_PRESET": "yes"},
    }
    presets = {"version": 3, "configurePresets": [preset]}
    (project / "CMakePresets.json").write_text(json.dumps(presets))
    work = Build(project)
    work.run(["good"])
    assert work.cache()["FROM_PRESET"] == "yes"
    assert work.cache()["OUTBOARD_TESTS"] == "OFF"


def test_failure_shows_the_compiler(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "good.c").write_text("int main(void) { return no_such_name; }\n")
    work = Build(project)
    with pytest.raises(OutboardError, match="building failed"):
        work.run()
    shown = capsys.readouterr().err
    assert "no_such_name" in shown
    assert "no_such_name" in work.log.read_text()


def test_failing_configuration_is_tried_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (project / "CMakeLists.txt").read_text()
    (project / "CMakeLists.txt").write_text(good + "message(FATAL_ERROR unlucky)\n")
    with pytest.raises(OutboardError, match="configuring failed"):
        Build(project).run()
    assert "unlucky" in capsys.readouterr().err
    (project / "CMakeLists.txt").write_text(good)
    Build(project).run()
