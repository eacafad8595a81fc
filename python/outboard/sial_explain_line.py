"""Says why for one line of a program: `outboard sial explain --line`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from outboard.errors import OutboardError
from outboard.report import format_bytes, format_time
from outboard.sial.explain.code import PARDO, Code
from outboard.sial.explain.places import Place, places
from outboard.sial.explain.rates import Rates
from outboard.sial.opcodes import Op
from outboard.sial.records import CAST, NONE, STAR
from outboard.sial_explain import Explained, lines
from outboard.sial_explain_text import flops_text


def explain_line(all_: Sequence[Explained], line: str, rates: Rates | None) -> str:
    """Returns the text for a line such as `product.sial:14`.   Errors: OutboardError"""
    file, _, number = line.rpartition(":")
    if not number.isdigit():
        raise OutboardError(f"'{line}' is no line write --line 14 or --line product.sial:14")
    text = ""
    for one in all_:
        code = Code(one.program)
        places = [code.place(at) for at in range(len(code.instructions))]
        wanted = {
            place
            for place in places
            if place[1] == int(number) and (not file or Path(place[0]).name == Path(file).name)
        }
        for place in sorted(wanted):
            own = [at for at, other in enumerate(places) if other == place]
            text += _Explainer(one, code, rates).line(place, own)
    if not text:
        raise OutboardError(f"no statement stands on line {line} of the job's programs")
    return text


class _Explainer:
    def __init__(self, one: Explained, code: Code, rates: Rates | None) -> None:
        self._one, self._code, self._rates = one, code, rates
        self._counts = one.result.counts
        self._places = places(code, one.options)

    def line(self, place: tuple[str, int], own: list[int]) -> str:
        out = [f"{Path(place[0]).name}:{place[1]} in program {self._one.name}"]
        source = _source(place)
        if source:
            out.append(f"  {source}")
        executions = max(int(self._counts.executions[at]) for at in own)
        workers = self._one.options.workers
        out.append(f"executed {executions:,} times by {workers} workers together")
        out += [f"  in {one}" for one in self._loops(own[0])]
        for at in own:
            out += self._instruction(at)
        if self._rates is not None:
            seconds = sum(
                line.seconds or 0.0
                for line in lines(self._one, self._rates)
                if (line.file, line.line) == place
            )
            out.append(f"takes {format_time(1e9 * seconds)} of all workers together")
        prefix = f"{Path(place[0]).name}:{place[1]}: "
        notes = self._one.result.notes
        out += [f"not exact: {n.removeprefix(prefix)}" for n in notes if n.startswith(prefix)]
        return "\n".join(out) + "\n"

    def _loops(self, at: int) -> list[str]:
        """Returns the loops around an instruction inside its proc, the outermost first."""
        program, found = self._one.program, []
        for number, loop in enumerate(self._code.loops):
            if not loop["begin"] < at <= loop["end"]:
                continue
            indices = loop["indices"][: loop["count"]]
            names = ", ".join(program.string(program["index"][i]["name"]) for i in indices)
            word = "pardo" if loop["kind"] == PARDO else "do"
            begun = int(self._counts.executions[loop["begin"]])
            done = int(self._counts.executions[loop["end"]])
            clauses = len(self._code.clauses(number))
            where = f", {clauses} where" if clauses else ""
            line = self._code.place(loop["begin"])[1]
            found.append(
                (loop["begin"], f"{word} {names} (line {line}{where}): begun {begun:,} times, "
                 f"{done:,} iterations")
            )  # fmt: skip
        return [text for _, text in sorted(found)]

    def _instruction(self, at: int) -> list[str]:
        one = self._code.instructions[at]
        op, executions = Op(one["op"]), int(self._counts.executions[at])
        flops, out = int(self._counts.flops[at]), []
        if op is Op.BLOCK_CONTRACT:
            out += self._contraction(one)
        if flops and executions:
            out.append(
                f"{flops_text(flops)} together, {flops_text(round(flops / executions))} each; "
                f"{_place_text(self._places.get(at))}"
            )
        if op is Op.GET:
            out += self._get(at, one["a"])
        if op in (Op.PUT_BLOCK, Op.PUT_SCALAR):
            sent = format_bytes(int(self._counts.sent[at]))
            what = sent if op is Op.PUT_BLOCK else "a scalar each"
            out.append(f"puts {self._block(one['a'])}: {what} to servers")
        if self._one.result.blocks.instruction == at:
            out.append("here, blocks of workers take the most memory")
        return out

    def _contraction(self, one: dict[str, int]) -> list[str]:
        labels = [self._labels(one[operand]) for operand in ("a", "b", "c")]
        kept, left, right = map(set, labels)
        groups = (
            ("summed over", (left & right) - kept),
            ("rows from", (left & kept) - right),
            ("columns from", (right & kept) - left),
        )
        parts = []
        for word, group in groups:
            names = ", ".join(sorted(self._name(label) for label in group))
            if group:
                parts.append(f"{word} {names} ({self._extents(group)})")
        return [f"a contraction, {'; '.join(parts)}"] if parts else []

    def _extents(self, labels: set[int]) -> str:
        """Returns the range of the product of extents."""
        least = most = 1
        for label in labels:
            index = label & ~CAST
            of = self._one.program["index"][index]
            if label & CAST or of["kind"] == 0:
                continue
            extents = self._range(index)
            least, most = least * min(extents), most * max(extents)
        return f"{least}" if least == most else f"{least} to {most}"

    def _range(self, index: int) -> list[int]:
        ranges = self._one.ranges
        of = ranges[index]
        if of.parent == NONE:
            return list(of.extents) or [1]
        whole = ranges[of.parent].extents or [1]
        return [max(e // min(of.parts, e), 1) for e in whole] + [
            math.ceil(e / min(of.parts, e)) for e in whole
        ]

    def _get(self, at: int, selector: int) -> list[str]:
        counts = self._counts
        executions, requests, received = (
            int(values[at]) for values in (counts.executions, counts.requests, counts.received)
        )
        array = self._one.program["selector"][selector]["array"]
        text = f"{requests:,} of {executions:,} need a request, {format_bytes(received)}"
        if requests < executions:
            text += (
                "; the worker has the block already in the others. It keeps blocks until somebody "
                f"writes to {self._one.array(array)} and all pass a barrier"
            )
        return [f"gets {self._block(selector)}: {text}"]

    def _labels(self, selector: int) -> list[int]:
        one = self._one.program["selector"][selector]
        return [label for label in one["indices"] if label not in (NONE, STAR)]

    def _name(self, label: int) -> str:
        program = self._one.program
        return program.string(program["index"][label & ~CAST]["name"])

    def _block(self, selector: int) -> str:
        array = self._one.program["selector"][selector]["array"]
        names = ",".join(self._name(label) for label in self._labels(selector))
        return f"{self._one.array(array)}[{names}]"


def _place_text(place: Place | None) -> str:
    if place is None:
        return "on the processor of the worker"
    if place.word == "auto":
        return f"on the device or the host, {place.reason}"
    return f"on the {place.word} ({place.reason})"


def _source(place: tuple[str, int]) -> str:
    """Returns the source of a line, if its file is where it was."""
    try:
        return Path(place[0]).read_text().splitlines()[place[1] - 1].strip()
    except (OSError, IndexError, UnicodeDecodeError):
        return ""
