"""Tests the table of settings: its rules, and the code and documents that follow it."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from conftest import ROOT
from outboard import settings_table
from outboard.commands import env, run
from outboard.settings import Settings, without_library

ROWS = settings_table.rows()
OF_LIBRARY = [row for row in ROWS if row.of_library]
PRELOAD = Path("/x/liboutboard-preload.so")

GOOD = """
[[setting]]
name = "mode"
variable = "OUTBOARD_MODE"
type = "choice"
choices = ["auto", "off"]
default = "auto"
readers = ["library"]
doc = "which calls go out"
"""


def table(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_text(text)
    return file


def test_programs_of_ours_inherit_no_setting_of_the_library() -> None:
    settings = {name: "1" for row in OF_LIBRARY for name in row.variables}
    others = {row.variable: "1" for row in ROWS if not row.of_library}
    environment = {**settings, **others, "LD_PRELOAD": "x.so", "PATH": "/bin"}
    assert without_library(environment) == {**others, "PATH": "/bin"}
    assert {"OUTBOARD_SHARE", "OUTBOARD_ACCURACY", "RCPU_SERVER"} <= settings.keys()


def test_every_setting_becomes_its_variable() -> None:
    for row in OF_LIBRARY:
        made = Settings(**{row.name: "text"}).variables(PRELOAD, {})
        assert made == {"LD_PRELOAD": str(PRELOAD), row.variable: "text"}


def test_values_as_text() -> None:
    settings = Settings("remote", servers=("a:1", "b:2"), quiet=True, learn=False, streams=3)
    assert settings.variables(PRELOAD, {}) == {
        "LD_PRELOAD": str(PRELOAD),
        "OUTBOARD_SERVER": "a:1,b:2",
        "OUTBOARD_MODE": "remote",
        "OUTBOARD_STREAMS": "3",
        "OUTBOARD_QUIET": "1",
    }
    assert settings.replaced(mode=None, servers=(), quiet=False) == Settings(streams=3)


@pytest.mark.parametrize("name", ["moed", "build_dir"])
def test_settings_that_the_library_does_not_have(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        Settings(**{name: "x"})


@pytest.mark.parametrize("command", [run.command, env.command])
def test_commands_have_the_options_of_the_table(command: click.Command) -> None:
    options = [option for parameter in command.params for option in parameter.opts]
    wanted = [row.option for row in ROWS if row.option]
    assert options[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"choice"', '"chioce"', "'chioce' is no type"),
        ("choices = ", "choises = ", "there is no key choises"),
        ('doc = "which calls go out"\n', "", "a key is missing"),
        ('["library"]', '["libary"]', "readers are not among"),
        ('default = "auto"', 'default = "on"', "not among its choices"),
        ('doc = "', 'option = "--mode"\ndoc = "', "no help"),
        ('doc = "', 'min = 2\nmax = 1\ndoc = "', "bounds exclude everything"),
        ("[[setting]]", GOOD + "[[setting]]", "stands in two rows"),
    ],
)
def test_rows_that_break_the_rules(tmp_path: Path, old: str, new: str, why: str) -> None:
    assert len(settings_table.load(table(tmp_path, GOOD))) == 1
    assert old in GOOD
    with pytest.raises(settings_table.TableError, match=why):
        settings_table.load(table(tmp_path, GOOD.replace(old, new)))


def test_the_documentation_shows_the_table() -> None:
    script = ROOT / "codegen" / "emit_settings_doc.py"
    done = subprocess.run([sys.executable, "-B", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
