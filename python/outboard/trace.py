"""Joins the trace files of several processes into one that Chrome and Perfetto read."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass
class TraceSummary:
    """The contents of a joined trace."""

    files: int = 0
    events: int = 0
    dropped: int = 0  # lines that are no event, because a killed process wrote only a part


def pieces(stem: Path) -> list[Path]:
    """Returns the files STEM.<pid> that processes wrote."""
    found = [
        file
        for file in stem.parent.glob("*")
        if file.name.startswith(stem.name + ".") and file.name[len(stem.name) + 1 :].isdigit()
    ]
    return sorted(found, key=lambda file: int(file.name.rsplit(".", 1)[1]))


def merge(stem: Path, output: Path) -> TraceSummary:
    """Writes the events of all STEM.<pid> to `output`, which is replaced when the new file is
    complete."""
    summary = TraceSummary()
    handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w") as out:
            out.write('{"displayTimeUnit": "ms", "traceEvents": [')
            for event in _events(stem, summary):
                out.write(",\n" if summary.events else "\n")
                out.write(event)
                summary.events += 1
            out.write("\n]}\n")
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes 0600, which is meant for secrets
        temporary.replace(output)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return summary


def _events(stem: Path, summary: TraceSummary) -> Iterator[str]:
    for file in pieces(stem):
        summary.files += 1
        with file.open(errors="replace") as lines:
            for line in lines:
                text = line.strip().rstrip(",")
                if text in ("", "[", "]"):
                    continue
                try:
                    event = json.loads(text)
                except ValueError:
                    event = None
                if isinstance(event, dict):
                    yield json.dumps(event, separators=(",", ":"))
                else:
                    summary.dropped += 1
