"""Tests `outboard doctor`: the command, the settings that it checks, and the parts of an
installation."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Outboard, clean_environment
from outboard import paths
from outboard.doctor import examine, key, settings, show, versions
from outboard.doctor.finding import Finding, Level, note, ok, problem, some
from outboard.version import version


def levels(found: list[Finding]) -> dict[str, Level]:
    return {f.check: f.level for f in found}


# --- the command ---------------------------------------------------------------------------------


def test_says_that_nothing_is_wrong(
    outboard: Outboard, native: paths.Native, tmp_path: Path
) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), OUTBOARD_MODE="trace")
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        environment.pop(name, None)
    result = outboard("doctor", "--json", "found.json", environment=environment)
    content = json.loads((tmp_path / "found.json").read_text())
    wrong = [f for f in content["findings"] if f["level"] == "problem"]
    # This test does not decide whether this machine's OpenBLAS fits its processor.
    assert [f for f in wrong if f["group"] != "Local BLAS"] == []
    assert content["problems"] == len(wrong)
    assert result.returncode == (1 if wrong else 0), result.stderr
    assert ("nothing is wrong" in result.stdout) == (not wrong)
    groups = {f["group"] for f in content["findings"]}
    assert {"Installation", "Settings", "Local BLAS", "Kernel"} <= groups
    assert {f["text"] for f in content["findings"] if f["check"] == "variables"} == {
        "set: OUTBOARD_MODE, OUTBOARD_NATIVE_DIR"
    }


def test_a_problem_makes_the_status_1(
    outboard: Outboard, native: paths.Native, tmp_path: Path
) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), OUTBOARD_MOED="remote")
    result = outboard("doctor", "--json", "found.json", environment=environment)
    assert result.returncode == 1
    assert "OUTBOARD_MOED" in result.stdout
    assert "did you mean OUTBOARD_MODE?" in result.stdout
    assert re.search(r"^[1-9]\d* problems?$", result.stdout, re.MULTILINE)
    content = json.loads((tmp_path / "found.json").read_text())
    found = next(f for f in content["findings"] if f["check"] == "OUTBOARD_MOED")
    assert found["level"] == "problem"
    assert found["advice"] == "did you mean OUTBOARD_MODE?"


def test_json_that_cannot_be_written(outboard: Outboard, native: paths.Native) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))
    result = outboard("doctor", "--json", "no/such/folder.json", environment=environment)
    assert result.returncode == 1
    assert "cannot write no/such/folder.json" in result.stderr


def test_a_server_variable_of_no_sense_is_a_finding_and_no_usage_error(
    outboard: Outboard, native: paths.Native
) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root), OUTBOARD_SERVER="node7")
    result = outboard("doctor", environment=environment)
    assert result.returncode == 1
    assert "'node7' is not an address" in result.stdout


def test_markup_in_what_was_found_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    show.print_table([("[bold]x[/bold]", [problem("[red]a", "[b]", "[c]")])], sys.stdout)
    text = capsys.readouterr().out
    assert all(part in text for part in ("[bold]x[/bold]", "[red]a", "[b]", "[c]", "1 problem"))


def test_some_names_the_first() -> None:
    assert some(["a", "b", "c"]) == "a, b, c"
    assert some(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_only_problems_count() -> None:
    groups = [("a", [ok("x", ""), note("x", "")]), ("b", [problem("x", "", ""), ok("x", "")])]
    assert show.problems(groups) == 1


def test_a_key_folder_that_lacks_a_file_is_not_used(tmp_path: Path) -> None:
    assert not examine.is_usable(tmp_path)
    for name in ("pool.pem", "client.pem", "client.key"):
        (tmp_path / name).touch()
    assert examine.is_usable(tmp_path)
    assert levels(key.check(tmp_path))["pool.pem"] is Level.PROBLEM


# --- settings ------------------------------------------------------------------------------------


def test_knows_every_variable_that_something_reads() -> None:
    """A variable that the sources read and `doctor` does not know would be reported as a
    mistake."""
    seen = set()
    for folder in ("src", "apps", "python", "tests/conformance", "tests/end_to_end"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".cpp", ".hpp", ".py") and "doctor" not in str(file):
                seen |= set(re.findall(r'"(OUTBOARD_[A-Z_]+)"', file.read_text()))
    seen |= set(re.findall(r"\$\{(OUTBOARD_[A-Z_]+)", (ROOT / "outboard").read_text()))
    assert len(seen) > 8
    assert seen <= set(settings.known())


@pytest.mark.parametrize(
    ("name", "value", "text", "advice"),
    [
        ("OUTBOARD_MODE", "remot", "'remot' is unknown (auto is used", "remote"),
        ("OUTBOARD_NATIVE_PLAN", "patient", "'patient' is unknown (estimate", "as-asked"),
        ("OUTBOARD_RESIDENT", "lots", "is no size, off or auto", "512M"),
        ("OUTBOARD_SERVER", "node7:99999", "has no usable port", "calls are local"),
        ("RCPU_SERVER", "node7", "is not an address", "calls are local"),
        ("OUTBOARD_REPORT", "dir:/no/such", "does not exist", "mkdir -p /no/such"),
        ("OUTBOARD_TRACE", "/no/such/file", "/no/such cannot be written", "elsewhere"),
        ("OUTBOARD_ROUTINES", "dgem", "dgem fits no routine: none may go out", "dgemm"),
        ("OUTBOARD_ROUTINES", "dgemm,dgessv", "dgessv fits no routine", "dgesv"),
        ("OUTBOARD_ROUTINES", "-xgemm", "so it forbids none", "outboard coverage"),
        ("OUTBOARD_SEVRER", "x", "nothing reads it", "OUTBOARD_SERVER"),
        ("OUTBOARD_XYZZY", "x", "nothing reads it", "unset OUTBOARD_XYZZY"),
        ("LD_PRELOAD", "/no/such.so:libm.so.6", "/no/such.so does not exist", "outboard run"),
    ],
)
def test_settings_of_no_sense(name: str, value: str, text: str, advice: str) -> None:
    (found,) = settings.check({name: value})
    assert (found.check, found.level) == (name, Level.PROBLEM)
    assert text in found.text
    assert advice in found.advice


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("OUTBOARD_MODE", mode) for mode in ("auto", "remote", "trace", "off", "")),
        *(("OUTBOARD_RESIDENT", size) for size in ("auto", "off", "0", "512M", "4GiB")),
        ("OUTBOARD_NATIVE_PLAN", "as-asked"),
        ("OUTBOARD_SERVER", "a:1, unix:/x"),
        ("OUTBOARD_REPORT", "stderr"),
        ("OUTBOARD_REPORT", "0"),
        ("OUTBOARD_ROUTINES", "DGEMM, fftw*,-zgemm,fftwf r2c"),
        ("OUTBOARD_PROFILE", "off"),
        ("OUTBOARD_PROFILE", "/"),
        ("OUTBOARD_KEY", "/no/such"),
        ("LD_PRELOAD", "libm.so.6"),
    ],
)
def test_settings_that_make_sense(name: str, value: str) -> None:
    (found,) = settings.check({name: value})
    assert found.level is Level.OK


def test_settings_worth_a_note(tmp_path: Path) -> None:
    (found,) = settings.check({"OUTBOARD_REPORT": "json:report"})
    assert (found.level, found.text) == (Level.NOTE, "'json:report' is taken for stderr")
    (found,) = settings.check({"OUTBOARD_SERVER": "a:1", "RCPU_SERVER": "b:1"})
    assert (found.check, found.level) == ("RCPU_SERVER", Level.NOTE)
    (found,) = settings.check({"OUTBOARD_PROFILE": f"{tmp_path}/none"})
    assert (found.check, found.level) == ("OUTBOARD_PROFILE", Level.NOTE)
    environment = {"OUTBOARD_REPORT": f"dir:{tmp_path}", "OUTBOARD_TRACE": f"{tmp_path}/trace"}
    assert [f.level for f in settings.check(environment)] == [Level.OK]


# --- installation --------------------------------------------------------------------------------


def test_a_folder_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OUTBOARD_NATIVE_DIR", str(tmp_path))
    found, native = versions.check({})
    assert native is None
    assert levels(found) == {"outboard": Level.OK, "library": Level.PROBLEM}
    assert str(tmp_path) in found[-1].text
    assert "unset it" in found[-1].advice


def daemon_that_says(tmp_path: Path, line: str) -> Path:
    program = tmp_path / "outboardd"
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    return program


def test_a_daemon_of_another_version(tmp_path: Path) -> None:
    found = versions.daemon(daemon_that_says(tmp_path, "echo 77.7.7"), {})
    assert found.level is Level.PROBLEM
    assert "77.7.7" in found.text
    assert version() in found.text


def test_a_daemon_that_does_not_run(tmp_path: Path) -> None:
    found = versions.daemon(daemon_that_says(tmp_path, "exit 1"), {})
    assert found.level is Level.PROBLEM
    assert "does not run" in found.text


def test_a_source_newer_than_the_library(tmp_path: Path) -> None:
    native = paths.Native(tmp_path / "build")
    native.preload.parent.mkdir(parents=True)
    native.preload.touch()
    source = tmp_path / "src" / "wire" / "a.cpp"
    source.parent.mkdir(parents=True)
    source.touch()
    os.utime(source, (1, 1))
    assert versions.newer_source(tmp_path, native) is None
    os.utime(native.preload, (0, 0))
    assert versions.newer_source(tmp_path, native) == "src/wire/a.cpp"
