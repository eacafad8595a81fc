"""One stage of tuning: runs the child that measures, from its start to its end."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import outboard
from outboard import settings_table
from outboard.errors import OutboardError
from outboard.settings import Settings, without_library
from outboard.tune.calls import Job

_TAIL = 5  # lines
_END_S = 30.0  # the child writes its profile after its last message
Progress = Callable[[str, float], None]


@dataclass
class Result:
    """The measurements of a stage, and the routines that it left out."""

    measured: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    no_time: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def environment_for(
    settings: Settings, preload: Path, libraries: tuple[str, ...], inherited: Mapping[str, str]
) -> dict[str, str]:
    """Returns the environment of a child with the drop-in library in front of `libraries`."""
    kept = {
        row.variable: inherited[row.variable]
        for row in settings_table.rows()
        if row.reaches_server and row.variable in inherited
    }
    behind = ":".join((inherited.get("LD_PRELOAD", ""), *libraries)).strip(":")
    ours = settings.variables(preload, {"LD_PRELOAD": behind})
    package = str(Path(outboard.__file__).resolve().parents[1])
    path = ":".join(p for p in (package, inherited.get("PYTHONPATH", "")) if p)
    return {**without_library(inherited), **kept, **ours, "PYTHONPATH": path}


def run(job: Job, environment: Mapping[str, str], folder: Path, progress: Progress) -> Result:
    """Runs `job` to its end. Raises OutboardError if it fails. On any exception, the child is
    ended."""
    result = Result()
    failed = ""
    errors = folder / "stderr"
    with errors.open("wb") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", "outboard.tune.calls", json.dumps(asdict(job))],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,  # Ctrl-C reaches this process, which ends the child
        )
    try:
        assert child.stdout is not None
        for line in child.stdout:
            failed = failed or _take(line, result, progress)
        status = child.wait(_END_S)
    except subprocess.TimeoutExpired as error:
        raise OutboardError(
            "tuning does not end (the profile was not written); please report this"
        ) from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    if failed or status:
        said = "\n".join(
            "  | " + s for s in errors.read_text(errors="replace").splitlines()[-_TAIL:]
        )
        why = failed or f"the program that measures ended with status {status}"
        raise OutboardError(f"tuning failed ({why})" + (f":\n{said}" if said else ""))
    return result


def _take(line: str, result: Result, progress: Progress) -> str:
    """Handles one line of the child. Returns the reason of its failure if the line gives one."""
    try:
        event = json.loads(line)
    except ValueError:
        return ""  # a library that prints wrote this line
    kind = event.get("event") if isinstance(event, dict) else None
    if kind == "progress":
        progress(event["what"], event["part"])
    elif kind == "libraries":
        result.complaints = event["complaints"]
        if not event["loaded"]:
            return "; ".join(event["complaints"]) or "there is no library to measure"
    elif kind == "done":
        result.measured, result.skipped = event["measured"], event["skipped"]
        result.no_time = event["no_time"]
    elif kind == "failed":
        return str(event["why"])
    return ""
