"""A pytest plugin that writes every test's outcome to the file OUTCOMES, one JSON line each.

Lines are written when tests begin and end. If a process dies, the file therefore names the test in
which it died.
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any


def _write(**fields: object) -> None:
    with pathlib.Path(os.environ["OUTCOMES"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")


def _outcome(report: Any) -> str:
    """Returns the word of pytest's summary for one phase of a test; "" for a phase without one."""
    if hasattr(report, "wasxfail") and report.outcome in ("skipped", "passed"):
        return "xfailed" if report.outcome == "skipped" else "xpassed"
    if report.when == "call":
        return str(report.outcome)
    if report.outcome == "failed":
        return f"{report.when} failed"
    return "skipped" if report.outcome == "skipped" else ""


def pytest_runtest_logstart(nodeid: str) -> None:
    _write(begins=nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    outcome = _outcome(report)
    if outcome:
        detail = report.longreprtext[-4000:] if report.failed else ""
        _write(id=report.nodeid, outcome=outcome, detail=detail)


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        detail = report.longreprtext[-4000:]
        _write(id=f"collection of {report.nodeid}", outcome="failed", detail=detail)
