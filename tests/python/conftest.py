"""The fixtures of the Python tests: the command, a stand-in daemon, and the real build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from needs import needs, pytest_runtest_setup  # noqa: F401  (a hook for all tests)
from outboard import paths, preload

pytest_plugins = ("device_places",)

ROOT = Path(__file__).resolve().parents[2]
LIBRARY_VARIABLES = ("LD_PRELOAD", "RCPU_SERVER")

# Connects to the embedded daemon as a client does, and waits until it has started. Then the word
# that follows is a command in place of this program, or a script of Python.
CONNECT = """
import os, socket, sys, time
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect(os.environ["OUTBOARD_SERVER"].removeprefix("unix:"))
started = os.path.join(os.environ.get("FAKE_DAEMON_FOLDER", "/"), "daemon.json")
while "FAKE_DAEMON_FOLDER" in os.environ and not os.path.exists(started):
    time.sleep(0.01)
"""

# Prints its address, writes its arguments and environment to a file, and ends on SIGTERM.
FAKE_DAEMON = """#!{python}
import json, os, pathlib, signal, sys
folder = pathlib.Path(os.environ["FAKE_DAEMON_FOLDER"])
behaviour = os.environ.get("FAKE_DAEMON", "")
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
(folder / "daemon.json").write_text(json.dumps({{
    "arguments": sys.argv[1:], "environment": dict(os.environ), "pid": os.getpid()}}))
print("a line of the daemon's log", file=sys.stderr, flush=True)
if behaviour == "fails":
    sys.exit(3)
address = sys.argv[sys.argv.index("--listen") + 1] if "--listen" in sys.argv else "default"
if behaviour == "lies":
    print("hello", flush=True)
else:
    print("listening on " + address, flush=True)
if behaviour == "ends":
    sys.exit(4)
signal.sigwait({{signal.SIGTERM}})
(folder / "drained").touch()
"""


def assert_gone(pid: int) -> None:
    """Fails if process `pid` still exists, even as a zombie."""
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def command_line(*arguments: str) -> list[str]:
    """Returns the words that start the command line under test, as an installed `outboard`."""
    return [sys.executable, "-P", "-c", "from outboard.start import main; main()", *arguments]


def clean_environment(**extra: str) -> dict[str, str]:
    """Returns the caller's environment without settings of Outboard."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OUTBOARD_") and name not in LIBRARY_VARIABLES
    }
    environment["PYTHONPATH"] = str(ROOT / "python")
    environment.update(extra)
    return environment


Outboard = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def outboard(tmp_path: Path) -> Outboard:
    """Returns a function that runs the command line to its end, in a folder of its own."""

    def run(
        *arguments: str, environment: Mapping[str, str] | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command_line(*arguments),
            env=dict(environment if environment is not None else clean_environment()),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def empty_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes an empty shared library, which is preloaded if the real one is not needed."""
    needs("cc", package="g++")
    library = tmp_path_factory.mktemp("library") / preload.PRELOAD_NAME
    subprocess.run(["cc", "-shared", "-o", library, "-x", "c", "/dev/null"], check=True)
    return library


@pytest.fixture
def fake_native(
    tmp_path: Path, empty_library: Path, native: paths.Native
) -> Iterator[dict[str, str]]:
    """Yields an environment with an empty library, the built program that runs commands, and a
    stand-in daemon, which writes to tmp_path."""
    folder = tmp_path / "native"
    (folder / "lib").mkdir(parents=True)
    (folder / "bin").mkdir()
    shutil.copy(empty_library, folder / "lib")
    shutil.copy(native.runner, folder / "bin")
    daemon = folder / "bin" / preload.DAEMON_NAME
    daemon.write_text(FAKE_DAEMON.format(python=sys.executable))
    daemon.chmod(0o755)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    yield clean_environment(
        OUTBOARD_NATIVE_DIR=str(folder), FAKE_DAEMON_FOLDER=str(tmp_path), TMPDIR=str(temporary)
    )
    assert list(temporary.iterdir()) == [], "the private folder was left behind"


@pytest.fixture(scope="session")
def native() -> paths.Native:
    """Returns the built library and daemon. Under `outboard test` they must exist, because it
    builds them."""
    found = paths.Native(paths.build_folder(ROOT))
    if not found.complete():
        if "OUTBOARD_BUILD_DIR" in os.environ:
            pytest.fail(f"the build in {found.root} lacks the library or the daemon")
        pytest.skip(f"nothing is built in {found.root}")
    return found
