"""The table and the rows of `outboard bench gpu`."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from outboard_bench import gpu_model
from outboard_bench.gpu_measure import Measured
from outboard_bench.rows import Row, console

_S = 1e3  # a second in ms
DIRECT = "the library on the device, page-locked copies"


def print_table(measured: Sequence[Measured]) -> None:
    """Prints a line for each problem, with times in ms."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    names = list(measured[0].places)
    headings = ["problem", *(f"{name} ms" for name in names), "device ms", "of it computing"]
    headings += ["shm: x native", "of device", "of floor*", "TFLOP/s"]
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "problem" else "right")
    for one in measured:
        table.add_row(*_cells(one, names))
    console().print(table)
    print(
        "of device: the device's time, with page-locked copies, over that of the program through "
        "shared memory.\n* assumed, not measured: a copy of 10 GB/s each way, and the device's "
        "rates in bench/outboard_bench/gpu_model.py"
    )


def _cells(one: Measured, names: Sequence[str]) -> list[str]:
    whole = one.direct_median("whole")
    shm = one.median("shm")
    times = [one.median(name) for name in names]
    native = min(time for name, time in zip(names, times, strict=True) if name.startswith("local"))
    return [
        str(one.problem),
        *(f"{time:.4g}" for time in times),
        f"{whole:.4g}",
        f"{one.direct_median('compute'):.4g}",
        f"{native / shm:.3g}",
        f"{whole / shm:.3g}",
        f"{gpu_model.shm_s(one.problem) * _S / shm:.3g}",
        f"{one.problem.flops / shm * 1e-9:.3g}",
    ]


def rows_of(one: Measured) -> Iterator[Row]:
    """Yields the rows of one problem. `case` is "PROBLEM, PLACE", or names a part of the device's
    time."""
    whole = one.direct_median("whole")
    for name, times in one.places.items():
        yield _row(one, name, times, (whole, DIRECT))
        yield _row(one, f"{name}, first", [one.first[name]], None)
    floors: Mapping[str, float] = {
        "compute": gpu_model.compute_s(one.problem) * _S,
        "whole": gpu_model.pcie_s(one.problem) * _S,
    }
    for step, times in one.direct.items():
        beside = (floors[step], "floor, assumed") if step in floors else None
        yield _row(one, f"device {step.replace('_', ' ')}", times, beside)
    floor = (gpu_model.shm_s(one.problem) * _S, "floor with a copy each way, assumed")
    yield _row(one, "shm, beside its floor", one.places["shm"], floor)


def _row(one: Measured, what: str, times: Sequence[float], beside: tuple[float, str] | None) -> Row:
    value = statistics.median(times)
    return Row(
        bench="gpu",
        case=f"{one.problem}, {what}",
        bytes=one.problem.bytes_to + one.problem.bytes_from,
        value=value,
        unit="ms",
        ceiling=beside[0] if beside else None,
        ceiling_name=beside[1] if beside else None,
        ratio=beside[0] / value if beside and value > 0 else None,
        min=min(times),
        max=max(times),
        runs=len(times),
    )
