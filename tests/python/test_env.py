"""Tests `outboard env`: a real shell reads the export lines."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import Outboard

Environment = dict[str, str]


def exported(lines: str, environment: Environment) -> Environment:
    """Returns the environment of a POSIX shell after eval of `lines`."""
    script = 'eval "$1"; exec python3 -c "import json, os; print(json.dumps(dict(os.environ)))"'
    # The real variables would make python3 load the library. Reading them needs no loading.
    guarded = lines.replace("export LD_PRELOAD=", "export SEEN_PRELOAD=")
    shell = subprocess.run(
        ["sh", "-c", script, "sh", guarded],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(shell.stdout)
    assert isinstance(result, dict)
    return result


def test_settings_arrive_quoted(outboard: Outboard, fake_native: Environment) -> None:
    arguments = ["--server", "a:1,unix:/with blank/it's", "--mode", "remote", "--quiet"]
    arguments += ["--routines", "dgemm,fftw*,-zgemm", "--native-plan", "as-asked", "--verify"]
    arguments += [
        "--track-pages",
        "--streams",
        "3",
        "--devices",
        "all",
        "--profile",
        "off",
        "--learn",
    ]
    result = outboard("env", *arguments, environment=fake_native)
    assert result.returncode == 0, result.stderr
    seen = exported(result.stdout, fake_native)
    assert (
        seen["SEEN_PRELOAD"] == fake_native["OUTBOARD_NATIVE_DIR"] + "/lib/liboutboard-preload.so"
    )
    assert seen["OUTBOARD_SERVER"] == "a:1,unix:/with blank/it's"
    assert seen["OUTBOARD_MODE"] == "remote"
    assert seen["OUTBOARD_QUIET"] == "1"
    assert seen["OUTBOARD_ROUTINES"] == "dgemm,fftw*,-zgemm"
    assert seen["OUTBOARD_NATIVE_PLAN"] == "as-asked"
    assert seen["OUTBOARD_TRACK_PAGES"] == "1"
    assert seen["OUTBOARD_STREAMS"] == "3"
    assert seen["OUTBOARD_DEVICES"] == "all"
    assert seen["OUTBOARD_VERIFY"] == "1"
    assert seen["OUTBOARD_PROFILE"] == "off"
    assert seen["OUTBOARD_LEARN"] == "1"
    assert "OUTBOARD_REPORT" not in seen
    assert "OUTBOARD_TRACE" not in seen


def test_paths_become_absolute(
    outboard: Outboard, fake_native: Environment, tmp_path: Path
) -> None:
    arguments = ["--report", "dir:counts", "--trace", "t", "--profile", "profiles"]
    result = outboard("env", *arguments, environment=fake_native)
    seen = exported(result.stdout, fake_native)
    assert "OUTBOARD_TRACK_PAGES" not in seen
    assert "OUTBOARD_STREAMS" not in seen
    assert seen["OUTBOARD_REPORT"] == f"dir:{tmp_path}/counts"
    assert seen["OUTBOARD_TRACE"] == f"{tmp_path}/t"
    assert seen["OUTBOARD_PROFILE"] == f"{tmp_path}/profiles"
    assert "OUTBOARD_LEARN" not in seen
    assert (tmp_path / "counts").is_dir()


def test_preload_goes_in_front_and_is_not_doubled(
    outboard: Outboard, fake_native: Environment, empty_library: Path
) -> None:
    other = empty_library.with_name("libother.so")
    other.write_bytes(empty_library.read_bytes())
    preloaded = f"{other}:{empty_library}"  # the second path has the library's own name
    result = outboard("env", environment={**fake_native, "LD_PRELOAD": preloaded})
    own = fake_native["OUTBOARD_NATIVE_DIR"] + "/lib/liboutboard-preload.so"
    assert exported(result.stdout, fake_native)["SEEN_PRELOAD"] == f"{own}:{other}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--server", "nowhere"], "is not an address"),
        (["--mode", "fast"], "'fast' is not one of"),
        (["--report", "file"], "stderr or dir:PATH"),
        (["--native-plan", "never"], "'never' is not one of"),
    ],
)
def test_wrong_options(
    outboard: Outboard, fake_native: Environment, arguments: list[str], words: str
) -> None:
    result = outboard("env", *arguments, environment=fake_native)
    assert result.returncode == 2
    assert words in result.stderr
    assert result.stdout == "", "a shell would eval this"


def test_wrong_native_folder(outboard: Outboard, fake_native: Environment) -> None:
    result = outboard("env", environment={**fake_native, "OUTBOARD_NATIVE_DIR": "/nonexistent"})
    assert result.returncode == 1
    assert "OUTBOARD_NATIVE_DIR=/nonexistent is of no use" in result.stderr
    assert result.stdout == ""
