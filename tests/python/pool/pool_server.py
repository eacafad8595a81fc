"""A real manager in a process of its own, and daemons that exist only as far as it can see."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from outboard import keys
from outboard.pool.client import PoolClient, PoolError, UnreachableError, name_in_path
from outboard.pool.core.replies import Desired, DesiredDevice, DesiredLease
from outboard.pool.simulation.gate_model import LeaseGate, Token
from outboard.pool.tokens import Claims

PYTHON = Path(__file__).resolve().parents[3] / "python"
EVERYBODY = '[roles]\nadmin = ["loopback"]\nbatch = ["loopback"]\n'
MEMORY = 1 << 30


class Manager:
    """`outboard pool serve` on a free port."""

    def __init__(
        self,
        folder: Path,
        toml: str = "",
        key: Path | None = None,
        *options: str,
        host: str = "127.0.0.1",
        wrap: Sequence[str] = (),
    ) -> None:
        """`wrap`: the words before the command, which run it on another host."""
        self.folder, self.key, self.host, self.wrap = folder, key, host, wrap
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pool.toml").write_text(toml)
        self.options = options
        self.port = 0
        self.start()

    def start(self) -> None:
        words = [*self.wrap, sys.executable, "-m", "outboard", "pool", "serve"]
        words += ["--listen", f"{self.host}:{self.port}", "--listen", f"unix:{self.folder}/s"]
        words += ["--config", str(self.folder / "pool.toml"), "--log", "json"]
        if "--state" not in self.options:
            words += ["--state", str(self.folder / "state")]
        words += ["--key", str(self.key)] if self.key else []
        self.log = open(self.folder / "log", "ab")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*words, *self.options],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, "PYTHONPATH": str(PYTHON)},
        )
        atexit.register(self.process.kill)  # also after a test that fails
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        self.port = int(self.url.rpartition(":")[2])
        self.process.stdout.readline()

    def client(self, key: Path | None = None) -> PoolClient:
        return PoolClient(self.url, key)

    def local(self) -> PoolClient:
        """Over the Unix socket, as an administrator."""
        return PoolClient(f"unix:{self.folder}/s")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        self.log.close()
        return status


class FakeDaemon(threading.Thread):
    """Registers, beats and obeys as `outboardd` will, with the model of its gate."""

    def __init__(
        self, client: PoolClient, name: str, devices: int = 1, instance: str = "", **facts: Any
    ) -> None:
        super().__init__(daemon=True)
        self.client, self.name = client, name
        self.instance = instance or os.urandom(6).hex()
        self.devices = [f"{name}/{n}" for n in range(devices)]
        self.facts = facts
        self.gate = LeaseGate(name, dict.fromkeys(self.devices, MEMORY))
        self.lock = threading.Lock()
        self.keys: dict[str, str] = {}
        self.seq = 0
        self.ended = threading.Event()
        self.pushes: list[tuple[float, int]] = []
        self.path = f"/v1/daemons/{name_in_path(name)}"

    def register(self) -> None:
        devices = [
            {"id": d, "kind": "gpu", "model": "m", "memory_bytes": MEMORY} for d in self.devices
        ]
        body = {"instance": self.instance, "devices": devices, "wire": [7], **self.facts}
        told = self.client.ask("PUT", self.path, body)
        self.keys = {key["kid"]: key["der"] for key in told["keys"]}
        self.apply(told)
        self.beat(0)

    def beat(self, wait_s: float) -> Any:
        self.seq += 1
        with self.lock:
            reports = [
                {
                    "id": r.id,
                    "floor": r.floor,
                    "sessions": [{"epoch": s.epoch, "busy": s.busy} for s in r.sessions],
                }
                for r in self.gate.report()
            ]
            rev = max(0, self.gate.rev)
        body = {
            "instance": self.instance, "seq": self.seq, "rev": rev, "devices": reports,
            "wait_s": wait_s,
        }  # fmt: skip
        told = self.client.ask("POST", f"{self.path}/heartbeat", body, wait_s=wait_s)
        self.apply(told)
        return told

    def apply(self, told: Any) -> None:
        devices = tuple(
            DesiredDevice(
                d["id"],
                d["floor"],
                tuple(
                    DesiredLease(x["epoch"], x["end_ms"], x["memory_bytes"], x["share"])
                    for x in d["leases"]
                ),
            )
            for d in told["devices"]
        )
        with self.lock:
            self.gate.apply(Desired(told["rev"], told["now_ms"], devices), told["now_ms"])
        self.pushes.append((time.monotonic(), told["rev"]))

    def open(self, claims: Claims, now_ms: int) -> Any:
        """Opens a session, as a client with this token would."""
        token = Token(
            claims.aud, claims.dev, claims.sub, claims.epo, claims.flo, claims.mod == "x",
            claims.shr, claims.mem, claims.exp * 1000, claims.rev, claims.ses,
        )  # fmt: skip
        with self.lock:
            return self.gate.admit(token, claims.sub, now_ms)

    def run(self) -> None:
        registered = False
        while not self.ended.is_set():
            try:
                if registered:
                    self.beat(2)
                else:
                    self.register()
                    registered = True
            except PoolError as error:
                registered = error.name not in ("not-registered", "other-instance")
                time.sleep(0.05)
            except UnreachableError:
                time.sleep(0.05)

    def stop(self) -> None:
        self.ended.set()
        if self.is_alive():
            self.join(10)
        with contextlib.suppress(PoolError, UnreachableError):
            self.client.ask("DELETE", self.path, query={"instance": self.instance})


@contextlib.contextmanager
def running(
    client: PoolClient, *names: str, devices: int = 1, **facts: Any
) -> Iterator[list[FakeDaemon]]:
    daemons = [FakeDaemon(client, name, devices, **facts) for name in names]
    for daemon in daemons:
        daemon.register()
        daemon.start()
    try:
        yield daemons
    finally:
        for daemon in daemons:
            daemon.ended.set()
        for daemon in daemons:
            daemon.stop()


def make_keys(folder: Path) -> dict[str, Path]:
    """Makes a pool with a manager m1, daemons n1 and n2, and clients ada, bob and root."""
    root = keys.make_pool("test", 10)
    keys.write(folder / "authority", keys.POOL, root)
    members = [(keys.MANAGER, "m1"), (keys.DAEMON, "n1"), (keys.DAEMON, "n2"), (keys.DAEMON, "old")]
    members += [(keys.CLIENT, name) for name in ("ada", "bob", "root")]
    made = {}
    for role, name in members:
        managed = role == keys.DAEMON and name != "old"
        member = keys.make_member(root, role, name, 10, managed=managed)
        keys.write(folder / name, role, member)
        keys.write_certificate(folder / name, keys.POOL, root.certificate)
        made[name] = folder / name
    return made
