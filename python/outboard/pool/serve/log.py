"""The manager's log on stderr: a line of text, or a JSON object, for each event."""

from __future__ import annotations

import json
import logging
import sys
import time

from outboard.pool.serve.problems import printable


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "facts", {})
        more = "".join(f" {name}={value}" for name, value in facts.items())
        line = printable(f"{record.levelname.lower()}: {record.getMessage()}{more}", 2000)
        return line + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else "")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "message": printable(record.getMessage(), 2000),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            event["error"] = self.formatException(record.exc_info)
        return json.dumps(event)  # escapes everything that is not ASCII


def set_up(form: str, level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    for name, least in (
        ("outboard.pool", level.upper()),
        ("uvicorn", "ERROR"),
        ("asyncio", "ERROR"),
    ):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(least)
    logging.getLogger("uvicorn.error").setLevel("CRITICAL")  # strangers' mistakes
