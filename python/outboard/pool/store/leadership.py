"""Which of several managers leads: a key of etcd, below a lease that the leader keeps alive."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable
from typing import Any

from outboard.pool.store.base import StoreError
from outboard.pool.store.etcd_gateway import (
    EtcdAddress,
    EtcdGateway,
    EtcdSilentError,
    Json,
    created_at,
    decoded,
    look,
    put,
)

TTL_S = 5
# The leader stops so long before etcd may give its place away.
MARGIN_S = 1.0
_BEAT_S = 1.0
# A member that does not answer in this time is passed over, so that three can be asked before the
# leader must stop.
_BEAT_ANSWER_S = 1.0
_ASK_S = 2.0
# The leader writes down the time of the pool at each such beat, for the next one.
_BEATS_OF_TIME = 5


class DeposedError(StoreError):
    """This manager does not lead any more."""


class Leadership:
    """The place of the leader. Every write of the leader is a transact(): etcd refuses it as soon
    as the place is another's, however late it arrives.

    The thread `keeper` keeps the lease of etcd alive. Threads: check() and transact() any, each
    with a gateway of its own; others one.
    """

    def __init__(self, address: EtcdAddress, url: str) -> None:
        """`url`: where clients find this manager, for the answers of the others."""
        self._key = f"{address.prefix}/leader".encode()
        self._time_key = f"{address.prefix}/time".encode()
        self._value = url.encode()
        self.now_ms = 0  # pool time, as the leader last told it
        self._gateway, self._beats = EtcdGateway(address), EtcdGateway(address, _BEAT_ANSWER_S)
        self._lease = 0
        self._created = 0
        self._until_s = 0.0
        self._ended = threading.Event()
        self._turn = threading.Lock()  # resign() waits for a campaign() under way
        self._keeper: threading.Thread | None = None

    def campaign(self) -> str | None:
        """Tries once to lead. Returns None if this manager leads now; else the URL of the one that
        does. Raises StoreError if etcd does not answer."""
        with self._turn:
            if self._ended.is_set():
                raise DeposedError("this manager stops")
            return self._campaign()

    def _campaign(self) -> str | None:
        leader = self._leader()
        if leader is not None:
            return leader
        asked_s = _now_s()
        granted = self._gateway.ask("/v3/lease/grant", {"TTL": TTL_S}, _until())
        self._lease = int(granted["ID"])
        self._until_s = asked_s + int(granted["TTL"]) - MARGIN_S
        body = {
            "compare": [created_at(self._key, 0)],
            "success": [put(self._key, self._value, self._lease)],
            "failure": [look(self._key)],
        }
        answer = self._gateway.ask("/v3/kv/txn", body, _until())
        if answer.get("succeeded"):
            self._created = int(answer["header"]["revision"])
        else:
            found = answer["responses"][0]["response_range"]["kvs"][0]
            if int(found.get("lease", 0)) != self._lease:
                return _text(found)
            self._created = int(found["create_revision"])  # a first answer was lost
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)
        self._keeper.start()
        return None

    def _leader(self) -> str | None:
        found = self._gateway.value(self._key, _until())
        return None if found is None else found.decode(errors="replace")

    def transact(
        self,
        gateway: EtcdGateway,
        operations: list[Json],
        until: float,
        compares: Iterable[Json] = (),
        looks: Iterable[Json] = (),
    ) -> list[list[Json]] | None:
        """A transaction that etcd refuses if this manager does not lead. Returns None if it is
        done; the keys that `looks` find if a comparison of `compares` fails.

        Raises DeposedError, or StoreError if etcd does not answer until then.
        """
        body = {
            "compare": [created_at(self._key, self._created), *compares],
            "success": operations,
            "failure": [look(self._key), *looks],
        }
        answer = gateway.ask("/v3/kv/txn", body, until)
        if answer.get("succeeded"):
            return None
        leader, *found = (r["response_range"].get("kvs", []) for r in answer["responses"])
        if not leader or int(leader[0]["create_revision"]) != self._created:
            raise DeposedError("nothing is stored (another manager leads) start this one again")
        return found

    def time_ms(self) -> int:
        """Returns the pool's time as leaders have written it down. Raises StoreError."""
        return int(self._gateway.value(self._time_key, _until()) or 0)

    @property
    def left_s(self) -> float:
        """Seconds until this manager must stop unless etcd has been heard of."""
        return self._until_s - _now_s()

    def check(self) -> None:
        """Raises DeposedError if this manager may not answer any more."""
        if _now_s() >= self._until_s:
            raise DeposedError(
                "this manager leads no more (etcd was not heard of in time, or has given its place "
                "to another) start it again"
            )

    def resign(self) -> None:
        """Gives the place free at once."""
        self._ended.set()
        with self._turn:
            if self._keeper is not None:
                self._keeper.join(2 * _ASK_S)
            if self._lease and self.left_s > 0:
                with contextlib.suppress(StoreError):
                    self._gateway.ask("/v3/lease/revoke", {"ID": self._lease}, _until())
            self._until_s = 0.0
            self._gateway.close()
        self._beats.close()

    def _keep(self) -> None:
        pause_s, beats = 0.0, 0
        while not self._ended.wait(pause_s):
            pause_s = _BEAT_S
            asked_s = _now_s()
            try:
                answer = self._beats.ask("/v3/lease/keepalive", {"ID": self._lease}, _until())
            except EtcdSilentError:
                pause_s = 0.0  # the question has waited; check() counts the time
                continue
            except StoreError:
                continue
            ttl_s = int(answer.get("result", {}).get("TTL", 0))
            if ttl_s <= 0:
                self._until_s = 0.0
                return
            # The time counts from before the question, since the answer may be late.
            self._until_s = asked_s + ttl_s - MARGIN_S
            beats += 1
            if self.now_ms and beats % _BEATS_OF_TIME == 0:
                self._write_time()

    def _write_time(self) -> None:
        written = [put(self._time_key, str(self.now_ms).encode())]
        with contextlib.suppress(StoreError):  # the next beat finds out
            self.transact(self._beats, written, time.monotonic() + _BEAT_ANSWER_S)


def _text(found: dict[str, Any]) -> str:
    return decoded(found.get("value", "")).decode(errors="replace")


def _until() -> float:
    return time.monotonic() + _ASK_S


def _now_s() -> float:
    # It also counts while the machine is suspended.
    return time.clock_gettime(time.CLOCK_BOOTTIME)
