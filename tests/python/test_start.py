"""Tests the short way of `outboard run -- COMMAND`: it does what the whole command line does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conftest import Outboard, clean_environment, command_line
from outboard import settings_table
from outboard.daemon import DAEMON_VARIABLES
from outboard.launch import PlainRun
from outboard.start import _MODE_VARIABLE, _MODES, _OPTIONS, _SERVER_VARIABLES, plain_run

Environment = dict[str, str]

# Modules that take as long to load as many a command runs.
SLOW = "click dataclasses inspect json pathlib re rich shutil subprocess tempfile tomllib typing"


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
        ("--version", None),
        ("", None),
    ],
)
def test_the_usual_options(
    words: str, found: tuple[list[str], str, tuple[str, ...]] | None
) -> None:
    assert of(plain_run(words.split(), {})) == found


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
    environment: Environment, found: tuple[str, tuple[str, ...]] | None
) -> None:
    run = of(plain_run(["run", "true"], environment))
    assert (run[1:] if run else None) == found
    chosen = plain_run(["run", "--mode", "off", "--server", "c:1", "true"], environment)
    assert of(chosen) == (["true"], "off", ("c:1",))


def of(run: PlainRun | None) -> tuple[list[str], str, tuple[str, ...]] | None:
    return (list(run.command), run.mode, run.servers) if run else None


def environment_of(outboard: Outboard, environment: Environment, *options: str) -> Environment:
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    command = ["run", *options, "--", sys.executable, "-c", script]
    result = outboard(*command, environment=environment)
    assert result.returncode == 0, result.stderr
    seen: Environment = json.loads(result.stdout)
    if seen["OUTBOARD_SERVER"].startswith("unix:"):
        seen["OUTBOARD_SERVER"] = "the embedded daemon"
    return seen


def test_both_ways_set_the_same_variables(outboard: Outboard, fake_native: Environment) -> None:
    fake_native["LD_PRELOAD"] = "libc.so.6"
    fake_native["OUTBOARD_QUIET"] = "1"
    plain = environment_of(outboard, fake_native)
    assert plain == environment_of(outboard, fake_native, "--quiet")
    assert plain["LD_PRELOAD"].endswith("liboutboard-preload.so:libc.so.6")
    for options in (["--mode", "remote"], ["--server", "127.0.0.1:1, 127.0.0.1:2"]):
        plain = environment_of(outboard, fake_native, *options)
        assert plain == environment_of(outboard, fake_native, "--quiet", *options)


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
    mode, servers = settings_table.row("mode"), settings_table.row("servers")
    assert (_MODES, _MODE_VARIABLE) == (tuple(mode.choices), mode.variable)
    assert list(_SERVER_VARIABLES) == list(servers.variables)
    assert (mode.option, servers.option) == _OPTIONS
    read = [row.variable for row in rows if "daemon" in row.readers]
    assert list(DAEMON_VARIABLES) == read
    assert all(row.variable.startswith("OUTBOARD_") for row in rows)
