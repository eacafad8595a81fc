"""A program that is missing skips a test on a developer's machine, and fails it in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import needs as needed
from conftest import ROOT, clean_environment
from needs import needs, needs_built
from outboard_testing.tally import from_junit


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needed, "PATH", "/nowhere")
    monkeypatch.delenv("CI", raising=False)


def test_what_the_launcher_installs_skips_here_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for program, package in (("promtool", "prometheus"), ("sge_qmaster", "gridengine-master")):
        given = {"package": package} if program == "sge_qmaster" else {}
        with pytest.raises(pytest.skip.Exception, match=f"needs {program} .*{package}"):
            needs(program, **given)
        monkeypatch.setenv("CI", "true")
        with pytest.raises(pytest.fail.Exception, match=f"{program} is missing .*{package}"):
            needs(program, **given)
        monkeypatch.delenv("CI")


def test_what_the_launcher_does_not_install_is_skipped_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.skip.Exception, match="does not install"):
        needs("kubectl")
    with pytest.raises(pytest.skip.Exception, match="Debian package iproute3"):
        needs("ip", package="iproute3")


def test_what_is_not_built_skips_here_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needs_built(tmp_path)
    with pytest.raises(pytest.skip.Exception, match="needs library "):
        needs_built(tmp_path / "library")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="library is missing "):
        needs_built(tmp_path / "library")


def test_root_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    needs(root=True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(pytest.skip.Exception, match="needs root"):
        needs(root=True)


MARKED = """
import pytest

@pytest.fixture(scope="module")
def server():
    raise AssertionError("the fixture of a test whose program is missing ran")

@pytest.mark.needs("no-such-program", package="prometheus")
def test_it(server): pass

@pytest.mark.needs("sh", "env")
def test_there(): pass
"""


@pytest.mark.parametrize(
    ("variables", "counts"),
    [({}, "1 passed, 0 failed, 1 skipped"), ({"CI": "true"}, "1 passed, 1 failed, 0 skipped")],
    ids=["here", "ci"],
)
def test_the_mark_comes_before_all_fixtures(
    tmp_path: Path, variables: dict[str, str], counts: str
) -> None:
    (tmp_path / "test_marked.py").write_text(MARKED)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "needs", "-p", "no:cacheprovider"]
    words += ["-c", "/dev/null", f"--rootdir={tmp_path}", f"--junitxml={tmp_path}/junit.xml"]
    environment = clean_environment(**variables)
    environment["PYTHONPATH"] += f":{ROOT}/tests/python"
    done = subprocess.run(
        [*words, str(tmp_path)], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert "the fixture of a test" not in done.stdout
    tally = from_junit(tmp_path / "junit.xml", done.returncode, "pytest")
    assert tally.line() == counts, done.stdout


def test_ci_says_that_it_is_ci(tmp_path: Path) -> None:
    """Otherwise each missing package would leave tests out in silence."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    launcher = tmp_path / "outboard"
    launcher.write_text('#!/bin/sh\necho "$CI $*"\n')
    launcher.chmod(0o755)
    environment = {"PATH": os.environ["PATH"]}
    shown = subprocess.run(
        [tmp_path / ".ci" / "run", "--fast"], env=environment, capture_output=True, text=True
    )
    assert shown.stdout == "true test --fast\n", shown.stderr
