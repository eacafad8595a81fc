"""Refusals as RFC 9457 problems: `application/problem+json`."""

from __future__ import annotations

import msgspec

from outboard.pool.core.replies import Problem

TYPE = "urn:outboard:problem:"

# Name -> status. A test compares the statuses of the core with these.
STATUS = {
    "bad-request": 400,
    "no-certificate": 401,
    "not-yours": 403,
    "banned": 403,
    "unknown": 404,
    "wrong-method": 405,
    "too-slow": 408,
    "other-body": 409,
    "can-never-fit": 409,
    "not-held": 409,
    "not-registered": 409,
    "other-instance": 409,
    "other-daemon": 409,
    "retired": 409,
    "lease-over": 410,
    "too-large": 413,
    "invalid": 422,
    "too-many-waiting": 429,
    "failed": 500,
    "not-leader": 503,
    "starting": 503,
    "storage": 503,
}


STARTING = ("starting", "the manager starts; ask again in a moment")


class ProblemBody(msgspec.Struct):
    """A refusal. `detail` says the problem, why, and what helps."""

    type: str
    title: str
    status: int
    detail: str


class ProblemError(Exception):
    """A refusal on the way to an answer."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = Problem(STATUS[name], name, detail)


def body_of(problem: Problem) -> ProblemBody:
    title = problem.name.replace("-", " ")
    return ProblemBody(TYPE + problem.name, title, problem.status, printable(problem.detail))


def printable(text: str, most: int = 400) -> str:
    """Returns `text` without control characters, for logs, terminals and answers."""
    clean = "".join(c if c.isprintable() else "?" for c in text[:most])
    return clean + ("..." if len(text) > most else "")
