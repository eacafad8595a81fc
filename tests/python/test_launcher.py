"""Tests a copy of the launcher ./outboard, with a PATH on which every installer is a stand-in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from outboard.commands.test import command as options_of_test

# The programs of a minimal system that the launcher may use.
TOOLS = "sh cat cksum dirname env flock mkdir readlink sed tail touch tr true".split()
PYPROJECT = """
[project]
dependencies = []
[project.optional-dependencies]
demo = []
plot = []
test = []
"""


class Machine:
    """A checkout and a PATH. `log` has one line per call of apt-get and sudo."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.main = self.root / "python" / "outboard" / "__main__.py"
        (self.root / "tools").mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(ROOT / "outboard", self.root)
        shutil.copy(ROOT / "CMakeLists.txt", self.root)
        shutil.copy(ROOT / "tools" / "apt-packages.txt", self.root / "tools")
        self.versions = self.root / "tools" / "python-constraints.txt"
        self.versions.write_text("")
        (self.root / "pyproject.toml").write_text(PYPROJECT)
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None, tool
            (self.bin / tool).symlink_to(found)
        self.program("id", "echo 1000")
        self.installed()

    def program(self, name: str, script: str) -> None:
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def installed(self, *packages: str) -> None:
        """Makes dpkg-query know these packages, and one that was removed."""
        known = "\n".join(f"echo '{package} installed'" for package in packages)
        self.program("dpkg-query", f"{known}\necho 'libspdlog-dev config-files'\nexit 1")

    def apt_get(self, script: str = "") -> None:
        self.program("apt-get", f'echo "apt-get $*" >>{self.log}\n{script}')

    def ready(self, *extras: str) -> None:
        """Makes a complete .venv, whose python prints how it was called."""
        (self.root / ".venv" / "bin").mkdir(parents=True)
        python = self.root / ".venv" / "bin" / "python"
        python.write_text('#!/bin/sh\necho "python $*"\n')
        python.chmod(0o755)
        data = (self.root / "pyproject.toml").read_bytes() + self.versions.read_bytes()
        sum_ = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
        for extra in ("", *extras):
            stamp = self.root / ".venv" / (".outboard" + (f"-{extra}" if extra else ""))
            stamp.write_text(f"{self.root} {sum_.decode().strip()}\n")

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "HOME": str(self.root), **variables}
        return subprocess.run(
            [self.root / "outboard", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def packages(*sets: str) -> set[str]:
    lines = (ROOT / "tools" / "apt-packages.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    assert all(len(row) == 3 for row in rows)
    there = {row[1] for row in rows if row[2].startswith("/") and Path(row[2]).exists()}
    return {row[1] for row in rows if row[0] in sets} - there


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--version"]])
def test_first_questions_install_nothing(machine: Machine, arguments: list[str]) -> None:
    machine.apt_get()
    result = machine.run(*arguments)
    assert result.returncode == 0
    assert "outboard" in result.stdout
    assert result.stderr == ""
    assert machine.calls() == []
    assert not (machine.root / ".venv").exists()
    assert not (machine.root / "build").exists()


@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--help"], 0),
        (["--fast", "-h"], 0),
        (["--quick"], 2),
        (["-L"], 2),
        (["unit"], 2),
        (["--all", "--fast"], 2),
    ],
)
def test_options_of_test_are_read_before_anything_is_installed(
    machine: Machine, arguments: list[str], status: int, ready: bool
) -> None:
    machine.apt_get()
    machine.program("id", "echo 0")
    if ready:
        machine.ready()
    result = machine.run("test", *arguments)
    assert result.returncode == status
    usage = f"python -P {machine.main} test" if ready and not status else "outboard test"
    assert usage in (result.stderr if status else result.stdout)
    assert machine.calls() == []
    assert (machine.root / ".venv").exists() == ready
    assert not (machine.root / "build").exists()


def test_options_of_test_are_those_of_the_command_line(machine: Machine) -> None:
    machine.apt_get()
    machine.ready("test")
    machine.installed(*packages("build", "test"))
    for option in options_of_test.params:
        for name in option.opts:
            words = [name] if getattr(option, "is_flag", False) else [name, "unit"]
            result = machine.run("test", *words)
            assert result.stdout == f"python -P {machine.main} test {' '.join(words)}\n"
    assert machine.run("test", "-Lunit", "--label=checks").returncode == 0


def test_without_root_and_sudo_the_packages_are_named(machine: Machine) -> None:
    machine.apt_get()
    machine.ready()
    result = machine.run("run", "--", "true")
    assert result.returncode == 1
    assert "we are neither root nor have sudo" in result.stderr
    named = set(re.search(r"apt-get install (.*)", result.stderr)[1].split())  # type: ignore[index]
    assert named == packages("build") - {"python3-venv"}, "a venv is there already"
    assert "libspdlog-dev" in named, "removed but not purged is not installed"
    assert machine.calls() == []
    assert result.stdout == "", "the command line must not have been started"


def test_without_apt_the_packages_are_named(machine: Machine) -> None:
    machine.ready()
    machine.program("id", "echo 0")
    result = machine.run("demo")
    assert result.returncode == 1
    assert "there is no apt-get" in result.stderr
    assert "libopenblas0-pthread" in result.stderr


def test_refused_sudo_is_as_none(machine: Machine) -> None:
    machine.apt_get()
    machine.ready()
    machine.program("sudo", f'echo "sudo $*" >>{machine.log}; exit 1')
    result = machine.run("build")
    assert result.returncode == 1
    assert "we are neither root nor have sudo" in result.stderr
    assert machine.calls() == ["sudo -n true"]


@pytest.mark.parametrize(
    ("command", "sets", "extra"),
    [
        ("run", ["build"], ""),
        ("serve", ["build"], ""),
        ("build", ["build"], ""),
        ("demo", ["build"], "demo"),
        ("bench", ["build", "bench"], "plot"),
        ("test", ["build", "test"], "test"),
    ],
)
def test_root_installs_what_is_missing(
    machine: Machine, command: str, sets: list[str], extra: str
) -> None:
    machine.apt_get()
    machine.ready(extra)
    machine.program("id", "echo 0")
    machine.program("cmake", "")
    machine.installed("libcli11-dev")
    argument = "--fast" if command == "test" else "x"  # its arguments are checked first
    result = machine.run(command, argument)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"python -P {machine.main} {command} {argument}\n"
    (call,) = machine.calls()
    words = call.split()
    assert words[:5] == ["apt-get", "-y", "-qq", "install", "--no-install-recommends"]
    assert set(words[5:]) == packages(*sets) - {"python3-venv", "cmake", "libcli11-dev"}


def test_sial_needs_no_debian_packages(machine: Machine) -> None:
    machine.apt_get()
    machine.ready("sial")
    result = machine.run("sial", "compile", "x.sial")
    assert result.stdout == f"python -P {machine.main} sial compile x.sial\n", result.stderr
    assert machine.calls() == []


def test_sudo_is_used(machine: Machine) -> None:
    machine.apt_get()
    machine.ready()
    machine.program("sudo", f'echo "sudo $*" >>{machine.log}; shift; exec "$@"')
    assert machine.run("build").returncode == 0
    quiet = "DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 SYSTEMD_OFFLINE=1"
    assert machine.calls()[-2].startswith(f"sudo -n env {quiet} apt-get")
    assert machine.calls()[-1].startswith("apt-get -y -qq install")


def test_old_package_lists_are_updated_once(machine: Machine) -> None:
    machine.apt_get(
        f'case "$*" in *update*) touch {machine.root}/updated ;; '
        f"*) [ -e {machine.root}/updated ] || {{ echo 'E: no such package'; exit 100; }} ;; esac"
    )
    machine.ready()
    machine.program("id", "echo 0")
    result = machine.run("build")
    assert result.returncode == 0
    assert [call.split()[3] for call in machine.calls()] == ["install", "update", "install"]


def test_failing_apt_shows_its_words(machine: Machine) -> None:
    machine.apt_get("echo 'E: no such package'; exit 100")
    machine.ready()
    machine.program("id", "echo 0")
    result = machine.run("build")
    assert result.returncode == 1
    assert "E: no such package" in result.stderr
    assert result.stdout == ""


def test_nothing_missing_nothing_said(machine: Machine) -> None:
    machine.apt_get()
    machine.ready("test")
    machine.installed(*packages("build", "test"))
    result = machine.run("test", "--fast")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"python -P {machine.main} test --fast\n"
    assert machine.calls() == []


@pytest.mark.parametrize(
    "arguments", [["env"], ["report", "x"], ["run", "--help"], ["test", "-h"], ["--version"]]
)
def test_commands_that_never_run_apt(machine: Machine, arguments: list[str]) -> None:
    machine.apt_get()
    machine.ready()
    machine.program("id", "echo 0")
    result = machine.run(*arguments)
    assert result.stdout == f"python -P {machine.main} {' '.join(arguments)}\n"
    assert machine.calls() == []


@pytest.mark.parametrize("through", ["", "OUTBOARD_BUILD_DIR", "OUTBOARD_NATIVE_DIR"])
def test_a_run_with_all_in_place_starts_no_program(
    machine: Machine, tmp_path: Path, through: str
) -> None:
    machine.ready()
    native = tmp_path / "native" if through else machine.root / "build" / "release"
    for file in ("lib/liboutboard-preload.so", "bin/outboardd", "bin/outboard-run"):
        (native / file).parent.mkdir(parents=True, exist_ok=True)
        (native / file).touch(0o755)
    (native / "bin" / "outboard-run").write_text('#!/bin/sh\necho "outboard-run $*"\n')
    variables = {through: str(native)} if through else {}
    result = machine.run("run", "--", "true", PATH="/nonexistent", **variables)
    otherwise = f"{machine.root}/.venv/bin/python -P {machine.main}"
    assert result.stdout == f"outboard-run --otherwise {otherwise} -- run -- true\n"
    assert result.stderr == ""
    (native / "bin" / "outboardd").unlink()
    machine.apt_get()
    machine.run("run", "--", "true", **variables)
    assert "neither root nor have sudo" in machine.run("run", "true", **variables).stderr


def test_packages_under_other_names(machine: Machine) -> None:
    machine.ready()
    result = machine.run("build", OUTBOARD_NO_APT="1")
    assert (result.returncode, result.stderr) == (0, "")


def test_arguments_arrive_unchanged(machine: Machine) -> None:
    machine.ready()
    (machine.root / ".venv/bin/python").write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    result = machine.run("env", "a b", "", "*", "$HOME", OUTBOARD_NO_APT="1")
    assert result.stdout == f"<-P><{machine.main}><env><a b><><*><$HOME>"


def test_environment_is_made_once(machine: Machine) -> None:
    """Makes a real .venv, without dependencies, so that nothing is fetched."""
    package = machine.root / "python" / "outboard"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import sys\nprint('here', sys.argv[1:])\n")
    # A python3 on the path that cannot make a venv. The launcher must skip it.
    machine.program("python3", "exit 1")
    first = machine.run("env", OUTBOARD_PYTHON=sys.executable)
    assert first.stdout == "here ['env']\n", first.stderr
    assert "making a Python environment in .venv" in first.stderr
    second = machine.run("env")
    assert (second.stdout, second.stderr) == ("here ['env']\n", "")
    (machine.root / "pyproject.toml").write_text(PYPROJECT + "# changed\n")
    third = machine.run("env")
    assert "making" not in third.stderr
    assert "installing Python packages" in third.stderr
    machine.versions.write_text("# changed\n")
    assert "installing Python packages" in machine.run("env").stderr
    moved = machine.root.with_name("moved")
    machine.root.rename(moved)
    machine.root = moved
    fourth = machine.run("env")
    assert fourth.stdout == "here ['env']\n", "a moved checkout is set up again"


def test_started_through_a_link(machine: Machine, tmp_path: Path) -> None:
    machine.ready()
    link = tmp_path / "link"
    link.symlink_to(machine.root / "outboard")
    result = subprocess.run(
        [link, "env"],
        env={"PATH": str(machine.bin)},
        cwd=os.sep,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == f"python -P {machine.main} env\n"
