"""Ports for servers that cannot choose one themselves."""

from __future__ import annotations

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """Returns ports of loopback, all different, that nobody used a moment ago."""
    with contextlib.ExitStack() as held:
        servers = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in servers]
