"""The drop-in library's answer about one call, and the process that gives it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from outboard.errors import OutboardError

REMOTE = "remote"
_FINENESS = 1.1  # the factor to which a crossing is found


@dataclass(frozen=True)
class Answer:
    """The answer for one call. `values` are the library's, by key. Keys without a known value are
    absent."""

    routine: str
    sizes: str
    values: Mapping[str, str]

    def number(self, key: str) -> float | None:
        try:
            return float(self.values[key])
        except (KeyError, ValueError):
            return None

    def text(self, key: str) -> str:
        return self.values.get(key, "")

    @property
    def choice(self) -> str:
        return self.text("choice")

    @property
    def faster(self) -> float | None:
        """Returns the expected local time over the expected remote time."""
        here, there = self.number("local_s"), self.number("remote_s")
        return here / there if here and there else None

    def as_json(self) -> dict[str, object]:
        """Returns the values for JSON, with numbers as numbers."""
        found = {key: self.number(key) for key in self.values}
        made = {k: v if (v := found[k]) is not None else self.values[k] for k in self.values}
        return {"routine": self.routine, "sizes": self.sizes, **made}


def parse(routine: str, sizes: str, text: str) -> Answer:
    """Parses the lines "key value" of outboard_explain."""
    pairs = (line.partition(" ") for line in text.splitlines())
    return Answer(routine, sizes, {key: value.strip() for key, _, value in pairs if key})


class Asker:
    """Context manager for one process with the drop-in library. It answers any number of questions,
    so that it connects once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Asker:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "outboard.explain.answering"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches us, and we end it
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        child, self._child = self._child, None
        assert child is not None
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def ask(self, routine: str, sizes: str) -> Answer:
        """Asks one question. Raises OutboardError with the library's message if the question is
        wrong."""
        child = self._child
        assert child is not None and child.stdin is not None and child.stdout is not None
        line = ""
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(json.dumps([routine, sizes]) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        if not line:
            raise OutboardError(_ended(child.wait()))
        status, text = json.loads(line)
        if status:
            raise OutboardError(text.strip() or "the library gives no answer")
        return parse(routine, sizes, text)


def _ended(status: int) -> str:
    if status == 3:
        return (
            "this liboutboard-preload.so explains nothing (it is older than this command); "
            "build it again with `outboard build`"
        )
    return f"the library could not be asked (the program that asks ended with status {status})"


def crossing(asker: Asker, routine: str, sizes: Sequence[int]) -> str:
    """Returns the sizes that go out, among these and those between them, in words: "never",
    "always", "from 740", "100 to 300", "only 100". Returns "" if there is no size with known times
    of both sides."""
    answers = [asker.ask(routine, str(size)) for size in sorted(sizes)]
    known = [one for one in answers if one.faster is not None]
    out = [index for index, one in enumerate(known) if one.choice == REMOTE]
    if not known:
        return ""
    if not out:
        return "never"
    if len(out) == len(known):
        return "always"
    if out[-1] < len(known) - 1:  # small calls that are slow locally
        first, last = known[out[0]].sizes, known[out[-1]].sizes
        return f"{first} to {last}" if first != last else f"only {first}"
    last_here = max(set(range(len(known))) - set(out))
    low, high = int(known[last_here].sizes), int(known[last_here + 1].sizes)
    return f"from {_bisect(asker, routine, low, high)}"


def _bisect(asker: Asker, routine: str, low: int, high: int) -> int:
    """Returns the smallest size that goes out, between a size that does not and one that does."""
    while high > low * _FINENESS and high - low > 1:
        middle = min(max(round((low * high) ** 0.5), low + 1), high - 1)
        if asker.ask(routine, str(middle)).choice == REMOTE:
            high = middle
        else:
            low = middle
    return high
