"""Small values that managers leave for each other in etcd. They are no part of the state."""

from __future__ import annotations

import time

from outboard.pool.store.etcd_gateway import (
    EtcdAddress,
    EtcdGateway,
    coded,
    decoded,
    has_value,
    look,
    past,
    put,
)

_ASK_S = 3.0


class EtcdNotes:
    """Every method raises StoreError if etcd does not answer."""

    def __init__(self, address: EtcdAddress) -> None:
        self._prefix = address.prefix.encode() + b"/"
        self._gateway = EtcdGateway(address)

    def first(self, name: str, value: bytes) -> bytes:
        """Returns what has this name: `value` if nothing had."""
        key = self._prefix + name.encode()
        body = {
            "compare": [has_value(key, None)],
            "success": [put(key, value)],
            "failure": [look(key)],
        }
        answer = self._gateway.ask("/v3/kv/txn", body, _until())
        if answer.get("succeeded"):
            return value
        return decoded(answer["responses"][0]["response_range"]["kvs"][0]["value"])

    def write(self, name: str, value: bytes) -> None:
        body = {"key": coded(self._prefix + name.encode()), "value": coded(value)}
        self._gateway.ask("/v3/kv/put", body, _until())

    def erase(self, name: str) -> None:
        body = {"key": coded(self._prefix + name.encode())}
        self._gateway.ask("/v3/kv/deleterange", body, _until())

    def below(self, start: str) -> dict[str, bytes]:
        """Returns all notes whose names begin so, by the rest of the name."""
        begin = self._prefix + start.encode()
        return {
            decoded(kv["key"]).removeprefix(begin).decode(): decoded(kv.get("value", ""))
            for kv in self._gateway.between(begin, past(begin), _ASK_S)
        }

    def close(self) -> None:
        self._gateway.close()


def _until() -> float:
    return time.monotonic() + _ASK_S
