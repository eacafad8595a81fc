"""`pip install .` builds one target, and then installs a component of CMake."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT
from outboard import paths

pytestmark = pytest.mark.end_to_end


def test_what_is_installed_is_built_before(native: paths.Native, tmp_path: Path) -> None:
    build = native.root
    assert (build / "build.ninja").is_file(), "outboard build uses Ninja"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    components, targets = settings["install"]["components"], settings["build"]["targets"]
    for component in components:
        subprocess.run(
            ["cmake", "--install", build, "--prefix", tmp_path, "--component", component],
            check=True,
            capture_output=True,
        )
    installed = [file for folder in ("bin", "lib") for file in (tmp_path / folder).iterdir()]
    commands = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", *targets],
        check=True,
        capture_output=True,
        text=True,
    )
    built = {Path(file).name for file in re.findall(r" -o (\S+)", commands.stdout)}
    assert {"outboardd", "liboutboard-preload.so"} <= {file.name for file in installed}
    assert {file.name for file in installed if not file.is_symlink()} <= built
