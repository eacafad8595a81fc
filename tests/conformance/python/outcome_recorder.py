"""A pytest plugin that notes every test's outcome in the file OUTCOMES names, one JSON line each.

Lines are written as tests begin and end, so that a process that dies leaves the test it died in.
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
    """What pytest's summary would call one phase of a test; "" for one that says nothing."""
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
