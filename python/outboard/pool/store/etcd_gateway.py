"""Asks etcd through its JSON gateway (`/v3`, in etcd 3.4 and later)."""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import urllib3

from outboard.errors import OutboardError
from outboard.pool.store.base import StoreError

_CONNECT_S = 1.0
# A member without a quorum answers after 7 s at the earliest; another member may answer now.
_ANSWER_S = 2.0
_PAUSE_S = 0.05
_PORT = 2379
_PAGE_KEYS = 500  # of one answer, so that it stays far below the 4 MiB of a message
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
_PREFIX = re.compile(r"[A-Za-z0-9._/-]{1,200}")
_FORM = "etcd://HOST:PORT,HOST:PORT,.../PREFIX"

# A comparison or an operation of a transaction, as the gateway takes it.
Json = dict[str, Any]


class EtcdError(StoreError):
    """etcd refuses the request; another attempt will not help."""


class EtcdSilentError(StoreError):
    """No member has answered in time: nobody knows whether etcd has done it."""


class EtcdAddress(NamedTuple):
    """The members of etcd, and the prefix of all keys of the pool. `tls`: a folder with ca.pem; and
    client.pem and client.key if etcd asks for certificates."""

    members: tuple[tuple[str, int], ...]
    prefix: str
    tls: Path | None = None

    @staticmethod
    def parse(text: str, tls: Path | None = None) -> EtcdAddress:
        """Reads etcd://HOST:PORT,HOST,.../PREFIX. Raises OutboardError."""
        places, _, prefix = text.removeprefix("etcd://").partition("/")
        prefix = prefix.strip("/") or "outboard"
        members = []
        for place in places.split(","):
            found = _HOST.fullmatch(place)
            port = int(found["port"] or _PORT) if found else 0
            if not found or not 0 < port < 65536:
                why = f"'{place}' is no host and port"
                raise OutboardError(f"'{text}' is no address of etcd ({why}) write {_FORM}")
            members.append((found["host"].strip("[]"), port))
            if tls is None and not _is_loopback(members[-1][0]):
                why = f"{place} is on the network, and whoever reads or changes what travels owns"
                raise OutboardError(
                    f"{text} is refused ({why} the pool) give --etcd-tls FOLDER with ca.pem"
                )
        if not _PREFIX.fullmatch(prefix):
            raise OutboardError(
                f"'{prefix}' is no prefix of keys (letters, digits, . _ - /) write {_FORM}"
            )
        return EtcdAddress(tuple(members), prefix, tls)


class EtcdGateway:
    """All members; asks the one that answered last first. One thread at a time."""

    def __init__(self, address: EtcdAddress, answer_s: float = _ANSWER_S) -> None:
        """`answer_s`: one member has so long. Raises OutboardError if the folder of certificates
        cannot be used."""
        self._answer_s = answer_s
        context = _tls(address.tls) if address.tls else None
        self._members = [_pool(host, port, context) for host, port in address.members]
        self._at = 0
        self.why = ""  # the latest failure, for messages

    def ask(self, path: str, body: Json, until: float) -> Json:
        """Returns the answer. Asks one member after the other until the time `until` of
        time.monotonic(), at least once, so the request may arrive more than once.

        Raises EtcdSilentError, or EtcdError.
        """
        data = json.dumps(body).encode()
        while True:
            for _ in self._members:
                answer = self._ask_member(path, data, until)
                if answer is not None:
                    return answer
                self._at = (self._at + 1) % len(self._members)
                if time.monotonic() >= until:
                    break
            if time.monotonic() + _PAUSE_S >= until:
                raise EtcdSilentError(f"etcd does not answer ({self.why}) is it running there?")
            time.sleep(_PAUSE_S)

    def _ask_member(self, path: str, data: bytes, until: float) -> Json | None:
        member = self._members[self._at]
        left = max(0.1, until - time.monotonic())
        try:
            response = member.urlopen(
                "POST",
                path,
                body=data,
                headers={"content-type": "application/json"},
                retries=False,
                timeout=urllib3.Timeout(
                    connect=min(_CONNECT_S, left), read=min(self._answer_s, left)
                ),
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self.why = f"{member.host}:{member.port}: {type(error).__name__}"
            return None
        try:
            answer = json.loads(response.data)
        except ValueError:
            answer = None
        if response.status == 200 and isinstance(answer, dict):
            return answer
        text = str((answer or {}).get("message") or (answer or {}).get("error") or response.status)
        self.why = f"{member.host}:{member.port}: {text}"
        # 503 and 504: no quorum, no leader, or a new one. 429: too many requests.
        if response.status in (429, 500, 502, 503, 504):
            if "space" not in text:
                return None
            text += "; compact and defragment it, then disarm its alarm"
        raise EtcdError(f"etcd refuses a request ({text})")

    def between(
        self, begin: bytes, end: bytes, patience_s: float, page: int = _PAGE_KEYS
    ) -> Iterator[Json]:
        """Yields the keys from `begin` to before `end` as they are at one moment, in order. Each
        page of `page` keys may take so long."""
        revision = 0
        while True:
            body = {"key": coded(begin), "range_end": coded(end), "limit": page}
            until = time.monotonic() + patience_s
            answer = self.ask("/v3/kv/range", {**body, "revision": revision}, until)
            revision = revision or int(answer["header"]["revision"])
            found = answer.get("kvs", [])
            yield from found
            if not answer.get("more"):
                return
            begin = decoded(found[-1]["key"]) + b"\0"

    def value(self, key: bytes, until: float) -> bytes | None:
        """Returns the value of a key; None: there is no such key."""
        found = self.ask("/v3/kv/range", {"key": coded(key)}, until).get("kvs", [])
        return decoded(found[0].get("value", "")) if found else None

    def below(self, prefix: bytes, patience_s: float) -> Iterator[tuple[str, bytes]]:
        """Yields the rests of all keys with the prefix, in order, and the values. `patience_s`: as
        in between()."""
        for kv in self.between(prefix, past(prefix), patience_s):
            rest = decoded(kv["key"]).removeprefix(prefix).decode()
            yield rest, decoded(kv.get("value", ""))

    def close(self) -> None:
        for member in self._members:
            member.close()


def coded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def decoded(text: str) -> bytes:
    return base64.b64decode(text)


def past(prefix: bytes) -> bytes:
    """Returns the first key that is after all keys with the prefix."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def put(key: bytes, value: bytes, lease: int = 0) -> Json:
    return {"request_put": {"key": coded(key), "value": coded(value), "lease": lease}}


def delete(key: bytes, end: bytes = b"") -> Json:
    return {"request_delete_range": {"key": coded(key), "range_end": coded(end)}}


def look(key: bytes) -> Json:
    return {"request_range": {"key": coded(key)}}


def created_at(key: bytes, revision: int) -> Json:
    """The key was created by this revision of etcd; 0: there is no such key."""
    return {"key": coded(key), "target": "CREATE", "create_revision": revision}


def has_value(key: bytes, value: bytes | None) -> Json:
    """The key has this value; None: there is no such key."""
    if value is None:
        return created_at(key, 0)
    return {"key": coded(key), "target": "VALUE", "value": coded(value)}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pool(host: str, port: int, context: ssl.SSLContext | None) -> urllib3.HTTPConnectionPool:
    if context is None:
        return urllib3.HTTPConnectionPool(host, port)
    return urllib3.HTTPSConnectionPool(host, port, ssl_context=context)


def _tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(folder / "ca.pem")
        if (folder / "client.pem").exists():
            key = folder / "client.key"
            if key.stat().st_mode & 0o077:
                raise OutboardError(f"{key} is refused (others may read it) run: chmod 600 {key}")
            context.load_cert_chain(folder / "client.pem", key)
    except (OSError, ssl.SSLError) as error:
        raise OutboardError(
            f"{folder} cannot be used for etcd ({error}) it needs ca.pem, and client.pem and "
            "client.key where etcd asks for certificates"
        ) from error
    return context
