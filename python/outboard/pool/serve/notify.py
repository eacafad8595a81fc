"""Tells systemd how far the manager is, for units of Type=notify (sd_notify(3))."""

from __future__ import annotations

import logging
import os
import socket

_log = logging.getLogger("outboard.pool")


def notify(state: str) -> None:
    """Sends `state`, for example READY=1, to the socket that NOTIFY_SOCKET names, if it names one.

    A failure is only logged: systemd then ends the start by its own time limit.
    """
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name:
        return
    address = "\0" + name[1:] if name.startswith("@") else name  # "@": an abstract address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.sendto(state.encode(), address)
    except (OSError, ValueError) as error:
        _log.warning("cannot tell systemd %s (%s)", state, error)
