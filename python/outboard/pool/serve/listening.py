"""The sockets on which the manager listens, and TLS on them."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
from pathlib import Path

from outboard.errors import OutboardError

_BACKLOG = 1024


def listen(address: str, socket_mode: int, tls: bool) -> socket.socket:
    """Returns a listening socket. Raises OutboardError."""
    try:
        if address.startswith("unix:"):
            return _unix(address.removeprefix("unix:"), socket_mode)
        return _tcp(address, tls)
    except OSError as error:
        raise OutboardError(
            f"cannot listen on {address} ({error.strerror or error}); give another address"
        ) from error


def _unix(path: str, mode: int) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                raise OutboardError(f"{path} is in use (a manager answers there) stop it first")
        os.unlink(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.fchmod(listening.fileno(), mode)  # the mode of the socket's file
    listening.bind(path)
    listening.listen(_BACKLOG)
    return listening


def _tcp(address: str, tls: bool) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.getaddrinfo(host, int(port), family, socket.SOCK_STREAM)[0]
    where = found[4]
    if not tls and not str(where[0]).startswith("127.") and where[0] != "::1":
        raise OutboardError(
            f"{address} is refused (without a key the manager serves this machine only) give --key"
        )
    listening = socket.socket(found[0], socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. asyncio sets it only on sockets that name their protocol. Without it,
    # the body of each answer waits until the peer has acknowledged the header, often 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listening.bind(where)
    listening.listen(_BACKLOG)
    return listening


def name_of(listening: socket.socket, tls: bool) -> str:
    """Returns the URL of a listening socket."""
    if listening.family == socket.AF_UNIX:
        return f"unix:{listening.getsockname()}"
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{shown}:{port}"


def server_tls(folder: Path) -> ssl.SSLContext:
    """Returns TLS 1.3 with the manager's certificate, for members of its pool only."""
    from outboard import keys

    if (folder / "pool.key").exists():
        raise OutboardError(
            f"{folder} holds the pool's secret pool.key (the manager must not have it) make a "
            "folder for it: outboard key add manager NAME --pool FOLDER --to FOLDER"
        )
    certificate = keys.read_certificate(folder, keys.MANAGER)
    if keys.MANAGER_NAME not in keys.host_names(certificate):
        raise OutboardError(f"{folder} has no certificate of a manager; make one by `outboard key`")
    _check_private(folder / f"{keys.MANAGER}.key")
    return _context(folder, keys.MANAGER)


def _context(folder: Path, role: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.num_tickets = 0  # every connection needs a new proof; a ticket costs 0.5 ms
    try:
        context.load_cert_chain(folder / f"{role}.pem", folder / f"{role}.key")
        context.load_verify_locations(folder / "pool.pem")
        if (folder / "pool.crl").exists():
            context.load_verify_locations(folder / "pool.crl")
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    except (OSError, ssl.SSLError) as error:
        raise OutboardError(f"{folder} cannot be used as a key ({error})") from error
    return context


def _check_private(file: Path) -> None:
    try:
        open_to_others = file.stat().st_mode & 0o077
    except OSError as error:
        raise OutboardError(f"cannot read {file} ({error.strerror})") from error
    # systemd opens its copy to one user by an access list, whose mask shows as the group's rights.
    if open_to_others and str(file.parent) != os.environ.get("CREDENTIALS_DIRECTORY"):
        raise OutboardError(f"{file} is refused (others may read it) run: chmod 600 {file}")
