"""Small values that leaders leave for those after them in etcd. They are no part of the state."""

from __future__ import annotations

import time

from outboard.pool.store.etcd_gateway import (
    EtcdAddress,
    EtcdGateway,
    decoded,
    delete,
    has_value,
    look,
    put,
)
from outboard.pool.store.leadership import Leadership

_ASK_S = 3.0


class EtcdNotes:
    """Every method raises StoreError if etcd does not answer. Those that write raise DeposedError
    if this manager does not lead."""

    def __init__(self, address: EtcdAddress, leadership: Leadership) -> None:
        self._prefix = address.prefix.encode() + b"/"
        self._gateway, self._leadership = EtcdGateway(address), leadership

    def first(self, name: str, value: bytes) -> bytes:
        """Returns what has this name: `value` if nothing had."""
        key = self._key(name)
        found = self._leadership.transact(
            self._gateway, [put(key, value)], _until(), [has_value(key, None)], [look(key)]
        )
        return value if found is None else decoded(found[0][0]["value"])

    def write(self, name: str, value: bytes) -> None:
        self._leadership.transact(self._gateway, [put(self._key(name), value)], _until())

    def erase(self, name: str) -> None:
        self._leadership.transact(self._gateway, [delete(self._key(name))], _until())

    def below(self, start: str) -> dict[str, bytes]:
        """Returns all notes whose names begin so, by the rest of the name."""
        return dict(self._gateway.below(self._key(start), _ASK_S))

    def close(self) -> None:
        self._gateway.close()

    def _key(self, name: str) -> bytes:
        return self._prefix + name.encode()


def _until() -> float:
    return time.monotonic() + _ASK_S
