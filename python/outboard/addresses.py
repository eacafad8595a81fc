"""Checks the addresses of daemons."""

from __future__ import annotations

# sizeof(sockaddr_un.sun_path) without the closing zero, unix(7).
MAX_SOCKET_PATH = 107


def check_address(text: str, *, listening: bool = False) -> str:
    """Checks [ucx:]HOST:PORT, [ucx:][v6]:PORT or unix:PATH, and returns it stripped. Port 0 is
    allowed only for a listening daemon."""
    address = text.strip()
    if address.startswith("unix:"):
        path = address[len("unix:") :]
        if not path:
            raise ValueError(
                f"'{text}' names no socket (the path is empty); write unix:/run/x.sock"
            )
        if len(path.encode()) > MAX_SOCKET_PATH:
            raise ValueError(
                f"the socket path of '{text}' is too long (at most {MAX_SOCKET_PATH} bytes); "
                "choose a shorter one"
            )
        return address
    host, colon, port = address.removeprefix("ucx:").rpartition(":")
    bare_v6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not colon or not host or bare_v6:
        raise ValueError(
            f"'{text}' is not an address (HOST:PORT, [IPv6]:PORT, unix:PATH or ucx:HOST:PORT); "
            "write for example 127.0.0.1:7770"
        )
    lowest = 0 if listening else 1
    if not (port.isascii() and port.isdigit() and lowest <= int(port) <= 65535):
        raise ValueError(f"'{text}' has no usable port ({lowest} to 65535); write {host}:7770")
    return address


def check_servers(text: str) -> tuple[str, ...]:
    """Checks comma-separated addresses of daemons."""
    servers = tuple(check_address(part) for part in text.split(",") if part.strip())
    if not servers:
        raise ValueError("no server is named (the list is empty); write HOST:PORT or unix:PATH")
    return servers
