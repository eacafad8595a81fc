"""Checks the daemons: their answer, its version, and the speed of the connection."""

from __future__ import annotations

import os
import socket
import ssl
import stat
import statistics
import struct
from contextlib import closing
from pathlib import Path

from outboard.doctor import link, wire
from outboard.doctor.finding import Finding, note, ok, problem

_PINGS = 11
_PROBE_BYTES = 1 << 20
# A measurement of this size takes 0.1 s at 10 Gbit/s. Slower links use only the first, small one.
_BULK_BYTES = 64 << 20
_ENOUGH_S = 0.05
_START = "is the daemon running there? `outboard serve --listen ADDRESS` starts one"


def check(address: str, key: Path | None) -> list[Finding]:
    """Checks one daemon."""
    if address.startswith("unix:"):
        return [socket_file(address, Path(address.removeprefix("unix:")))]
    try:
        with closing(link.connect(address)) as peer:
            return _ask(address, peer, key)
    except socket.gaierror as error:
        host = link.split(address)[0]
        text = f"the name {host} is unknown ({error.strerror})"
        return [problem(address, text, "correct the name, or write the number")]
    except TimeoutError:
        text = f"no connection within {link.CONNECT_S:.0f} s"
        return [problem(address, text, "a firewall may drop packets, or the machine is off")]
    except ConnectionRefusedError:
        return [problem(address, "nobody listens on this port", _START)]
    except OSError as error:
        return [problem(address, f"no connection ({error.strerror or error})", _START)]


def socket_file(address: str, path: Path) -> Finding:
    """Checks the socket of a daemon on this machine. Its streams run through shared memory."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return problem(address, "is no socket", "name the one that the daemon listens on")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.settimeout(link.CONNECT_S)
            peer.connect(str(path))
            raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except FileNotFoundError:
        return problem(address, "there is no such socket", _START)
    except PermissionError:
        return problem(
            address,
            "this user may not open it",
            "run the daemon as this user, or use a key and TCP",
        )
    except OSError as error:
        return problem(address, f"nobody listens ({error.strerror or error})", _START)
    pid, uid, _ = struct.unpack("3i", raw)
    if uid not in (os.getuid(), 0):
        text = f"belongs to another user (id {uid}): memory is not shared with strangers"
        return problem(address, text, "run a daemon of your own, or use a key and TCP")
    return ok(address, f"process {pid} listens, shared memory")


def _ask(address: str, peer: socket.socket, key: Path | None) -> list[Finding]:
    """Checks the handshake of TLS, if there is a key, and that of the protocol."""
    try:
        secured = link.secure(peer, key) if key else peer
        with closing(secured):
            session = wire.Session(secured)
            return _welcomed(address, session, bool(key))
    except ssl.SSLError as error:
        return [tls_failed(address, error)]
    except wire.RefusedError as refusal:
        return [refused(address, refusal, key)]
    except (wire.NotOutboardError, ConnectionError) as error:
        return [_stranger(address, error, key)]
    except TimeoutError:
        text = f"took the connection and then said nothing for {link.CONNECT_S:.0f} s"
        return [problem(address, text, "is this the port of an Outboard daemon, and is it stuck?")]


def tls_failed(address: str, error: ssl.SSLError) -> Finding:
    """Explains an error of TLS."""
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"its certificate is not one of this key's pool ({error.verify_message})"
        return problem(
            address,
            text,
            "use keys of one pool on both sides; look at both with `outboard key show`",
        )
    if link.without_tls(error):
        return problem(
            address,
            "answers without TLS, and a key is set here",
            "start the daemon with --key, or unset OUTBOARD_KEY to call it without one",
        )
    why = (error.reason or str(error)).replace("_", " ").lower()
    return problem(
        address,
        f"does not take this key ({why})",
        "use keys of one pool on both sides; expired keys and wrong clocks look like this, too",
    )


def refused(address: str, refusal: wire.RefusedError, key: Path | None) -> Finding:
    """Returns the finding for a daemon that refuses the connection."""
    if refusal.code == wire.VERSION_MISMATCH:
        return _versions(address, refusal.version)
    if refusal.code == wire.DENIED and key is None and "key" in refusal.message:
        return _demands_key(address)
    return problem(address, f"refused: {refusal.message}", "see the daemon's log")


def _versions(address: str, theirs: int) -> Finding:
    return problem(
        address,
        f"speaks version {theirs} of the protocol, this side version {wire.VERSION}",
        "install the same version of Outboard on both sides",
    )


def _demands_key(address: str) -> Finding:
    return problem(
        address,
        "demands a key, and none is set here",
        "set OUTBOARD_KEY to a folder made by `outboard key add client NAME`",
    )


def _stranger(address: str, error: Exception, key: Path | None) -> Finding:
    if key is None and link.demands_key(address):
        return _demands_key(address)
    first = getattr(error, "first", b"")
    said = f", it began with {first[:12]!r}" if first else ""
    return problem(address, f"is no Outboard daemon ({error}{said})", "check the port")


def _welcomed(address: str, session: wire.Session, secured: bool) -> list[Finding]:
    welcome = session.welcome
    if welcome.version != wire.VERSION:
        return [_versions(address, welcome.version)]
    rate = f"{welcome.gflops_double:.3g} GFLOP/s" if welcome.gflops_double else "rate unknown"
    found = [
        ok(
            address,
            f"version {welcome.version}{', TLS' if secured else ''}; device {welcome.device} of "
            f"{welcome.devices}: {welcome.backend}, {welcome.description}, {rate}, "
            f"{welcome.memory_bytes / (1 << 30):.1f} GiB",
        )
    ]
    try:
        found.append(measure(address, session))
    except (wire.CommandError, wire.NotOutboardError, OSError) as error:
        found.append(problem(address, f"lost while measuring ({error})", "see the daemon's log"))
    session.close()
    return found


def measure(address: str, session: wire.Session) -> Finding:
    """Measures round trip and bandwidth of one connection of this program."""
    trip = statistics.median(session.ping() for _ in range(_PINGS))
    size = min(_BULK_BYTES, max(_PROBE_BYTES, session.welcome.memory_bytes // 8))
    session.make_buffer(size)
    data = os.urandom(_PROBE_BYTES)
    sent = session.write(data)
    back, received = session.read(len(data))
    if back != data:
        return problem(address, "other bytes came back than were sent", "do not use this daemon")
    if sent < _ENOUGH_S and size > len(data):
        data *= size // len(data)
        sent = session.write(data)
        received = session.read(len(data))[1]
    speeds = " GB/s, from it ".join(f"{len(data) / s / 1e9:.2f}" for s in (sent, received))
    text = f"round trip {trip * 1e6:.0f} us; to it {speeds} GB/s"
    if len(data) / sent < _SLOW:
        return note(
            address,
            text,
            "only calls with much work per byte pay over this link; --mode auto decides by this",
        )
    return ok(address, text)


_SLOW = 50e6  # bytes/s; a 1 Gbit/s network is faster
