"""`outboard bench products`: a matrix product over a limited link, with every order of its
panels."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard.values import parse_positive
from outboard_bench import native_program, plot, rows
from outboard_bench.arguments import positive
from outboard_bench.daemons import daemon
from outboard_bench.link import Link, Wrap
from outboard_bench.netns import FAR_ADDRESS, ended_by_exception, require_root

PROGRAM_NAME = "product_orders"
CHOSEN = "chosen: "
_MEASURE_TIMEOUT_S = 1800.0


class Products:
    """dgemm over a link to a device of a given speed, by order, beside the prediction."""

    name = "products"
    summary = "a pipelined dgemm by order of panels, over a link, as root (its own: -- --help)"
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        native = paths.require_native()
        program = native_program.require(native, PROGRAM_NAME)
        measured: list[rows.Row] = []
        with ended_by_exception(), _place(options) as (address, near, far, name):
            for n in options.orders:
                for rho in options.rhos:
                    # rho = 8 R / (n beta): the time to send A and B over the time to multiply them
                    rate = rho * n * options.gbit / 8 / 8
                    served = ["--backend", "null", "--device-rate", f"{rate:.6f}GF"]
                    with daemon(native.daemon, [address], served, far) as (there,):
                        found = _by_parts(near, program, there, n, rate, options)
                    fresh = [_row(f"{name} n={n} rho={rho:g}", line, n) for line in found]
                    rows.print_table(fresh)
                    measured += fresh
        if json_file:
            rows.write(measured, json_file)
        return 0


@contextlib.contextmanager
def _place(options: argparse.Namespace) -> Iterator[tuple[str, Wrap, Wrap, str]]:
    """Yields the address of the daemon, the functions that run both ends, and the link between
    them."""
    if options.loopback:
        yield "127.0.0.1:0", list, list, "loopback"
        return
    require_root()
    with Link(options.gbit, native_program.CHECK_BURST if options.check else None) as link:
        yield f"{FAR_ADDRESS}:0", link.near, link.far, link.name


def _by_parts(
    near: Wrap, program: Path, server: str, n: int, rate: float, options: argparse.Namespace
) -> list[str]:
    """Measures all orders for each number of panels, and the library's own choice."""
    found: list[str] = []
    for parts in options.parts:
        command = [str(program), "--server", server, "--rate", f"{rate:.6f}", "--order", str(n)]
        lines = _measure(near([*command, "--parts", str(parts), "--runs", str(options.runs)]))
        chosen = [line for line in lines if line.startswith(CHOSEN)]
        found += [line for line in lines if line not in chosen]
    return found + chosen


def _measure(command: Sequence[str]) -> list[str]:
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=_MEASURE_TIMEOUT_S,
    )
    if done.returncode != 0:
        raise OutboardError(f"{PROGRAM_NAME} failed (its message is above)")
    return done.stdout.splitlines()[1:]  # the first line gives the measured rate of the link


def _row(where: str, line: str, n: int) -> rows.Row:
    """Parses a line: order, parts, predicted seconds, seconds of each run."""
    order, parts, predicted, *seconds = line.split(",")
    runs = [float(text) * 1e3 for text in seconds]
    case, size = f"{where} {order} {parts}", 3 * 8 * n * n
    return rows.Row.of_runs("products", case, size, runs, "ms", float(predicted) * 1e3, "predicted")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench products", description=Products.__doc__)
    add = parser.add_argument
    add("--gbit", type=positive, default=10.0, help="rate of the link [Gb/s]")
    add("--loopback", action="store_true", help="no link: loopback TCP, --gbit for its rate")
    add("--orders", type=_numbers(int), default=(2000, 4000, 8000), help="of the matrices")
    add(
        "--rhos",
        type=_numbers(parse_positive),
        default=(0.2, 0.5, 1.0, 2.0),
        help="transfer by compute",
    )
    add("--parts", type=_numbers(int), default=(8,), help="panels of the fixed orders")
    add("--runs", type=int, default=5, help="of each order, in turns")
    add("--check", action="store_true", help="a small one, once, to see that it runs")
    options = parser.parse_args(arguments)
    if options.check:
        options.orders, options.rhos, options.runs = (600,), (1.0,), 1
    return options


def _numbers(kind: Callable[[str], float]) -> Callable[[str], tuple[float, ...]]:
    def parse(text: str) -> tuple[float, ...]:
        numbers = tuple(kind(word) for word in text.split(","))
        if not all(number > 0 for number in numbers):
            raise argparse.ArgumentTypeError(f"'{text}' has a number that is not above zero")
        return numbers

    return parse
