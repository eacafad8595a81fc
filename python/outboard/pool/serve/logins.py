"""Links that let a browser without a certificate read the page, and the sessions they begin."""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from outboard.pool.serve.peer import Peer
from outboard.pool.serve.settings import Role

LINK_S = 60.0
SESSION_S = 12 * 3600.0
_MOST = 16  # links, and sessions, of one holder at a time; the oldest makes room
_SEES_ALL = frozenset({Role.ADMIN, Role.MONITOR})
_log = logging.getLogger("outboard.pool")


@dataclass
class _Pass:
    """A link or a session. `reader`: who asked for it. `session`: what a used link has begun."""

    reader: Peer
    until: float
    session: bytes = b""


class Logins:
    """Links and sessions of this process, which end with it. Event loop only."""

    def __init__(self, url: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        """`url`: of the page for browsers without a certificate; empty: there is none."""
        self.url, self._clock = url, clock
        # The prefix makes browsers keep it to this host and to TLS. They send it to all ports of
        # the host, where other managers may be.
        self.cookie = f"__Host-outboard-{urlsplit(url).port or 443}"
        # By the SHA-256 of a secret, so that the time of a search tells nothing about secrets.
        self._links: dict[bytes, _Pass] = {}
        self._sessions: dict[bytes, _Pass] = {}

    def link(self, peer: Peer) -> str:
        """Returns a link that works once within LINK_S, for the eyes of this peer."""
        return f"{self.url}/login?code={self._new(self._links, peer, LINK_S)}"

    def begin(self, code: str) -> str | None:
        """Returns the secret of a new session; None if no link has this code now. A link that is
        used twice was stolen, so the session that it has begun ends, too."""
        self._forget_old()
        link = self._links.get(_key(code))
        if link is None:
            return None
        if link.session:
            _log.warning("a link to the page was used twice; its session has ended")
            self._sessions.pop(link.session, None)
            return None
        secret = self._new(self._sessions, link.reader, SESSION_S)
        link.session = _key(secret)
        link.until = self._clock() + SESSION_S  # a second use ends the session until then
        return secret

    def reader(self, secret: str) -> Peer | None:
        """Returns who reads the page with this secret, without a role that changes anything."""
        self._forget_old()
        session = self._sessions.get(_key(secret))
        return session.reader if session else None

    def _new(self, passes: dict[bytes, _Pass], peer: Peer, seconds: float) -> str:
        self._forget_old()
        own = [key for key, one in passes.items() if one.reader.holder == peer.holder]
        for key in own[: max(0, len(own) + 1 - _MOST)]:
            del passes[key]
        secret = secrets.token_urlsafe(32)
        sees = frozenset({Role.MONITOR}) if peer.roles & _SEES_ALL else frozenset()
        reader = peer._replace(roles=sees)
        passes[_key(secret)] = _Pass(reader, self._clock() + seconds)
        return secret

    def _forget_old(self) -> None:
        now = self._clock()
        for passes in (self._links, self._sessions):
            for key in [key for key, one in passes.items() if one.until <= now]:
                del passes[key]


def _key(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
