"""Checks the pool of accelerators: its manager, its devices, and whether this side gets a lease."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from outboard.doctor import link
from outboard.doctor.finding import Finding, note, ok, problem
from outboard.errors import OutboardError
from outboard.pool.client import PoolClient, PoolError, UnreachableError, new_id
from outboard.version import version

_LEASE_S = 10.0  # it ends by itself if this program is killed


def check(url: str, key: Path | None) -> list[Finding]:
    """Asks the manager at `url`; takes a lease of one device, and gives it back."""
    try:
        client = PoolClient(url, key)
        found = [_manager(url, client)]
        devices = client.pages("/v1/devices", "devices")
        found.append(_inventory(devices))
        if any(row["admin"] == "open" for row in devices):
            found += _lease(client)
        client.close()
        return found
    except (UnreachableError, PoolError) as error:
        return [problem(url, *_parts(error))]
    except OutboardError as error:  # the address, or the key
        return [problem(url, *_parts(error))]


def _parts(error: OutboardError) -> tuple[str, str]:
    """Returns the problem and the advice of a message "problem (why) advice"."""
    text, end, advice = error.message.partition(") ")
    return text + end.strip(), advice or "see the manager's log"


def _manager(url: str, client: PoolClient) -> Finding:
    told = client.ask("GET", "/healthz")["version"]
    if told != version():
        return note(
            url,
            f"the manager answers; it is of version {told}, this side of {version()}",
            "they work together over one release; update managers first, then daemons, clients",
        )
    return ok(url, f"the manager answers, version {told}")


def _inventory(devices: list[Any]) -> Finding:
    usable = [row for row in devices if row["admin"] == "open" and row["health"] == "ok"]
    free = sum(row["allocation"] == "free" for row in usable)
    kinds = sorted({str(row["kind"]) for row in usable})
    if not usable:
        return note(
            "devices",
            f"none can be used (of {len(devices)})",
            "start daemons with `outboard serve --pool`; `outboard pool why DEVICE` tells more",
        )
    return ok("devices", f"{free} of {len(usable)} are free ({', '.join(kinds)})")


def _lease(client: PoolClient) -> list[Finding]:
    path = f"/v1/leases/{new_id()}"
    try:
        lease = client.ask("PUT", path, {"ttl_s": _LEASE_S})
    except PoolError as error:
        return [problem("a lease", *_parts(error))]
    try:
        if lease["state"] != "held":
            return [note("a lease", "all devices are in use", "jobs wait, or compute locally")]
        handle = lease["handles"][0]
        return [ok("a lease", f"{handle['device']} was given, and taken back"), _reach(handle)]
    finally:
        client.ask("DELETE", path)


def _reach(handle: Any) -> Finding:
    """Finds out whether this machine reaches the daemon. Sockets are those of its own machine."""
    addresses = [str(a) for a in handle["addresses"] if not str(a).startswith("unix:")]
    if not addresses:
        return ok(handle["daemon"], "listens on sockets of its own machine only")
    why = ""
    for address in addresses:
        try:
            link.connect(address).close()
            return ok(handle["daemon"], f"answers at {address}")
        except OSError as error:
            why = error.strerror or str(error)
    return problem(
        handle["daemon"],
        f"no connection to {' or '.join(addresses)} ({why})",
        "a firewall may drop packets; `outboard serve --advertise HOST:PORT` names another address",
    )
