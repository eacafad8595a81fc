"""Programs that tests need. Where one is missing, a developer's machine skips the test and CI fails
it: a check that CI leaves out in silence would look like one that passes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

_LIST = Path(__file__).resolve().parents[2] / "tools" / "apt-packages.txt"
# Debian keeps daemons where only root's PATH leads.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def needs(*programs: str, package: str = "", root: bool = False) -> None:
    """Skips or fails the test that runs, unless all `programs` are there.

    `package`: the Debian package of all of them; by default the one that tools/apt-packages.txt
    has for a program. CI (.ci/run, which sets CI) installs the packages of that list, so there only
    those of other packages may be missing. `root`: skips it for all users but root.

    Before a test and all its fixtures: @pytest.mark.needs(...) with the same arguments.
    """
    listed = _packages()
    for program in programs:
        if shutil.which(program, path=PATH):
            continue
        name = package or listed.get(program, "")
        if not name:
            pytest.skip(f"needs {program}, which ./outboard does not install")
        if name not in listed.values():
            pytest.skip(f"needs {program} (Debian package {name})")
        lacks(program, f"install the Debian package {name}")
    if root and os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        needs(*mark.args, **mark.kwargs)


def lacks(what: str, remedy: str) -> NoReturn:
    """Skips the test that runs, or fails it in CI, which must run it."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing (CI must run this test); {remedy}", pytrace=False)
    pytest.skip(f"needs {what} ({remedy})")


def needs_built(file: Path) -> None:
    """Skips or fails the test that runs, unless the build has made `file`."""
    if not file.exists():
        lacks(file.name, "install what CMake found missing, and build it")


def _packages() -> dict[str, str]:
    """Returns the package of each program in the list; one without a program has its own name."""
    lines = _LIST.read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {
        package if program == "-" else program: package
        for what, package, program in rows
        if what in ("build", "test")  # `outboard test` installs these
    }
