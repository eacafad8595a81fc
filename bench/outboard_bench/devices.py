"""`outboard bench devices`: factorizations over several devices, beside the step model."""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from outboard import paths
from outboard.errors import OutboardError
from outboard_bench import native_program, plot, rows

PROGRAM_NAME = "several_devices"
_TIMEOUT_S = 1800.0
_CASE = re.compile(r"(?P<what>.*) g=(?P<devices>\d+) nb=(?P<block>\d+) (?P<how>chosen|tried)")
# The rate of a device [GFLOP/s], the rate of a link [Gb/s], and the order. The first machine is of
# 2009 (70 GFLOP/s in double precision, InfiniBand QDR). With these orders, one device computes for
# a second or two.
_MACHINES = ((70.0, 20.8, 10240), (1000.0, 10.0, 10240), (10000.0, 100.0, 20480))


class Devices:
    """QR and Cholesky with simulated devices and links, beside the step model."""

    name = "devices"
    summary = "QR and Cholesky over several simulated devices (its own: -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        program = native_program.require(paths.require_native(), PROGRAM_NAME)
        measured: list[rows.Row] = []
        for rate, gbit, order in options.machines:
            for routine in options.routines:
                lines = _measure(program, routine, rate, gbit, order, options)
                fresh = [row_of(line, rate, gbit) for line in lines]
                rows.print_table(fresh)
                measured += fresh
        if json_file:
            rows.write(measured, json_file)
        return 0

    def draw(self, found: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws seconds by number of devices, with one panel per routine and machine."""
        parts = [(match, row) for row in found if (match := _CASE.fullmatch(row["case"]))]
        chosen = [(match, row) for match, row in parts if match["how"] == "chosen"]
        cases = [(what, list(group)) for what, group in groupby(chosen, lambda one: one[0]["what"])]
        if not cases:
            raise OutboardError("there is nothing to plot in these rows; leave --plot out")
        figure, axes = plot.panels(len(cases), columns=min(len(cases), 2))
        for axis, (what, group) in zip(axes, cases, strict=True):
            counts = [int(match["devices"]) for match, _ in group]
            axis.set_title(what, fontsize=10)
            predicted = [row["ceiling"] for _, row in group]
            axis.plot(counts, predicted, color="0.55", linestyle="--", label="step model")
            axis.plot(counts, [row["value"] for _, row in group], marker="o", label="measured")
            axis.set_xlabel("devices")
            axis.set_ylabel("ms")
            axis.set_ylim(bottom=0)
            axis.legend(fontsize=8)
        plot.save(figure, file)


def _measure(
    program: Path,
    routine: str,
    rate: float,
    gbit: float,
    order: int,
    options: argparse.Namespace,
) -> list[str]:
    command = [str(program), "--routine", routine, "--order", str(order)]
    command += ["--rate", str(rate), "--gbit", str(gbit), "--runs", str(options.runs)]
    command += ["--devices", ",".join(map(str, options.devices))]
    if options.blocks:
        command += ["--blocks", ",".join(map(str, options.blocks))]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode != 0:
        raise OutboardError(f"{PROGRAM_NAME} failed (its message is above)")
    return done.stdout.splitlines()[1:]  # the first line says how late threads wake up


def row_of(line: str, rate: float, gbit: float) -> rows.Row:
    """Parses a line: routine, n, devices, block, how, panels by the model and seen, predicted,
    runs."""
    routine, n, devices, block, how, _, received, predicted, *seconds = line.split(",")
    runs = [float(text) * 1e3 for text in seconds]
    case = f"{routine} n={n} {rate:g} GF/s {gbit:g} Gb/s g={devices} nb={block} {how}"
    model_ms = float(predicted) * 1e3
    return rows.Row.of_runs("devices", case, int(received), runs, "ms", model_ms, "step model")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench devices", description=Devices.__doc__)
    add = parser.add_argument
    add("--routines", type=_words, default=("qr", "cholesky"), help="qr, cholesky")
    add("--machine", type=_machine, action="append", dest="machines", help="GFLOP/s:Gb/s:order")
    add("--devices", type=_numbers(int), default=(1, 2, 3, 4, 8), help="how many")
    add("--blocks", type=_numbers(int), default=(), help="widths to try besides the chosen one")
    add("--runs", type=int, default=3, help="of each")
    add("--check", action="store_true", help="a small one, once, to see that it runs")
    options = parser.parse_args(arguments)
    options.machines = options.machines or list(_MACHINES)
    if options.check:
        options.machines, options.devices, options.runs = [(1000.0, 100.0, 600)], (1, 3), 1
    return options


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _machine(text: str) -> tuple[float, float, int]:
    words = text.split(":")
    if len(words) != 3:
        raise argparse.ArgumentTypeError(f"'{text}' is not GFLOP/s:Gb/s:order")
    return float(words[0]), float(words[1]), int(words[2])


def _numbers(kind: Callable[[str], int]) -> Callable[[str], tuple[int, ...]]:
    def parse(text: str) -> tuple[int, ...]:
        numbers = tuple(kind(word) for word in text.split(","))
        if not all(number > 0 for number in numbers):
            raise argparse.ArgumentTypeError(f"'{text}' has a number that is not above zero")
        return numbers

    return parse
