"""`outboard serve --pool`: runs the daemon, and registers it with a manager."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outboard.commands._pool_options import connect
from outboard.doctor import wire
from outboard.errors import OutboardError, say

if TYPE_CHECKING:
    from outboard.pool.agent import Agent

_LISTENING = "listening on "
_PROBE_S = 5.0


def run(
    program: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    given: Mapping[str, Any],
) -> int:
    """Runs the daemon until it ends. Returns its exit status."""
    key = Path(given["key"]) if given["key"] else None
    client = connect(given["pool"], key)
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        daemon = subprocess.Popen(
            [program, *arguments, "--exit-with-parent"],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(environment),
            start_new_session=True,  # Ctrl-C reaches it through us, once
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
        )
    except OSError as error:
        raise OutboardError(f"cannot start {program} ({error.strerror})") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    for number in signals:
        signal.signal(number, lambda got, _frame: daemon.send_signal(got))
    addresses = _addresses(daemon, len(given["listen"]) or 1)
    agent = _agent(client, addresses, given, key) if addresses else None
    status = daemon.wait()
    if agent is not None:
        agent.stop()
    return status if status >= 0 else 128 - status


def _addresses(daemon: subprocess.Popen[str], count: int) -> list[str]:
    """Returns the addresses that the daemon prints when it is ready."""
    found: list[str] = []
    assert daemon.stdout is not None
    while len(found) < count and (line := daemon.stdout.readline()):
        sys.stdout.write(line)
        sys.stdout.flush()
        if line.startswith(_LISTENING):
            found.append(line.removeprefix(_LISTENING).strip())
    return found


def _agent(
    client: Any, addresses: Sequence[str], given: Mapping[str, Any], key: Path | None
) -> Agent:
    from outboard.pool.agent import Agent, Node

    name = _name(key)
    told = tuple(given["advertise"]) or tuple(_reachable(a) for a in addresses)
    labels = dict(text.partition("=")[::2] for text in given["label"])
    node = Node(name, told, _devices(name, addresses, given), labels, wire.VERSION)
    agent = Agent(client, node)
    try:
        agent.register()
        say(f"registered with the pool as {name}; the daemon itself does not enforce leases yet")
    except OutboardError as error:
        say(f"pool: {error.message}; trying again")
    agent.start()
    return agent


def _name(key: Path | None) -> str:
    """Returns the name under which the daemon registers: that of its certificate."""
    if key is None:
        return socket.gethostname()[:64]
    from cryptography.x509.oid import NameOID

    from outboard import keys

    certificate = keys.read_certificate(key, keys.DAEMON)
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _reachable(address: str) -> str:
    """Returns an address that others can use: 0.0.0.0 names no machine."""
    host, _, port = address.rpartition(":")
    if host in ("0.0.0.0", "[::]"):
        return f"{socket.gethostname()}:{port}"
    return address


def _devices(name: str, addresses: Sequence[str], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the devices: as the daemon describes them if it can be asked, else as the options
    say."""
    welcome = None if given["key"] else _ask(addresses)
    count = welcome.devices if welcome else given["devices"] or 1
    one = {
        "kind": welcome.backend if welcome else given["backend"] or "cpu",
        "model": (welcome.description if welcome else "")[:200],
        "memory_bytes": welcome.memory_bytes if welcome else given["device_memory"] or 0,
        "gflops": welcome.gflops_double if welcome else 0.0,
    }
    return [{"id": f"{name}/{index}", **one} for index in range(count)]


def _ask(addresses: Sequence[str]) -> wire.Welcome | None:
    for address in addresses:
        host, _, port = address.rpartition(":")
        if address.startswith(("unix:", "ucx:")):
            continue
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _PROBE_S) as peer:
                session = wire.Session(peer)
                session.close()
                return session.welcome
        except (OSError, wire.NotOutboardError, wire.RefusedError):
            continue
    return None
