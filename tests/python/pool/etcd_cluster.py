"""Real members of etcd on loopback, each a process of its own."""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from free_ports import free_ports

from needs import needs
from outboard import keys
from outboard.pool.core.state import Config
from outboard.pool.store.etcd import EtcdStore
from outboard.pool.store.etcd_gateway import EtcdAddress
from outboard.pool.store.leadership import Leadership

needs_etcd = pytest.mark.needs("etcd")
# A new leader of etcd is found faster than with the defaults of 100 ms and 1 s.
_TIMES = ("--heartbeat-interval", "50", "--election-timeout", "500")


class Place(NamedTuple):
    """The host of a member. `wrap`: the words before a command, which run it there."""

    address: str = "127.0.0.1"
    wrap: tuple[str, ...] = ()


class Member:
    """One member. It keeps its ports and its folder when it starts anew."""

    def __init__(
        self, folder: Path, name: str, tls: Path | None, place: Place | None = None
    ) -> None:
        self.folder, self.name, self.tls = folder, name, tls
        self.place = place or Place()
        self.port, self.peer_port = free_ports(2)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.place.address}:{self.port}"

    @property
    def peer(self) -> str:
        return f"http://{self.place.address}:{self.peer_port}"

    def start(self, cluster: str) -> None:
        words = [
            *self.place.wrap,
            "etcd",
            "--name",
            self.name,
            "--data-dir",
            str(self.folder / self.name),
        ]
        words += ["--listen-client-urls", self.url, "--advertise-client-urls", self.url]
        words += ["--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer]
        words += ["--initial-cluster", cluster, "--initial-cluster-state", "new", *_TIMES]
        words += ["--logger", "zap", "--log-level", "warn"]
        if self.tls is not None:
            words += ["--cert-file", f"{self.tls}/manager.pem", "--key-file"]
            words += [f"{self.tls}/manager.key", "--client-cert-auth"]
            words += ["--trusted-ca-file", f"{self.tls}/ca.pem"]
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        atexit.register(self.process.kill)  # also after a test that fails

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        atexit.unregister(self.process.kill)


def make_tls(folder: Path) -> Path:
    """Makes ca.pem, client.pem for managers, and manager.pem for members of etcd: etcd's gateway
    uses the certificate of the server as a client, too."""
    root = keys.make_pool("etcd", 10)
    member = keys.make_member(root, keys.MANAGER, "e", 10, hosts=["127.0.0.1"], managed=True)
    keys.write(folder, keys.MANAGER, member)
    keys.write(folder, keys.CLIENT, keys.make_member(root, keys.CLIENT, "m1", 10))
    keys.write_certificate(folder, "ca", root.certificate)
    return folder


# Prints "true" if a member on another host is well.
_PROBE = """
import json, sys, urllib.request
print(json.load(urllib.request.urlopen(sys.argv[1], timeout=5))["health"])
"""


def _healthy(member: Member) -> bool:
    context = None
    if member.tls is not None:
        context = ssl.create_default_context(cafile=member.tls / "ca.pem")
        context.load_cert_chain(member.tls / "client.pem", member.tls / "client.key")
    if member.place.wrap:
        words = [*member.place.wrap, sys.executable, "-c", _PROBE, f"{member.url}/health"]
        return subprocess.run(words, capture_output=True, check=False).stdout == b"true\n"
    try:
        with urllib.request.urlopen(f"{member.url}/health", timeout=5, context=context) as answer:
            return bool(json.load(answer)["health"] == "true")
    except (OSError, ValueError):
        return False


class EtcdCluster:
    """`tls`: the folder of the certificates, of members and of managers, that make_tls() made.
    `places`: of the members; without any, they run here."""

    def __init__(
        self,
        folder: Path,
        members: int = 1,
        tls: Path | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.members = [
            Member(folder, f"e{n}", tls, places[n] if places else None) for n in range(members)
        ]
        self._line = ",".join(f"{m.name}={m.peer}" for m in self.members)
        for member in self.members:
            self.start(member)
        self.wait()

    def start(self, member: Member) -> None:
        member.start(self._line)

    def wait(self) -> None:
        """Waits until each member that runs answers and knows a leader."""
        for member in self.members:
            for _ in range(600):
                if _healthy(member):
                    break
                time.sleep(0.05)
            else:
                raise AssertionError((member.folder / f"{member.name}.log").read_text()[-2000:])

    def address(self, prefix: str) -> str:
        """Returns what `--state` takes."""
        return (
            "etcd://" + ",".join(f"{m.place.address}:{m.port}" for m in self.members) + f"/{prefix}"
        )

    def stop(self) -> None:
        for member in self.members:
            if member.process is not None and member.process.poll() is None:
                member.kill()


class HoldingProxy(ThreadingHTTPServer):
    """Passes requests on to a member of etcd. While `holds` is set, it holds those of a path, which
    may have to name a key with a word in it; `held` tells that there was one."""

    daemon_threads = True

    def __init__(self, member: Member, path: str, word: bytes = b"") -> None:
        self.member, self.path, self.word = member, path, word
        self.holds, self.held, self.goes_on = (threading.Event() for _ in range(3))
        super().__init__(("127.0.0.1", 0), _Passing)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HoldingProxy

    def do_POST(self) -> None:
        proxy = self.server
        data = self.rfile.read(int(self.headers["content-length"]))
        key = base64.b64decode(json.loads(data).get("key", ""))
        if self.path.endswith(proxy.path) and proxy.word in key and proxy.holds.is_set():
            proxy.held.set()
            proxy.goes_on.wait()
        request = urllib.request.Request(proxy.member.url + self.path, data)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        except OSError:  # the member has ended
            status, body = 503, b"{}"
        with contextlib.suppress(OSError):  # whoever asked may have given up
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests print nothing of it."""


@contextlib.contextmanager
def etcd_cluster(folder: Path, members: int = 1, tls: Path | None = None) -> Iterator[EtcdCluster]:
    """Skips the test that needs it if etcd is not installed."""
    needs("etcd")
    cluster = EtcdCluster(folder, members, tls)
    try:
        yield cluster
    finally:
        cluster.stop()


def leading_store(cluster: EtcdCluster, prefix: str = "") -> EtcdStore:
    """Returns a store of a leader; with a prefix of its own unless one is given."""
    address = EtcdAddress.parse(cluster.address(prefix or os.urandom(6).hex()))
    leadership = Leadership(address, "http://127.0.0.1:1")
    for _ in range(200):
        if leadership.campaign() is None:
            store = EtcdStore(address, leadership)
            store.load(Config())
            return store
        time.sleep(0.05)
    raise AssertionError("another leads")
