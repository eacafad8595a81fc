"""Tests the short way of `outboard run -- COMMAND`: it does what the whole command line does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Outboard
from outboard import paths, settings_table

Environment = dict[str, str]

# Says how it was called.
COMMAND = """#!/bin/sh
echo "$OUTBOARD_MODE $OUTBOARD_SERVER"
for word in "$0" "$@"; do echo "${word##*/}"; done
"""


class Runner:
    """outboard-run, with a PATH of commands that say how they were called."""

    def __init__(self, program: Path, commands: Path) -> None:
        self._program = program
        self._commands = commands
        for name in ("true", "--report", "--"):
            (commands / name).write_text(COMMAND)
            (commands / name).chmod(0o755)

    def __call__(
        self, words: list[str], **variables: str
    ) -> tuple[list[str], str, tuple[str, ...]] | None:
        """Returns the command, the mode and the servers; None if the whole command line was
        called."""
        environment = {"PATH": str(self._commands), **variables}
        done = subprocess.run(
            [self._program, "--otherwise", "/bin/echo", "otherwise", "--", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        first, *command = done.stdout.splitlines()
        if first.split()[:1] == ["otherwise"]:
            assert first.split() == ["otherwise", *words]
            return None
        mode, server = first.split(" ")
        own = server.startswith("unix:") and server.endswith("/outboardd.sock")
        return command, mode, tuple(server.split(",")) if server and not own else ()


@pytest.fixture
def runner(native: paths.Native, tmp_path: Path) -> Runner:
    return Runner(native.runner, tmp_path)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("run -- true", (["true"], "auto", ())),
        ("run true", (["true"], "auto", ())),
        ("run true --report -- x", (["true", "--report", "--", "x"], "auto", ())),
        ("run -- --report", (["--report"], "auto", ())),
        ("run -- -- true", (["--", "true"], "auto", ())),
        ("run --mode remote true", (["true"], "remote", ())),
        ("run --mode=off -- true", (["true"], "off", ())),
        ("run --mode off --mode trace true", (["true"], "trace", ())),
        (
            "run --server a:1,unix:/s true --mode x",
            (["true", "--mode", "x"], "auto", ("a:1", "unix:/s")),
        ),
        ("run --server=a:1 --mode trace -- true", (["true"], "trace", ("a:1",))),
        ("run --mode warp true", None),
        ("run --mode", None),
        ("run --mode off", None),
        ("run --mod off true", None),
        ("run --server a true", None),
        ("run --server= true", None),
        ("run", None),
        ("run --", None),
        ("run -h", None),
        ("run --quiet true", None),
        ("serve", None),
        ("run --key /nonexistent true", None),
        ("run --pool http://127.0.0.1:1 true", (["true"], "auto", ())),
        ("run --accelerators 1 true", None),  # of which pool
        ("run --pool http://127.0.0.1:1 --accelerators 0 true", None),
        ("run --pool http://127.0.0.1:1 --accelerators 1..4 true", None),
        # Nobody answers there.
        ("run --pool http://127.0.0.1:1 --accelerators 2 true", (["true"], "auto", ())),
        ("run --pool http://127.0.0.1:1 --accelerators 2 --mode trace true", None),
        ("run --pool http://127.0.0.1:1 --accelerators 1 --require true", None),
        ("run --pool http://127.0.0.1:1 --accelerators 1 --wait 0 true", None),
        ("run --pool http://127.0.0.1:1 --require true", None),
        ("run --pool http://127.0.0.1:1 --shared 0.5 true", None),
        ("run --pool http://127.0.0.1:1 --kind gpu true", None),
        ("run --pool http://127.0.0.1:1 --exclusive true", None),
        ("run --pool http://127.0.0.1:1 --wait 3s true", None),
    ],
)
def test_the_usual_options(
    runner: Runner, words: str, found: tuple[list[str], str, tuple[str, ...]] | None
) -> None:
    assert runner(words.split()) == found


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"OUTBOARD_MODE": "remote"}, ("remote", ())),
        ({"OUTBOARD_MODE": ""}, ("auto", ())),
        ({"OUTBOARD_SERVER": "a:1"}, ("auto", ("a:1",))),
        ({"RCPU_SERVER": "b:1"}, ("auto", ("b:1",))),
        ({"OUTBOARD_SERVER": "a:1", "RCPU_SERVER": "b:1"}, ("auto", ("a:1",))),
        ({"OUTBOARD_SERVER": "", "RCPU_SERVER": "b:1"}, ("auto", ("b:1",))),
        ({"OUTBOARD_MODE": "warp"}, None),
        ({"OUTBOARD_SERVER": "nowhere"}, None),
    ],
)
def test_inherited_values(
    runner: Runner, environment: Environment, found: tuple[str, tuple[str, ...]] | None
) -> None:
    run = runner(["run", "true"], **environment)
    assert (run[1:] if run else None) == found
    chosen = runner(["run", "--mode", "off", "--server", "c:1", "true"], **environment)
    assert chosen == (["true"], "off", ("c:1",))


@pytest.mark.parametrize("words", [[], ["--folder"], ["--otherwise"], ["--", "run", "true"]])
def test_wrong_options_of_its_own(native: paths.Native, words: list[str]) -> None:
    done = subprocess.run([native.runner, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "use `outboard run`" in done.stderr


def environment_of(outboard: Outboard, environment: Environment, *options: str) -> Environment:
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    command = ["run", *options, "--", sys.executable, "-c", script]
    result = outboard(*command, environment=environment)
    assert result.returncode == 0, result.stderr
    seen: Environment = json.loads(result.stdout)
    if seen.get("OUTBOARD_SERVER", "").startswith("unix:"):
        seen["OUTBOARD_SERVER"] = "the embedded daemon"
    return seen


def test_both_ways_set_the_same_variables(
    outboard: Outboard, fake_native: Environment, tmp_path: Path
) -> None:
    fake_native["LD_PRELOAD"] = "libc.so.6"
    fake_native["OUTBOARD_QUIET"] = "1"
    plain = environment_of(outboard, fake_native)
    assert plain == environment_of(outboard, fake_native, "--quiet")
    assert plain["LD_PRELOAD"].endswith("liboutboard-preload.so:libc.so.6")
    for options in (
        ["--mode", "remote"],
        ["--server", "127.0.0.1:1, 127.0.0.1:2"],
        ["--key", f"{tmp_path}/."],
        ["--pool", "http://127.0.0.1:1"],
    ):
        plain = environment_of(outboard, fake_native, *options)
        assert plain == environment_of(outboard, fake_native, "--quiet", *options)


def test_errors_are_shown_by_both_ways(outboard: Outboard, fake_native: Environment) -> None:
    fake_native["OUTBOARD_NATIVE_DIR"] = "/nonexistent"
    plain = outboard("run", "--", "true", environment=fake_native)
    assert plain.returncode == 125
    assert plain.stderr.startswith("outboard: OUTBOARD_NATIVE_DIR=/nonexistent is of no use")
    whole = outboard("run", "--quiet", "--", "true", environment=fake_native)
    assert (whole.returncode, whole.stderr) == (plain.returncode, plain.stderr)


def test_variables_of_the_daemon_are_those_of_the_table() -> None:
    source = (ROOT / "apps" / "embedded_daemon.cpp").read_text()
    found = re.search(r"kDaemonVariables\[\] = {(.*?)};", source, re.DOTALL)
    assert found is not None
    read = [row.variable for row in settings_table.rows() if "daemon" in row.readers]
    assert re.findall(r'"(.*?)"', found[1]) == read
    assert all(row.variable.startswith("OUTBOARD_") for row in settings_table.rows())
