"""The rows of `outboard bench fft` and `blas`, and their table on the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outboard_bench.fft_measure import Result, best_local, shares
from outboard_bench.fft_program import Stages
from outboard_bench.link import Speed
from outboard_bench.problem import Problem
from outboard_bench.rows import Row, console

STAGES = ("to device", "plan", "compute", "back", "other")
_HEADINGS = dict(zip(STAGES, ("to %", "plan", "comp.", "back", "other"), strict=True))
_TIMES = ("first ms", "ms", "min .. max", "GFLOP/s", "of local", "of link")
_FULL_WIDTH = 150
_MS = 1e-6


def rows_of(
    problem: Problem, results: Sequence[Result], speeds: Mapping[str, Speed]
) -> Iterator[Row]:
    """Yields all rows of one problem. `case` is "PROBLEM, PLACE", followed by the quantity unless
    it is the median."""
    best = best_local(results)
    for result in results:
        steady = [ns * _MS for ns in result.rounds]
        yield _row(problem, result, "", steady, (best.median * _MS, f"best {best.place.name}"))
        speed = speeds.get(result.place.name)
        if speed is not None and speed.transfer_ms(problem.bytes_to, problem.bytes_from):
            yield _transfer_row(problem, result, speed, steady)
        first = (best.first * _MS, f"first of {best.place.name}")
        yield _row(problem, result, ", first", [result.first * _MS], first)
        if result.place.remote:
            yield from _stage_rows(problem, result)


def _transfer_row(problem: Problem, result: Result, speed: Speed, steady: list[float]) -> Row:
    ceiling = speed.transfer_ms(problem.bytes_to, problem.bytes_from)
    there, back = statistics.median(speed.to_far), statistics.median(speed.to_near)
    name = f"its bytes less a burst at the measured {there:.4g} and {back:.4g} Gb/s"
    return _row(problem, result, ", transfer", steady, (ceiling, name))


def _stage_rows(problem: Problem, result: Result) -> Iterator[Row]:
    for stage in STAGES:
        values = [_stage_ms(stages, stage) for stages in result.round_stages]
        yield _row(problem, result, f", stage {stage}", values, None)
    first = shares([result.first_stages], result.first)
    for stage in STAGES:
        yield _row(
            problem, result, f", first stage {stage}", [first[stage] * result.first * _MS], None
        )


def _stage_ms(stages: Stages, stage: str) -> float:
    """Returns the time of a stage per call [ms]."""
    return shares([stages])[stage] * stages.whole / stages.calls * _MS


def _row(
    problem: Problem,
    result: Result,
    what: str,
    values: list[float],
    beside: tuple[float, str] | None,
) -> Row:
    value = statistics.median(values)
    return Row(
        bench=problem.bench,
        case=f"{problem}, {result.place.name}{what}",
        bytes=problem.bytes_to + problem.bytes_from,
        value=value,
        unit="ms",
        ceiling=beside[0] if beside else None,
        ceiling_name=beside[1] if beside else None,
        ratio=beside[0] / value if beside else None,
        min=min(values),
        max=max(values),
        runs=len(values),
    )


def print_table(measured: Mapping[Problem, Sequence[Result]], speeds: Mapping[str, Speed]) -> None:
    """Prints times and stages, in two parts if the terminal is too narrow for both."""
    target = console()
    times, stages = _TIMES, tuple(_HEADINGS.values())
    parts = [(*times, *stages)] if target.width >= _FULL_WIDTH else [times, stages]
    for part in parts:
        target.print(_table(part, measured, speeds))


def _table(
    headings: Sequence[str],
    measured: Mapping[Problem, Sequence[Result]],
    speeds: Mapping[str, Speed],
) -> Any:
    from rich import box
    from rich.table import Table

    table = Table("problem", "place", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for problem, results in measured.items():
        for i, result in enumerate(results):
            cells = _cells(problem, results, result, speeds.get(result.place.name))
            name = str(problem) if i == 0 else ""
            table.add_row(name, result.place.name, *(cells[heading] for heading in headings))
        table.add_section()
    return table


def _cells(
    problem: Problem, results: Sequence[Result], result: Result, speed: Speed | None
) -> Mapping[str, str]:
    link = ""
    if speed is not None:
        transfer = speed.transfer_ms(problem.bytes_to, problem.bytes_from)
        link = f"{transfer / (result.median * _MS):.2f}" if transfer else "-"
    parts = shares(result.round_stages) if result.place.remote else {}
    values = (
        f"{result.first * _MS:.4g}",
        f"{result.median * _MS:.4g}",
        f"{min(result.rounds) * _MS:.3g} .. {max(result.rounds) * _MS:.3g}",
        f"{problem.flops / result.median:.3g}",
        f"{best_local(results).median / result.median:.2f}",
        link,
    )
    shown = {_HEADINGS[stage]: f"{100 * parts[stage]:.0f}" if parts else "" for stage in STAGES}
    return dict(zip(_TIMES, values, strict=True)) | shown
