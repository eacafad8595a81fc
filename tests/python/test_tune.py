"""Tests `outboard tune`: tables from profiles made by hand, and the command with stand-ins."""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import pretended
from conftest import Outboard, assert_gone, clean_environment, command_line
from outboard import profile
from outboard.profile import Rate
from outboard.settings import Settings
from outboard.tune import libraries, stage, table
from test_profile import SERVER

Environment = dict[str, str]
LIBRARY = """outboard-profile 1
key blas/libblas.so.3 SkylakeX 2 threads
written 1795305435
local 1.4e6 1e-4 dgemm
local 2.2e9 4e-2 dgemm
local 1e9 1e-1 fftw c2c
"""


def printed(*texts: str, wins: table.Wins | None = None) -> list[str]:
    names = ["server" if "\nlink" in t or "\ndevice" in t else "library" for t in texts]
    profiles = [
        profile.parse(t, Path(f"{n}-0123456789abcdef.profile"))
        for t, n in zip(texts, names, strict=True)
    ]
    stream = io.StringIO()
    table.print_all(profiles, wins or {}, stream)
    return stream.getvalue().splitlines()


def row(lines: list[str], start: str) -> list[str]:
    (found,) = [line for line in lines if line.startswith(start)]
    return found.removeprefix(start).split()


def test_link() -> None:
    lines = printed(SERVER)
    assert lines[0].startswith("Link to node7:7770, measured 2026-11-2")
    assert row(lines, "round trip") == ["38", "us"]
    # 4096 bytes take 81 - 38 us there, and 62 - 38 us back
    assert row(lines, "4 KiB") == "81 us 0.0953 62 us 0.171".split()
    # 67 MB take 22.7 ms; nothing was measured on the way back
    assert row(lines, "64 MiB") == "22.7 ms 2.96".split()
    assert any(line.startswith("There: cuda NVIDIA H100 80GB") for line in lines)


def test_rates_stand_side_by_side() -> None:
    wins = {"node7:7770": {"dgemm": "from 740"}}
    lines = printed(LIBRARY, SERVER, wins=wins)
    assert any(line.startswith("Here: blas/libblas.so.3 SkylakeX 2 threads") for line in lines)
    assert row(lines, "GFLOP/s") == "1 Mflop 1 Gflop goes out".split()
    assert row(lines, "dgemm") == "here 14 55 from 740".split()
    index = next(i for i, line in enumerate(lines) if line.startswith("dgemm"))
    assert lines[index + 1].split() == ["there", "2e+03"]
    assert row(lines, "fftw c2c") == ["here", "10"]
    assert row(lines, "fftwf r2c") == ["there", "50"]


def test_library_alone() -> None:
    lines = printed(LIBRARY)
    assert "goes out" not in "\n".join(lines)
    assert row(lines, "dgemm") == "here 14 55".split()


def test_columns_take_the_nearest() -> None:
    rates = [Rate("dgemm", flop, 1.0) for flop in (4e5, 9e5, 2e6, 4e6)]
    assert table.at(rates, 6) == rates[1]
    assert table.at(rates, 7) == rates[3]
    assert table.at(rates, 5) is None
    assert table.at([], 6) is None


def test_json_has_all() -> None:
    server = profile.parse(SERVER, Path("server-0123456789abcdef.profile"))
    library = profile.parse(LIBRARY, Path("library-0123456789abcdef.profile"))
    content = table.to_json([library, server], {"node7:7770": {"dgemm": "never"}})
    assert content["libraries"][0]["local"][0] == {
        "routine": "dgemm",
        "flop": 1.4e6,
        "seconds": 1e-4,
    }
    (one,) = content["servers"]
    assert one["to"][1] == {"bytes": 67108864, "seconds": 0.0227}
    assert one["goes_out"] == {"dgemm": "never"}


def tune(
    outboard: Outboard, environment: Environment, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return outboard("tune", "--profile", "profiles", *arguments, environment=environment)


def test_local_library(outboard: Outboard, fake_native: Environment, tmp_path: Path) -> None:
    environment = pretended.install(fake_native)
    (tmp_path / "with blank").mkdir()
    blas = pretended.compiled(pretended.BLAS, tmp_path / "with blank" / "libblas.so")
    options = ["--quick", "--seconds", "2", "--json", "tune.json", "--library", str(blas)]
    result = tune(outboard, environment, *options)
    assert result.returncode == 0, result.stderr
    assert "no server is named; only the local library is measured" in result.stderr
    assert "Here: pretended 1 threads" in result.stdout
    assert "dgemm" in result.stdout
    folder = tmp_path / "profiles" / socket.gethostname()
    assert f"profiles are in {folder}" in result.stdout
    # routines that the library lacks are reported once, all together
    (line,) = [x for x in result.stderr.splitlines() if "not measured" in x]
    assert "dgetrf" in line
    assert "fftw c2c" in line
    assert "dgemm" not in line
    content = json.loads((tmp_path / "tune.json").read_text())
    assert content["libraries"][0]["key"] == "pretended 1 threads"

    shown = tune(outboard, environment, "--show")
    assert "Here: pretended 1 threads" in shown.stdout
    other = tmp_path / "profiles" / "elsewhere" / "library-0123456789abcdef.profile"
    other.parent.mkdir()
    other.write_text(LIBRARY)
    gone = tune(outboard, environment, "--forget")
    assert gone.stdout.startswith("1 profile removed from")
    assert other.exists()
    empty = tune(outboard, environment, "--show")
    assert empty.returncode == 1
    assert "there are no profiles of this host" in empty.stderr


@pytest.mark.parametrize("written", ["time(0) - 86400", "no"])
def test_a_profile_must_be_written(
    outboard: Outboard, fake_native: Environment, tmp_path: Path, written: str
) -> None:
    """Neither an old profile nor a missing one is taken for the result."""
    environment = fake_native
    if written != "no":
        environment = pretended.install(fake_native, written)
    blas = pretended.compiled(pretended.BLAS, tmp_path / "libblas.so")
    options = ["--quick", "--seconds", "1", "--library", str(blas)]
    result = tune(outboard, environment, *options)
    assert result.returncode == 1
    assert "no profile of the local library was written" in result.stderr


def test_libraries_of_no_use(outboard: Outboard, fake_native: Environment, tmp_path: Path) -> None:
    environment = pretended.install(fake_native)
    affixed = pretended.compiled(pretended.AFFIXED, tmp_path / "libaffixed.so")
    result = tune(outboard, environment, "--library", str(affixed))
    assert result.returncode == 1
    assert "has its routines under other names (scipy_dgemm_64_)" in result.stderr
    (tmp_path / "text.so").write_text("no library")
    result = tune(outboard, environment, "--library", str(tmp_path / "text.so"))
    assert result.returncode == 1
    assert "text.so" in result.stderr
    result = tune(outboard, environment, "--library", "/no/such/lib.so")
    assert "there is no library /no/such/lib.so; check the path" in result.stderr
    result = tune(outboard, environment, "--library", "a", "--", "ls")
    assert result.returncode == 2
    result = tune(outboard, environment, "--json", "/no/such/folder/tune.json")
    assert result.returncode == 1
    assert "/no/such/folder cannot be written" in result.stderr


def test_server_that_is_not_there(outboard: Outboard, fake_native: Environment) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        result = tune(outboard, pretended.install(fake_native), "--server", address)
    assert result.returncode == 1
    assert result.stderr.startswith(f"outboard: {address}: ")
    assert f"outboard doctor --server {address}" in result.stderr
    assert "measuring" not in result.stderr, "it is found out before anything long"


def test_profiles_that_are_off(outboard: Outboard, fake_native: Environment) -> None:
    environment = fake_native | {"OUTBOARD_PROFILE": "off"}
    result = outboard("tune", "--show", environment=environment)
    assert result.returncode == 2
    assert "OUTBOARD_PROFILE is off" in result.stderr


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_stays_behind(
    fake_native: Environment, tmp_path: Path, number: signal.Signals
) -> None:
    environment = pretended.install(fake_native)
    blas = pretended.compiled(
        "#include <unistd.h>\nvoid dgemm_(void) { sleep(60); }", tmp_path / "libblas.so"
    )
    command = ["tune", "--profile", str(tmp_path / "profiles"), "--library", str(blas)]
    with subprocess.Popen(
        command_line(*command),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a job in the background inherits that SIGINT is ignored
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            measuring: list[int] = []
            while (
                not measuring
                or b"tune.calls" not in Path(f"/proc/{measuring[0]}/cmdline").read_bytes()
            ):
                assert process.poll() is None
                time.sleep(0.05)
                measuring = children(process.pid)
            time.sleep(1.0)  # waits for the start of the long call
            process.send_signal(number)
            process.wait(20)
        finally:
            process.kill()
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{measuring[0]}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert_gone(measuring[0])
    if number is not signal.SIGKILL:
        assert process.returncode == 128 + number
    else:
        # removes the files that the ended process left
        for left in Path(environment["TMPDIR"]).iterdir():
            subprocess.run(["rm", "-r", left], check=True)


def test_environment_of_the_child() -> None:
    inherited = clean_environment(
        LD_PRELOAD="/x/liboutboard-preload.so:/other.so",
        OUTBOARD_MODE="off",
        OUTBOARD_VERIFY="1",
        OUTBOARD_SHARE="0.5",
        OUTBOARD_STREAMS="4",
        OUTBOARD_KEY="/keys",
        RCPU_SERVER="z:9",
    )
    settings = Settings(mode="remote", servers=("a:1",), learn=True, profile="/p")
    made = stage.environment_for(settings, Path("/y/liboutboard-preload.so"), ("l.so",), inherited)
    assert made["LD_PRELOAD"] == "/y/liboutboard-preload.so:/other.so:l.so"
    assert (made["OUTBOARD_MODE"], made["OUTBOARD_SERVER"]) == ("remote", "a:1")
    assert (made["OUTBOARD_LEARN"], made["OUTBOARD_PROFILE"]) == ("1", "/p")
    assert (made["OUTBOARD_STREAMS"], made["OUTBOARD_KEY"]) == ("4", "/keys")
    assert not {"OUTBOARD_VERIFY", "OUTBOARD_SHARE", "RCPU_SERVER"} & set(made)
    inherited |= {"OUTBOARD_LEARN": "1", "OUTBOARD_PROFILE": "/other"}
    made = stage.environment_for(Settings(mode="auto"), Path("/y/l.so"), (), inherited)
    assert not {"OUTBOARD_LEARN", "OUTBOARD_PROFILE"} & set(made)


def test_names_of_libraries(tmp_path: Path) -> None:
    file = tmp_path / "a b" / "lib.so"
    file.parent.mkdir()
    file.touch()
    assert libraries.named(["libblas.so.3", str(file)]) == ("libblas.so.3", str(file))
    links = libraries.without_blanks(("libblas.so.3", str(file)), tmp_path)
    assert links[0] == "libblas.so.3"
    assert Path(links[1]).resolve() == file
    assert " " not in links[1].removeprefix(str(tmp_path))
