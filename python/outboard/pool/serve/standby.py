"""A manager that does not lead yet, because another one does or etcd does not answer."""

from __future__ import annotations

import asyncio
import json
import logging
import time

from outboard.pool.serve.problems import STARTING, ProblemError, printable
from outboard.pool.store.base import StoreError
from outboard.pool.store.etcd import EtcdStore
from outboard.pool.store.etcd_gateway import EtcdAddress
from outboard.pool.store.etcd_notes import EtcdNotes
from outboard.pool.store.leadership import Leadership
from outboard.pool.tokens import Signer

_PAUSE_S = 0.5  # between two looks at who leads
_SIGNERS = "signers/"
# etcd keeps so many public keys of all managers together. Daemons hear of them when they register,
# so that tokens of the leader before are good until they end.
_KEPT_SIGNERS = 8

_log = logging.getLogger("outboard.pool")


class Standby:
    """Waits until this manager leads. Meanwhile problem() is the answer to all requests."""

    def __init__(self, address: EtcdAddress, url: str) -> None:
        """`url`: of this manager. Raises OutboardError if the certificates cannot be used."""
        self._address = address
        self.leadership = Leadership(address, url)
        self._problem = STARTING

    def problem(self) -> ProblemError:
        return ProblemError(*self._problem)

    async def lead(self) -> EtcdStore:
        """Returns the store when this manager leads."""
        while True:
            try:
                leader = await asyncio.to_thread(self.leadership.campaign)
            except StoreError as error:
                text = f"this manager cannot lead ({printable(str(error))})"
                self._say("storage", f"{text} ask another manager, or see to etcd")
            else:
                if leader is None:
                    _log.info("this manager leads")
                    self._problem = STARTING
                    return EtcdStore(self._address, self.leadership)
                where = f"the one at {printable(leader)} does" if leader else "another one does"
                self._say("not-leader", f"this manager does not lead ({where}) ask that one")
            await asyncio.sleep(_PAUSE_S)

    def _say(self, name: str, text: str) -> None:
        if self._problem != (name, text):
            _log.log(logging.INFO if name == "not-leader" else logging.WARNING, text)
        self._problem = (name, text)


def share_keys(address: EtcdAddress, leadership: Leadership, signer: Signer) -> None:
    """Makes the public keys of `signer` known to the managers that lead later, and theirs to it.
    Raises StoreError; and DeposedError if this manager does not lead."""
    notes = EtcdNotes(address, leadership)
    try:
        for kid, der in signer.own_keys().items():
            notes.write(_SIGNERS + kid, json.dumps([time.time(), der.hex()]).encode())
        found = []
        for kid, raw in notes.below(_SIGNERS).items():
            at_s, der = json.loads(raw)
            found.append((at_s, kid, bytes.fromhex(der)))
        found.sort(reverse=True)
        signer.others = {kid: der for _, kid, der in found[:_KEPT_SIGNERS]}
        for _, kid, _ in found[_KEPT_SIGNERS:]:
            notes.erase(_SIGNERS + kid)
    finally:
        notes.close()


def shared_name(address: EtcdAddress, leadership: Leadership, name: str) -> str:
    """Returns the pool's name that the first manager has chosen. Raises StoreError; and
    DeposedError if this manager does not lead."""
    notes = EtcdNotes(address, leadership)
    try:
        return notes.first("pool-name", name.encode()).decode()
    finally:
        notes.close()
