"""Tests the short way of `outboard run -- COMMAND`: it does what the whole command line does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conftest import Outboard, clean_environment, command_line
from outboard import settings_table
from outboard.daemon import DAEMON_VARIABLES
from outboard.start import _DECISIVE_VARIABLES, plain_command

Environment = dict[str, str]

# Modules that take as long to load as many a command runs.
SLOW = "click dataclasses inspect json pathlib re rich shutil subprocess tempfile tomllib typing"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("run -- true", ["true"]),
        ("run true", ["true"]),
        ("run true --report -- x", ["true", "--report", "--", "x"]),
        ("run -- --report", ["--report"]),
        ("run -- -- true", ["--", "true"]),
        ("run", None),
        ("run --", None),
        ("run -h", None),
        ("run --quiet true", None),
        ("serve", None),
        ("--version", None),
        ("", None),
    ],
)
def test_commands_without_options(words: str, command: list[str] | None) -> None:
    assert plain_command(words.split()) == command


def environment_of(outboard: Outboard, environment: Environment, *options: str) -> Environment:
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    command = ["run", *options, "--", sys.executable, "-c", script]
    result = outboard(*command, environment=environment)
    assert result.returncode == 0, result.stderr
    seen: Environment = json.loads(result.stdout)
    assert seen.pop("OUTBOARD_SERVER").startswith("unix:")
    return seen


def test_both_ways_set_the_same_variables(outboard: Outboard, fake_native: Environment) -> None:
    fake_native["LD_PRELOAD"] = "libc.so.6"
    plain = environment_of(outboard, fake_native)
    assert plain == environment_of(outboard, fake_native, "--mode", "auto")
    assert plain["LD_PRELOAD"].endswith("liboutboard-preload.so:libc.so.6")


def test_errors_are_shown_by_both_ways(outboard: Outboard, fake_native: Environment) -> None:
    fake_native["OUTBOARD_NATIVE_DIR"] = "/nonexistent"
    plain = outboard("run", "--", "true", environment=fake_native)
    assert plain.returncode == 125
    assert plain.stderr.startswith("outboard: OUTBOARD_NATIVE_DIR=/nonexistent is of no use")
    whole = outboard("run", "--quiet", "--", "true", environment=fake_native)
    assert (whole.returncode, whole.stderr) == (plain.returncode, plain.stderr)


def test_the_short_way_loads_no_slow_module(fake_native: Environment) -> None:
    script = f"""
import sys
sys.argv = ["outboard", "run", "--", "true"]
from outboard.start import main
try:
    main()
except SystemExit as end:
    print(end.code, *set({SLOW!r}.split()) & set(sys.modules))
"""
    command = [command_line()[0], "-I", "-S", "-c", script]
    path = clean_environment()["PYTHONPATH"]
    command[-1] = f"import sys; sys.path.insert(0, {path!r}){script}"
    result = subprocess.run(command, env=fake_native, capture_output=True, text=True, check=True)
    assert result.stdout == "0\n"


def test_variables_are_those_of_the_table() -> None:
    rows = settings_table.rows()
    decisive = [name for row in rows if row.name in ("mode", "servers") for name in row.variables]
    assert sorted(_DECISIVE_VARIABLES) == sorted(decisive)
    read = [row.variable for row in rows if "daemon" in row.readers]
    assert list(DAEMON_VARIABLES) == read
    assert all(row.variable.startswith("OUTBOARD_") for row in rows)
