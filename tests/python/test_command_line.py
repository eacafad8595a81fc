"""Tests help, version and the options of commands that only start another program."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Outboard
from outboard import paths
from outboard.cli import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(outboard: Outboard, name: str) -> None:
    result = outboard(name, "--help")
    assert result.returncode == 0
    assert re.search(rf"Examples?:\n(.*\n)*?.*outboard {name}", result.stdout), result.stdout


def test_help_lists_every_command(outboard: Outboard) -> None:
    text = outboard("--help").stdout
    for name, help_line in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(help_line[:40])}", text, re.MULTILINE), name


def test_version_is_that_of_cmake(outboard: Outboard) -> None:
    declared = re.search(
        r"VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1]
    )
    assert declared is not None
    assert outboard("--version").stdout == f"outboard {declared.group(1)}\n"


def test_unknown_command(outboard: Outboard) -> None:
    result = outboard("fly")
    assert result.returncode == 2
    assert "No such command 'fly'" in result.stderr


def test_serve_becomes_the_daemon(
    outboard: Outboard, fake_native: dict[str, str], tmp_path: Path
) -> None:
    # The stand-in ends with 3 instead of serving.
    arguments = ["--listen", "127.0.0.1:0", "--listen", "unix:/tmp/s", "--backend", "null"]
    arguments += ["--devices", "2", "--device-memory", "1K", "--device-rate", "500GF"]
    arguments += ["--plan-time", "20ms", "--max-streams", "4"]
    arguments += ["--session-host-memory", "1G", "--user-memory", "2048"]
    arguments += ["--user-host-memory", "4096", "--longest-command", "0.0"]
    arguments += ["--log-level", "warn", "--exit-with-parent"]
    environment = {**fake_native, "FAKE_DAEMON": "fails", "LD_PRELOAD": "", "OUTBOARD_MODE": "off"}
    assert outboard("serve", *arguments, environment=environment).returncode == 3
    seen = json.loads((tmp_path / "daemon.json").read_text())
    arguments[arguments.index("1K")] = "1024"
    arguments[arguments.index("1G")] = str(1 << 30)
    assert seen["arguments"] == arguments
    assert not {"LD_PRELOAD", "OUTBOARD_MODE"} & set(seen["environment"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "7770"], "is not an address"),
        (["--backend", "gpu"], "'gpu' is not one of"),
        (["--devices", "0"], "is not in the range"),
        (["--device-memory", "0"], "is not a size"),
        (["--session-host-memory", "much"], "is not a size"),
        (["--longest-command", "-1"], "is not in the range"),
        (["--longest-command", "nan"], "is not a number of seconds"),
        (["--drain-time", "inf"], "is not in the range"),
        (["--device-memory", "18446744073709551616"], "below 2^64"),
        (["--session-memory", "16777216T"], "below 2^64"),
        (["--device-rate", "fast", "--backend", "null"], "is not a rate"),
        (["--device-rate", "5GF"], "add --backend null"),
        (["--plan-time", "20", "--backend", "null"], "is not a time"),
        (["--plan-time", "20ms"], "add --backend null"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_serve_refuses(
    outboard: Outboard,
    fake_native: dict[str, str],
    tmp_path: Path,
    arguments: list[str],
    words: str,
) -> None:
    result = outboard("serve", *arguments, environment=fake_native)
    assert result.returncode == 2
    assert words in result.stderr
    assert not (tmp_path / "daemon.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tune", "--seconds", "nan"], "is not a number of seconds"),
        (["tune", "--seconds", "inf"], "is not in the range"),
        (["tune", "--seconds", "-1"], "is not in the range"),
        (["doctor", "--seconds", "nan"], "is not a number of seconds"),
        (["doctor", "--seconds", "inf"], "is not in the range"),
    ],
)
def test_times_are_bounded_numbers(outboard: Outboard, arguments: list[str], words: str) -> None:
    result = outboard(*arguments, timeout=60)
    assert result.returncode == 2
    assert words in result.stderr


@pytest.mark.parametrize(
    ("variable", "value", "command", "words"),
    [
        ("OUTBOARD_MODE", "warp", ["run", "true"], "is no mode"),
        ("OUTBOARD_SERVER", "nowhere", ["run", "true"], "is not an address"),
        ("RCPU_SERVER", "nowhere", ["explain", "dgemm", "100"], "is not an address"),
        ("OUTBOARD_SERVER", "nowhere", ["tune", "--quick"], "is not an address"),
        ("OUTBOARD_PROFILE", "off", ["tune", "--show"], "OUTBOARD_PROFILE is off"),
    ],
)
def test_wrong_variables_are_usage_errors(
    outboard: Outboard,
    fake_native: dict[str, str],
    variable: str,
    value: str,
    command: list[str],
    words: str,
) -> None:
    result = outboard(*command, environment={**fake_native, variable: value}, timeout=60)
    assert result.returncode == 2, result.stderr
    assert words in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *(
            ([option, size], "is not a size")
            for option in (
                "--device-memory",
                "--session-memory",
                "--session-host-memory",
                "--user-memory",
                "--user-host-memory",
                "--stripe",
            )
            for size in ("18446744073709551616", "99999999999999999999999", "-1", "0", "nan")
        ),
        (["--device-memory", "16777216T"], "overflow"),
        *(
            ([option, time], "is not a number of seconds")
            for option in ("--longest-command", "--drain-time")
            for time in ("nan", "inf", "-inf", "-1", "1e300", "soon")
        ),
        (["--plan-time", "nanms"], "unit not recognized"),
        (["--plan-time", "-5ms"], "is not a number of seconds"),
        (["--devices", "-1"], "--devices"),
        (["--backend", "gpu"], "--backend"),
        (["--fly"], "--fly"),
    ],
)
def test_the_daemon_refuses(native: paths.Native, arguments: list[str], words: str) -> None:
    command = [str(native.daemon), "--listen", "127.0.0.1:0", "--backend", "null", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
