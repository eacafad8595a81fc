"""Who is at the other end of a connection, as TLS or the kernel proves it."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from typing import NamedTuple

from outboard.pool.serve.settings import Role, Settings

LOOPBACK = "loopback"  # TCP without keys: anybody on this machine


class Peer(NamedTuple):
    """`holder`: as daemons name the same peer ("certificate ada", "uid 1000"); empty: a browser
    without a certificate. `name`: of its certificate, which a daemon registers under; empty: any.
    """

    holder: str
    name: str
    roles: frozenset[Role]
    address: str
    local: bool  # without TLS, on this machine

    def may(self, role: Role) -> bool:
        return role in self.roles


def peer_of(transport: asyncio.BaseTransport, settings: Settings) -> Peer:
    """Returns the peer of a connection that was just made."""
    tls = transport.get_extra_info("ssl_object")
    if tls is not None:
        return _of_certificate(tls.getpeercert(True), _address(transport), settings)
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family == socket.AF_UNIX:
        size = struct.calcsize("3i")
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        _, uid, _ = struct.unpack("3i", raw)
        holder = f"uid {uid}"
        roles = settings.roles_of(holder) | {Role.USER}
        if uid in (0, os.geteuid()):
            roles |= {Role.ADMIN, Role.BATCH, Role.DAEMON, Role.MONITOR}
        return Peer(holder, "", frozenset(roles), "unix", True)
    roles = settings.roles_of(LOOPBACK) | {Role.USER, Role.DAEMON}
    return Peer(LOOPBACK, "", frozenset(roles), _address(transport), True)


def _of_certificate(der: bytes | None, address: str, settings: Settings) -> Peer:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    if der is None:  # a browser at the address of --page
        return Peer("", "", frozenset(), address, False)
    certificate = x509.load_der_x509_certificate(der)
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    name = str(names[0].value) if names else ""
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    holder = f"certificate {name}"
    if ExtendedKeyUsageOID.SERVER_AUTH in usage:  # first: a daemon's has both
        return Peer(holder, name, frozenset({Role.DAEMON}), address, False)
    return Peer(
        holder,
        name,
        frozenset(settings.roles_of(holder) - {Role.DAEMON} | {Role.USER}),
        address,
        False,
    )


def _address(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) and len(peer) >= 2 else ""
