"""Tests `outboard run` with a stand-in daemon: exit statuses, signals, environment, cleaning up."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import CONNECT, Outboard, assert_gone, command_line

Environment = dict[str, str]

# Reports that it is ready, counts the signals that arrive, and ends with 40 + their number at EOF.
COUNTING = f"""{CONNECT}
import os, select, signal, sys
count = 0
def counted(*_):
    global count
    count += 1
    os.write(1, b"signal\\n")
signal.signal(signal.SIGINT, counted)
signal.signal(signal.SIGTERM, counted)
# A signal just before a read that waits would be handled after it only.
woken, waker = os.pipe()
os.set_blocking(waker, False)
signal.set_wakeup_fd(waker)
os.write(1, b"ready\\n")
while True:
    readable = select.select([0, woken], [], [])[0]
    if woken in readable:
        os.read(woken, 100)
    if 0 in readable and not os.read(0, 100):
        break
sys.exit(40 + count)
"""


def connected(script: str) -> list[str]:
    """Returns a command that runs `script` of the shell when its daemon has started."""
    return [sys.executable, "-c", f"{CONNECT}\nos.execvp('sh', ['sh', '-c', sys.argv[1]])", script]


def daemon_seen(tmp_path: Path) -> dict[str, Any]:
    seen = json.loads((tmp_path / "daemon.json").read_text())
    assert isinstance(seen, dict)
    return seen


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_exit_status_is_passed_on(
    outboard: Outboard, fake_native: Environment, tmp_path: Path, status: int
) -> None:
    result = outboard("run", "--", *connected(f"exit {status}"), environment=fake_native)
    assert result.returncode == status
    assert result.stderr == ""
    assert (tmp_path / "drained").exists()
    assert_gone(daemon_seen(tmp_path)["pid"])


@pytest.mark.parametrize("options", [[], ["--mode", "remote", "--device-memory", "1G"]])
def test_no_client_no_daemon(
    outboard: Outboard, fake_native: Environment, tmp_path: Path, options: list[str]
) -> None:
    result = outboard("run", *options, "--", "sh", "-c", "exit 3", environment=fake_native)
    assert (result.returncode, result.stderr) == (3, "")
    assert not (tmp_path / "daemon.json").exists()


def test_the_socket_is_ready_for_its_user_alone(
    outboard: Outboard, fake_native: Environment
) -> None:
    script = 'stat -c "%a %F" "${OUTBOARD_SERVER#unix:}"'
    result = outboard("run", "--", "sh", "-c", script, environment=fake_native)
    assert result.stdout == "600 socket\n"


def test_descriptors_of_the_caller_reach_the_command_alone(
    fake_native: Environment, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    script = f"""{CONNECT}
import json
os.write({writing}, b"from the command")
daemon = "/proc/" + str(json.load(open(started))["pid"]) + "/fd"
print(sorted(os.listdir(daemon)), os.readlink(daemon + "/3"))"""
    result = subprocess.run(
        command_line("run", "--", sys.executable, "-c", script),
        env=fake_native,
        pass_fds=[writing],
        capture_output=True,
        text=True,
        check=True,
    )
    os.close(writing)
    assert os.read(reading, 100) == b"from the command"
    os.close(reading)
    assert result.stdout.startswith("['0', '1', '2', '3'] socket:")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGXFSZ]
)
def test_death_by_signal(outboard: Outboard, fake_native: Environment, number: int) -> None:
    result = outboard("run", "sh", "-c", f"kill -{int(number)} $$", environment=fake_native)
    assert result.returncode == 128 + number


def test_command_that_cannot_start(
    outboard: Outboard, fake_native: Environment, tmp_path: Path
) -> None:
    missing = outboard("run", "--", "./no-such-program", environment=fake_native)
    assert missing.returncode == 127
    assert "cannot start './no-such-program' (No such file or directory)" in missing.stderr
    (tmp_path / "text").write_text("no program")
    forbidden = outboard("run", "--", "./text", environment=fake_native)
    assert forbidden.returncode == 126


def environment_of_command(
    outboard: Outboard, environment: Environment, *options: str, connects: bool = False
) -> Environment:
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    if connects:
        script = CONNECT + script
    result = outboard("run", *options, "--", sys.executable, "-c", script, environment=environment)
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    assert isinstance(seen, dict)
    return seen


def test_settings_reach_the_command_not_the_daemon(
    outboard: Outboard, fake_native: Environment, tmp_path: Path, empty_library: Path
) -> None:
    other = empty_library.with_name("libother.so")
    other.write_bytes(empty_library.read_bytes())
    fake_native["LD_PRELOAD"] = str(other)
    options = ["--mode", "remote", "--quiet", "--devices", "2", "--device-memory", "3M"]
    options += ["--profile", "/profiles", "--learn"]
    fake_native["OUTBOARD_BLAS"] = "/blas.so"
    seen = environment_of_command(outboard, fake_native, *options, connects=True)
    own = fake_native["OUTBOARD_NATIVE_DIR"] + "/lib/liboutboard-preload.so"
    assert seen["LD_PRELOAD"] == f"{own}:{other}"
    assert seen["OUTBOARD_MODE"] == "remote"
    assert seen["OUTBOARD_QUIET"] == "1"
    assert (seen["OUTBOARD_PROFILE"], seen["OUTBOARD_LEARN"]) == ("/profiles", "1")
    assert seen["OUTBOARD_DEVICES"] == "2"
    daemon = daemon_seen(tmp_path)
    address = seen["OUTBOARD_SERVER"]
    assert address.startswith("unix:")
    assert daemon["arguments"] == [
        "--listen",
        "fd:3",
        "--exit-with-parent",
        "--longest-command",
        "0",
        "--devices",
        "2",
        "--device-memory",
        "3145728",
    ]
    assert "LD_PRELOAD" not in daemon["environment"]
    assert not {"OUTBOARD_MODE", "OUTBOARD_PROFILE", "OUTBOARD_LEARN"} & set(daemon["environment"])
    assert daemon["environment"]["OUTBOARD_BLAS"] == "/blas.so"


def test_private_folder_is_private(outboard: Outboard, fake_native: Environment) -> None:
    script = 'stat -c %a "$(dirname "${OUTBOARD_SERVER#unix:}")"'
    result = outboard("run", "--", "sh", "-c", script, environment=fake_native)
    assert result.stdout.strip() == "700"


@pytest.mark.parametrize(
    ("variables", "options", "server"),
    [
        ({"RCPU_SERVER": "old:1"}, [], "old:1"),
        ({"RCPU_SERVER": "old:1", "OUTBOARD_SERVER": "new:2"}, [], "new:2"),
        ({"OUTBOARD_SERVER": "new:2"}, ["--server", "asked:3,b:4"], "asked:3,b:4"),
        ({}, ["--server", "asked:3", "--devices", "all"], "asked:3"),
    ],
)
def test_named_server_needs_no_daemon(
    outboard: Outboard,
    fake_native: Environment,
    tmp_path: Path,
    variables: Environment,
    options: list[str],
    server: str,
) -> None:
    seen = environment_of_command(outboard, {**fake_native, **variables}, *options)
    assert seen["OUTBOARD_SERVER"] == server
    assert not (tmp_path / "daemon.json").exists()


@pytest.mark.parametrize("mode", ["off", "trace"])
def test_local_modes_need_no_daemon(
    outboard: Outboard, fake_native: Environment, tmp_path: Path, mode: str
) -> None:
    seen = environment_of_command(outboard, {**fake_native, "OUTBOARD_MODE": mode})
    assert seen["OUTBOARD_MODE"] == mode
    assert not (tmp_path / "daemon.json").exists()


@pytest.mark.parametrize(
    ("options", "variables", "status", "words"),
    [
        (["--server", "x"], {}, 2, "is not an address"),
        (["--mode", "x"], {}, 2, "is not one of"),
        (["--device-memory", "much"], {}, 2, "is not a size"),
        (["--devices", "0"], {}, 2, "is no number of devices"),
        (["--devices", "65"], {}, 2, "more than a daemon has"),
        (["--server", "h:1", "--device-memory", "2M"], {}, 2, "belongs to an embedded daemon"),
        (["--report", "json:"], {}, 2, "is not a report"),
        (["--report", "json:/no/such/folder/file"], {}, 2, "cannot write"),
        (["--trace", "/no/such/folder/file"], {}, 2, "cannot write"),
        ([], {"OUTBOARD_SERVER": "x"}, 2, "OUTBOARD_SERVER: 'x' is not an address"),
        ([], {"OUTBOARD_MODE": "x"}, 2, "OUTBOARD_MODE=x is no mode"),
        ([], {"OUTBOARD_NATIVE_DIR": "/nonexistent"}, 125, "is of no use"),
    ],
)
def test_wrong_options(
    outboard: Outboard,
    fake_native: Environment,
    tmp_path: Path,
    options: list[str],
    variables: Environment,
    status: int,
    words: str,
) -> None:
    command = ["run", *options, "--", "touch", str(tmp_path / "ran")]
    result = outboard(*command, environment={**fake_native, **variables})
    assert result.returncode == status, result.stderr
    assert words in result.stderr
    assert not (tmp_path / "ran").exists()


# The daemon's process disappears when `run` has noticed its end and reaped it.
UNTIL_REAPED = """pid=$(sed 's/.*"pid": \\([0-9]*\\).*/\\1/' {}/daemon.json)
                  while kill -0 $pid 2>/dev/null; do :; done; true; exit 5"""


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("fails", "the embedded daemon did not start (it ended with status 3); calls stay local"),
        ("ends", "the embedded daemon ended early (status 4); calls stay local"),
    ],
)
def test_daemon_that_ends_is_reported_once(
    outboard: Outboard, fake_native: Environment, tmp_path: Path, behaviour: str, words: str
) -> None:
    environment = {**fake_native, "FAKE_DAEMON": behaviour}
    command = connected(UNTIL_REAPED.format(tmp_path))
    result = outboard("run", "--", *command, environment=environment)
    assert result.returncode == 5
    assert result.stderr == f"outboard: {words}:\n  | a line of the daemon's log\n"
    quiet = outboard("run", "--quiet", "--", *command, environment=environment)
    assert (quiet.returncode, quiet.stderr) == (5, "")


def test_daemon_that_cannot_start_refuses_clients(
    outboard: Outboard, fake_native: Environment, tmp_path: Path
) -> None:
    daemon = Path(fake_native["OUTBOARD_NATIVE_DIR"]) / "bin" / "outboardd"
    daemon.write_text("no program")
    del fake_native["FAKE_DAEMON_FOLDER"]  # nothing to wait for
    command = [sys.executable, "-c", f"{CONNECT}\nclient.recv(1)"]
    result = outboard("run", "--", *command, environment=fake_native)
    assert result.returncode == 1
    assert "ConnectionResetError" in result.stderr
    assert "outboard: the embedded daemon did not start (Exec format error: " in result.stderr


# With --quiet, Python runs the program that runs the command.
BOTH_WAYS = pytest.mark.parametrize("options", [[], ["--quiet"]])


@BOTH_WAYS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_forwarded(
    fake_native: Environment, tmp_path: Path, number: signal.Signals, options: list[str]
) -> None:
    with subprocess.Popen(
        command_line("run", *options, "--", sys.executable, "-c", COUNTING),
        env=fake_native,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        for _ in range(2):
            process.send_signal(number)
            assert process.stdout.readline() == b"signal\n"
        process.stdin.close()
        assert process.wait(60) == 42
    assert (tmp_path / "drained").exists()


@BOTH_WAYS
def test_ctrl_c_arrives_once(fake_native: Environment, tmp_path: Path, options: list[str]) -> None:
    """The terminal signals its whole foreground group. Forwarding the signal would deliver it
    twice."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(
            sys.executable,
            command_line("run", *options, "--", sys.executable, "-c", COUNTING),
            fake_native,
        )
    seen = b""

    def read_until(word: bytes) -> None:
        nonlocal seen
        while word not in seen:
            seen += os.read(terminal, 1024)
        seen = seen.split(word, 1)[1]

    read_until(b"ready")
    os.write(terminal, b"\x03")
    read_until(b"signal")
    os.write(terminal, b"\x04")  # end of input
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 41
    assert (tmp_path / "drained").exists(), "Ctrl-C must not reach the daemon before the end"


@BOTH_WAYS
def test_signal_mask_of_the_command_is_empty(
    outboard: Outboard, fake_native: Environment, options: list[str]
) -> None:
    script = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    result = outboard("run", *options, "--", sys.executable, "-c", script, environment=fake_native)
    assert result.stdout == "set()\n"


def test_blank_in_the_library_path(
    outboard: Outboard, fake_native: Environment, tmp_path: Path
) -> None:
    moved = tmp_path / "with blank"
    Path(fake_native["OUTBOARD_NATIVE_DIR"]).rename(moved)
    fake_native["OUTBOARD_NATIVE_DIR"] = str(moved)
    result = outboard("run", "--", "sh", "-c", "echo $LD_PRELOAD", environment=fake_native)
    assert result.returncode == 0
    assert " " not in result.stdout.strip()
    assert "cannot be preloaded" not in result.stderr  # the complaint of ld.so


def test_empty_report(outboard: Outboard, fake_native: Environment) -> None:
    result = outboard("run", "--report", "--", "true", environment=fake_native)
    assert result.returncode == 0
    assert result.stderr == (
        "outboard: no counters were left, because the library saw no call of BLAS, LAPACK or FFTW "
        "in the command\n"
    )
    off = outboard("run", "--mode", "off", "--report", "--", "true", environment=fake_native)
    assert off.stderr == "outboard: no counters were left, because mode off counts no calls\n"
