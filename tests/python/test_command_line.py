"""Tests help, version and the options of commands that only start another program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import ROOT, Outboard
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
    arguments += ["--session-host-memory", "1G", "--longest-command", "0.0"]
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
