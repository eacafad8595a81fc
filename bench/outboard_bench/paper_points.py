"""Converts the rows of a benchmark to series of points, as a figure shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outboard_bench.plot import size_text
from outboard_bench.products import CHOSEN

Rows = Sequence[Mapping[str, Any]]
STAGES = ("to device", "plan", "compute", "back", "other")
MOVING = ("to device", "back")


@dataclass(frozen=True)
class Point:
    """A value over `x`, with the least and the largest of its runs. Neither name has a comma."""

    series: str
    x: str
    value: float
    unit: str
    low: float
    high: float
    runs: int = 1
    bytes: int = 0
    stated: float | None = None  # the value of the paper, in the same unit


def sizes(points: Sequence[Point]) -> list[str]:
    """Returns every `x` once: numbers in ascending order, others in their own order."""
    found = list(dict.fromkeys(point.x for point in points))
    return sorted(found, key=int) if all(x.isdigit() for x in found) else found


def _point(
    row: Mapping[str, Any], series: str, x: str, unit: str, scale: Callable[[float], float]
) -> Point:
    """Makes a point of a row's value, least and largest in another unit. Least and largest may
    change places."""
    low, high = sorted((scale(row["min"]), scale(row["max"])))
    value = scale(row["value"])
    return Point(series, x, value, unit, low, high, row["runs"], row["bytes"])


def _same(value: float) -> float:
    return value


# --- fft, blas: case "PROBLEM, PLACE", and the quantity unless it is a median of later executions
# ---


def _of_problems(rows: Rows, select: str) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yields the x, place, quantity and row of each problem that `select` chooses."""
    for row in rows:
        problem, place, *what = row["case"].split(", ")
        if re.search(select, problem):
            yield problem.split(" ")[1], place, what[0] if what else "", row


def _local(place: str) -> bool:
    return place.startswith("local ")


def times(rows: Rows, select: str) -> list[Point]:
    """Returns milliseconds in every place, then the speed of remote places over the best local
    one."""
    found = [item for item in _of_problems(rows, select) if item[2] == ""]
    points = [_point(row, place, x, "ms", _same) for x, place, _, row in found]
    for x, place, _, row in found:
        if not _local(place):
            points.append(_beside(row, place, x, "x", row["ceiling"]))
    return points


def _beside(row: Mapping[str, Any], place: str, x: str, unit: str, local_ms: float) -> Point:
    return _point(row, place, x, unit, lambda ms: local_ms / ms)


def stages(rows: Rows, select: str) -> list[Point]:
    """Returns the percentage of later calls by stage and place, with both transfers together, and
    the percentage of planning in first calls."""
    points: list[Point] = []
    for (x, place), parts in _stages_of(rows, select, "stage ").items():
        whole = sum(row["value"] for row in parts.values()) or 1.0
        for stage in STAGES:
            share = _percent(parts[stage]["value"], whole)
            points.append(_plain(parts[stage], f"{place}: {stage}", x, share))
        moving = sum(parts[stage]["value"] for stage in MOVING)
        points.append(_plain(parts["back"], f"{place}: moving", x, _percent(moving, whole)))
    for (x, place), parts in _stages_of(rows, select, "first stage ").items():
        whole = sum(row["value"] for row in parts.values()) or 1.0
        share = _percent(parts["plan"]["value"], whole)
        points.append(_plain(parts["plan"], f"{place}: plan of the first call", x, share))
    return points


def _stages_of(
    rows: Rows, select: str, prefix: str
) -> dict[tuple[str, str], dict[str, Mapping[str, Any]]]:
    split: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for x, place, what, row in _of_problems(rows, select):
        if what.startswith(prefix):
            split.setdefault((x, place), {})[what.removeprefix(prefix)] = row
    return split


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole


def _plain(row: Mapping[str, Any], series: str, x: str, value: float, unit: str = "%") -> Point:
    """Makes a point of several rows, whose spread is not known."""
    return Point(series, x, value, unit, value, value, row["runs"], row["bytes"])


def times_and_stages(rows: Rows, select: str) -> list[Point]:
    """Returns times and stages, and the gain over a slower client, represented by one local
    thread."""
    slow = {
        x: row["value"]
        for x, place, what, row in _of_problems(rows, select)
        if place == "local 1 thread" and not what
    }
    against = [
        _beside(row, place, x, "x 1 thread", slow[x])
        for x, place, what, row in _of_problems(rows, select)
        if not what and not _local(place)
    ]
    return times(rows, select) + against + stages(rows, select)


def hybrid(rows: Rows, select: str) -> list[Point]:
    """Returns the seconds of one local thread. For remote places returns those of the whole call,
    and those without computing and planning."""
    points = []
    split = _stages_of(rows, select, "stage ")
    for x, place, what, row in _of_problems(rows, select):
        if what:
            continue
        if _local(place):
            points.append(_point(row, place, x, "s", lambda ms: ms * 1e-3))
            continue
        away = sum(split[x, place][stage]["value"] for stage in MOVING) * 1e-3
        points.append(_plain(row, f"{place}: comm", x, away, "s"))
        points.append(_point(row, f"{place}: wall", x, "s", lambda ms: ms * 1e-3))
    return points


# --- the others ---


def flops(rows: Rows, select: str) -> list[Point]:
    """Reads rows of fftw_flops: case "2-D, 64x64, multiplications"."""
    del select
    points = []
    for row in rows:
        dimensions, x, what = row["case"].split(", ")
        points.append(_point(row, f"{dimensions} {what}", x, row["unit"], _same))
    return points


def reduction(rows: Rows, select: str) -> list[Point]:
    """Reads rows of plan_ahead: the percentage of time saved against late planning, by bytes."""
    del select
    late = {_key(row): row["value"] for row in rows if row["case"].endswith(" late")}
    ahead = [row for row in rows if row["case"].endswith(" ahead")]
    return [
        _less(row, _key(row)[0], size_text(row["bytes"]), late[_key(row)], "%") for row in ahead
    ]


def _key(row: Mapping[str, Any]) -> tuple[str, int]:
    return row["case"].split(" ")[0], row["bytes"]


_PRODUCT = re.compile(r"n=(\d+) rho=(\S+) (.+) (\d+)$")


def panels(rows: Rows, select: str) -> list[Point]:
    """Reads rows of products: ms by number of panels, and the percentage saved against the call
    without a pipeline."""
    del select
    points, whole = [], {}
    for row in rows:
        match = _PRODUCT.search(row["case"])
        if match is None:
            raise ValueError(f"'{row['case']}' is no case of products")
        n, rho, order, parts = match.groups()
        if (order, parts) == ("whole", "1"):
            whole[n, rho] = row["value"]
        series = f"n={n} rho={rho} {order}"
        points.append(_point(row, series, parts, "ms", _same))
        if (order != "whole" and parts != "1") or order.startswith(CHOSEN):
            points.append(_less(row, series, parts, whole[n, rho], "% less"))
    return points


def _less(row: Mapping[str, Any], series: str, x: str, than_ms: float, unit: str) -> Point:
    return _point(row, series, x, unit, lambda ms: 100 * (1 - ms / than_ms))


def blocks(rows: Rows, select: str) -> list[Point]:
    """Reads rows of copies, in one direction: MiB/s by size, for each block and the plain
    transport."""
    points = []
    for place, block, row in _copies(rows, select):
        x = size_text(row["bytes"])
        points.append(_point(row, f"{place} {block}", x, "MiB/s", _same))
        if block == "whole":
            of = _point(row, f"{place} whole", x, "% of transport", _share_of(row["ceiling"]))
            beside = _plain(row, f"pure transport of {place}", x, row["ceiling"], "MiB/s")
            points += [of, beside]
    return points


def _share_of(ceiling: float) -> Callable[[float], float]:
    return lambda value: 100 * value / ceiling


def attached(rows: Rows, select: str) -> list[Point]:
    """Reads rows of copies, in one direction: MiB/s by size, of whole copies in each place."""
    return [
        _point(row, place, size_text(row["bytes"]), "MiB/s", _same)
        for place, block, row in _copies(rows, select)
        if block == "whole"
    ]


def _copies(rows: Rows, direction: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for row in rows:
        place, way, block = row["case"].split(", ")
        if way == direction:
            yield place, block, row


def swap(rows: Rows, select: str) -> list[Point]:
    """Reads rows of byte_swap: microseconds, and percent of memcpy's rate, by size."""
    del select
    points = []
    for row in rows:
        series, x = row["case"].replace(", ", " "), size_text(row["bytes"])
        points.append(_point(row, series, x, "us", _us_of(row["bytes"])))
        points.append(_point(row, series, x, "% of memcpy", _share_of(row["ceiling"])))
    return points


def _us_of(bytes_: int) -> Callable[[float], float]:
    return lambda gb_per_s: bytes_ / gb_per_s * 1e-3


_FETCH = re.compile(r"prefetch (\w+), over (\w+), (\w+), N=(\w+), (.+)")


def fetches(rows: Rows, select: str) -> list[Point]:
    """Reads rows of `sial prefetch`: the quantity that `select` names, its model if there is one,
    and how much smaller it is with look-ahead."""
    points, models, gains, off = [], [], [], {}
    for row in rows:
        match = _FETCH.fullmatch(row["case"])
        if match is None or match[5] != select:
            continue
        mode, over, x, depth, _ = match.groups()
        series = mode if over == "depth" else f"{mode} N={depth}"
        points.append(_point(row, series, x, row["unit"], _same))
        if row["ceiling"] is not None:
            models.append(_plain(row, f"{series} model", x, row["ceiling"], row["unit"]))
        if depth == "0":
            off[mode, x] = row["value"]
        elif over != "depth" and row["unit"] == "ms":
            # A loop may not wait at all.
            gain = off[mode, x] / max(row["value"], 1e-6)
            gains.append(_plain(row, f"{mode} N=0 / N=auto", x, gain, "x"))
    return points + models + gains


_FACTORIZATION = re.compile(r"(\w+) n=(\d+) .* g=(\d+) nb=\d+ (chosen|tried)")


def devices(rows: Rows, select: str) -> list[Point]:
    """Reads rows of devices, of the routine that `select` names: milliseconds by the number of
    devices, those of the step model, and the speed-up over one device."""
    points, one = [], {}
    for row in rows:
        match = _FACTORIZATION.fullmatch(row["case"])
        if match is None:
            raise ValueError(f"'{row['case']}' is no case of devices")
        routine, order, count, how = match.groups()
        if routine != select or how != "chosen":
            continue
        series = f"n={order}"
        if count == "1":
            one[series] = row["value"]
        points.append(_point(row, series, count, "ms", _same))
        points.append(_plain(row, f"{series} model", count, row["ceiling"], "ms"))
        if count != "1":
            points.append(_beside(row, series, count, "x one device", one[series]))
    return points


_STEP = re.compile(r"(\w+), ([\d,]+) particles, (.+)")


def beside_local(rows: Rows, select: str) -> list[Point]:
    """Reads rows of mp2c, of the placements that `select` chooses: milliseconds by the number of
    particles, and percent of those of the local device."""
    points, local = [], {}
    for row in rows:
        match = _STEP.fullmatch(row["case"])
        if match is None:
            raise ValueError(f"'{row['case']}' is no case of mp2c")
        placement, particles, place = match.groups()
        if re.search(select, placement) is None:
            continue
        series, x = f"{placement} {place}", particles.replace(",", "")
        if place == "local":
            local[placement, x] = row["value"]
        points.append(_point(row, series, x, "ms", _same))
        if place != "local":
            share = _share_of(local[placement, x])
            points.append(_point(row, series, x, "% of local", share))
    return points


def tables(rows: Rows, select: str) -> list[Point]:
    """Reads rows of redblack, and the bound or model beside those that have one."""
    del select
    points = []
    for row in rows:
        _, series, x = row["case"].split(", ")
        points.append(_point(row, series, x, row["unit"], _same))
        if row["ceiling"] is not None:
            name = f"{series} {row['ceiling_name']}"
            points.append(_plain(row, name, x, row["ceiling"], row["unit"]))
    return points


SHOWS: Mapping[str, Callable[[Rows, str], list[Point]]] = {
    "times": times,
    "stages": stages,
    "times and stages": times_and_stages,
    "hybrid": hybrid,
    "flops": flops,
    "reduction": reduction,
    "panels": panels,
    "blocks": blocks,
    "attached": attached,
    "swap": swap,
    "fetches": fetches,
    "beside local": beside_local,
    "devices": devices,
    "tables": tables,
}
