"""Opens connections to daemons: sockets, with TLS if a key is given."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

CONNECT_S = 5.0
PROTOCOL = "outboard"  # the name that both sides give to the application protocol, RFC 7301


def split(address: str) -> tuple[str, int]:
    """Returns host and port of HOST:PORT or [IPv6]:PORT."""
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def connect(address: str) -> socket.socket:
    """Opens a TCP connection. Raises socket.gaierror if the name is unknown, or OSError."""
    peer = socket.create_connection(split(address), CONNECT_S)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def context(key: Path) -> ssl.SSLContext:
    """Returns a TLS 1.3 context for a client of the key's pool. It accepts only certificates of the
    pool, for any name of the host. Raises OSError or ssl.SSLError."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.check_hostname = False  # certificates of members hold the names of people, not of hosts
    made.load_verify_locations(key / "pool.pem")
    made.load_cert_chain(key / "client.pem", key / "client.key")
    made.set_alpn_protocols([PROTOCOL])
    return made


def secure(peer: socket.socket, key: Path) -> ssl.SSLSocket:
    """Starts TLS over `peer` and checks both certificates. Raises ssl.SSLError or OSError."""
    return context(key).wrap_socket(peer)


def demands_key(address: str) -> bool:
    """Returns true if a daemon with a key listens there. In TLS 1.3 it agrees on the protocol
    before it asks for the certificate, which we do not have (RFC 8446, section 2)."""
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    anybody.minimum_version = ssl.TLSVersion.TLSv1_3
    anybody.set_alpn_protocols([PROTOCOL])
    try:
        with connect(address) as peer, anybody.wrap_socket(peer) as secured:
            return secured.selected_alpn_protocol() == PROTOCOL
    except OSError:
        return False


def without_tls(error: ssl.SSLError) -> bool:
    """Returns true if the handshake failed because the other side does not speak TLS."""
    return error.reason in (
        "WRONG_VERSION_NUMBER",
        "RECORD_LAYER_FAILURE",
        "UNEXPECTED_EOF_WHILE_READING",
        "HTTP_REQUEST",
        "PACKET_LENGTH_TOO_LONG",
        "BAD_RECORD_TYPE",
    )
