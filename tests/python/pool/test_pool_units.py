"""The units of deploy/systemd: what systemd says of them, and their commands, run as they are.

Here the commands run without systemd, with other folders.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pool_daemon import PATIENCE_S, until
from pool_server import PYTHON, make_keys
from unit_files import UNITS, Unit, environment_file

from conftest import ROOT, clean_environment
from outboard import paths
from outboard.pool.client import PoolClient
from outboard.pool.serve.notify import notify
from outboard.pool.serve.server import PLACE_LOST, STORE_FAILED

NAMES = sorted(
    path.name for kind in ("*.service", "*.timer") for path in (UNITS.parent).glob(f"*/{kind}")
)
# systemd's own measure, from 0 (safe) to 10. Network, and machine code that is made at run time,
# are what remains. With systemd 252 the figures are 0.7 (backup), 1.4 (manager) and 1.6 (daemon).
MOST_EXPOSED = 1.7

needs_systemd = pytest.mark.needs("systemd-analyze")


def path_of(name: str) -> str:
    (found,) = UNITS.parent.glob(f"*/{name}")
    return str(found)


@needs_systemd
@pytest.mark.parametrize("name", NAMES)
def test_systemd_understands_each_line(name: str) -> None:
    words = ["systemd-analyze", "verify", "--man=no", path_of(name)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("system", ["slurm", "gridengine"])
def test_the_unit_that_reconciles_runs_the_program_of_the_settings(
    system: str, tmp_path: Path
) -> None:
    (line,) = re.findall(
        "^ExecStart=(.*)", Path(path_of("outboard-reconcile@.service")).read_text(), re.MULTILINE
    )
    # As systemd.service(5) tells: %i is the name behind the @, and $$ is a dollar.
    words = [word.replace("$$", "$").replace("%i", system) for word in shlex.split(line)]
    for name in ("outboard", "mine"):
        (tmp_path / name).write_text('#!/bin/sh\necho "${0##*/} $*"\n')
        (tmp_path / name).chmod(0o755)
    for variables, name in (({}, "outboard"), ({"OUTBOARD": f"{tmp_path}/mine"}, "mine")):
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **variables}
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        assert done.stdout == f"{name} pool reconcile {system}\n", done.stderr


@needs_systemd
def test_systemd_notices_a_wrong_line(tmp_path: Path) -> None:
    """The check above can fail."""
    text = (UNITS / "outboardd.service").read_text()
    wrong = tmp_path / "outboardd.service"
    wrong.write_text(text.replace("ProtectSystem=strict", "ProtectSystems=strict"))
    words = ["systemd-analyze", "verify", "--man=no", str(wrong)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    assert "ProtectSystems" in done.stderr


@needs_systemd
@pytest.mark.parametrize("name", sorted(path.name for path in UNITS.glob("*.service")))
def test_services_are_little_exposed(name: str) -> None:
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", path_of(name)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found.group(1)) <= MOST_EXPOSED, done.stdout


def test_units_agree_with_the_programs() -> None:
    manager, daemon = Unit("outboard-pool.service"), Unit("outboardd.service")
    assert str(STORE_FAILED) in manager.one("RestartPreventExitStatus").split()
    assert str(PLACE_LOST) not in manager.one("RestartPreventExitStatus").split()
    assert "ProcSubset" not in manager.values  # the metrics process_* need /proc/stat
    # --drain-time, 30 s by default, and 5 s to finish (apps/outboardd.cpp).
    assert int(daemon.one("TimeoutStopSec")) > 35
    # Users are told apart by their ids over Unix sockets. In a user namespace all are "nobody".
    for unit in (manager, daemon):
        assert "PrivateUsers" not in unit.values


def test_the_page_keeps_the_options_of_the_shipped_file() -> None:
    """Else a reader who copies its line gets a manager without its address and its roles."""
    page = (ROOT / "docs" / "operations.md").read_text().replace("\\\n", "")
    lines = re.findall(r"^ +MANAGER_OPTIONS=(.*)", page, re.MULTILINE)
    shipped = environment_file("manager.env")["MANAGER_OPTIONS"]
    assert lines
    for line in lines:
        assert set(shipped.split()) <= set(line.split()), line


class Site:
    """The files that the units name, in a temporary folder, and the programs they start."""

    def __init__(self, folder: Path, native: paths.Native) -> None:
        self.folder = folder
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "outboard").write_text(
            f'#!/bin/sh\nPYTHONPATH={PYTHON} exec {sys.executable} -m outboard "$@"\n'
        )
        (bin_folder / "outboard").chmod(0o755)
        self.moved = {}
        for path in ("/etc/outboard", "/run/outboard", "/var/lib/outboard-backup",
                     "/var/lib/outboard"):  # fmt: skip
            here = folder / path[1:].replace("/", "-")
            here.mkdir(mode=0o700)
            self.moved[path] = str(here)
        self.etc = Path(self.moved["/etc/outboard"])
        (self.etc / "pool.toml").write_text('[roles]\nadmin = ["root"]\n')
        made = make_keys(folder / "made")
        (self.etc / "keys").mkdir()
        shutil.copytree(made["m1"], self.etc / "keys" / "manager")
        shutil.copytree(made["n1"], self.etc / "keys" / "daemon")
        self.client_key = made["root"]
        self.environment = clean_environment(
            OUTBOARD_NATIVE_DIR=str(native.root), PATH=f"{bin_folder}:{os.environ['PATH']}"
        )
        self.processes: list[subprocess.Popen[bytes]] = []

    def moved_text(self, text: str) -> str:
        for path, here in self.moved.items():
            text = re.sub(rf"{path}(?![\w-])", here, text)
        return text

    def credentials(self, unit: Unit) -> Path:
        """Copies credentials as systemd does where it sets access lists: the mode has a group."""
        to = self.folder / "credentials"
        to.mkdir(exist_ok=True)
        for line in unit.values.get("LoadCredential", ()):
            name, _, source = line.partition(":")
            shutil.copy(self.moved_text(source), to / name)
            (to / name).chmod(0o440)
        return to

    def commands(self, name: str, **changes: str) -> list[list[str]]:
        unit = Unit(name)
        environment: dict[str, str] = {}
        for file in unit.values.get("EnvironmentFile", ()):
            environment |= environment_file(Path(file).name)
        for line in unit.values.get("Environment", ()):
            environment |= dict(pair.split("=", 1) for pair in line.split())
        for before, after in changes.items():
            environment[before] = after
        self.environment |= {key: self.moved_text(value) for key, value in environment.items()}
        words = unit.commands(environment, self.credentials(unit))
        return [[self.moved_text(word) for word in line] for line in words]

    def start(self, words: list[str], **variables: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            words,
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=open(self.folder / f"log{len(self.processes)}", "wb"),  # noqa: SIM115
        )
        self.processes.append(process)
        return process

    def log(self, number: int) -> str:
        return (self.folder / f"log{number}").read_text()


@pytest.fixture
def site(tmp_path: Path, native: paths.Native) -> Iterator[Site]:
    made = Site(tmp_path, native)
    yield made
    for process in made.processes:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.mark.end_to_end
def test_the_commands_of_the_units_serve_and_back_up(site: Site) -> None:
    inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    inbox.bind(str(site.folder / "notify"))
    inbox.settimeout(PATIENCE_S)
    (words,) = site.commands("outboard-pool.service")
    words[words.index("0.0.0.0:7780")] = "127.0.0.1:0"
    manager = site.start(
        words,
        NOTIFY_SOCKET=str(site.folder / "notify"),
        CREDENTIALS_DIRECTORY=str(site.folder / "credentials"),
    )
    assert inbox.recv(100) == b"READY=1"
    assert manager.stdout is not None
    lines = [manager.stdout.readline().decode().split()[-1] for _ in range(2)]
    (url,) = (line for line in lines if line.startswith("https:"))

    options = environment_file("daemon.env")["DAEMON_OPTIONS"]
    options = options.replace("https://pool.example.org:7780", url)
    options = options.replace("0.0.0.0:7770", "127.0.0.1:0")
    (words,) = site.commands("outboardd.service", DAEMON_OPTIONS=options)
    daemon = site.start(words)
    client = PoolClient(url, site.client_key)
    until(
        lambda: any(
            row["allocation"] == "free" and row["health"] == "ok"
            for row in client.pages("/v1/devices", "devices")
        ),
        f"the daemon's device is free; {site.log(0)} {site.log(1)}",
    )
    client.ask("PUT", "/v1/leases/mine", {"ttl_s": 60, "wait_s": 20}, wait_s=20)

    for words in site.commands("outboard-pool-backup.service"):
        subprocess.run(words, env=site.environment, check=True, timeout=PATIENCE_S)
    (copy,) = Path(site.moved["/var/lib/outboard-backup"]).iterdir()
    assert re.fullmatch(r"pool-\d{8}T\d{6}Z\.db", copy.name)
    assert sqlite3.connect(copy).execute("select id from lease").fetchall() == [("mine",)]
    assert copy.stat().st_mode & 0o077 == 0

    daemon.send_signal(signal.SIGHUP)  # ExecReload
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(PATIENCE_S) == 0, site.log(1)
    manager.send_signal(signal.SIGTERM)
    assert manager.wait(PATIENCE_S) == 0, site.log(0)
    assert inbox.recv(100) == b"STOPPING=1"
    inbox.close()


def test_old_backups_are_deleted(site: Site) -> None:
    folder = Path(site.moved["/var/lib/outboard-backup"])
    for name, days in (("pool-old.db", 20), ("pool-new.db", 2), ("other", 20)):
        (folder / name).touch()
        age = folder.stat().st_mtime - days * 86400
        os.utime(folder / name, (age, age))
    _, delete = site.commands("outboard-pool-backup.service")
    subprocess.run(delete, env=site.environment, check=True, timeout=PATIENCE_S)
    assert sorted(path.name for path in folder.iterdir()) == ["other", "pool-new.db"]


def test_a_notification_reaches_abstract_sockets_and_never_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
        name = f"outboard-test-{os.getpid()}"
        inbox.bind(f"\0{name}")
        inbox.settimeout(PATIENCE_S)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        notify("READY=1")
        assert inbox.recv(100) == b"READY=1"
    notify("READY=1")  # nobody listens any more
    monkeypatch.delenv("NOTIFY_SOCKET")
    notify("READY=1")
