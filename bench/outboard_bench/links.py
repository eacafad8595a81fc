"""`outboard bench links`: plain TCP over emulated links, and clients striped over streams."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from outboard import settings_table
from outboard_bench import plot, rows, streams
from outboard_bench.arguments import positive
from outboard_bench.link import BURSTS, NOMINAL_GBIT, Link, Load, rate_list, stream
from outboard_bench.netns import ended_by_exception, require_root
from outboard_bench.streams import row


class Links:
    """A plain TCP stream over the loopback and over each link, both ways."""

    name = "links"
    summary = (
        "plain TCP over emulated links of 1, 10, 25 Gb/s, as root (its own options: -- --help)"
    )
    draw = staticmethod(plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = _options(arguments)
        require_root()
        with ended_by_exception():
            measured = [_loopback(options.windows)]
            for rate in options.rates:
                # a check only runs the link, so any burst is enough
                with Link(rate, BURSTS[-1] if options.check else None) as link:
                    measured += _link_rows(link, options.windows)
            if options.streams:
                measured += streams.run(options)
        rows.print_table(measured)
        if json_file:
            rows.write(measured, json_file)
        return 0


def stream_counts(text: str) -> tuple[int, ...]:
    """Parses "1,2,4" as numbers of streams, for argparse."""
    numbers = tuple(int(word) if word.isdecimal() else 0 for word in text.split(","))
    bounds = settings_table.row("streams")
    if not all(bounds.min <= number <= bounds.max for number in numbers):
        raise argparse.ArgumentTypeError(f"'{text}' has no numbers of streams (write 1,2,4)")
    return numbers


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="outboard bench links", description=Links.__doc__)
    parser.add_argument("--rates", type=rate_list, default=NOMINAL_GBIT, help="Gb/s, with commas")
    parser.add_argument(
        "--streams", type=stream_counts, default=(), help="also plain and striped ones, e.g. 1,2,4"
    )
    parser.add_argument(
        "--flow-rate", type=positive, default=2.0, help="Gb/s where flows are limited"
    )
    parser.add_argument(
        "--delay", type=positive, default=5.0, help="ms each way where there is some"
    )
    parser.add_argument("--windows", type=int, default=15, help="stretches of 0.2 s each way")
    parser.add_argument("--check", action="store_true", help="one stretch, to see that it runs")
    options = parser.parse_args(arguments)
    if options.check:
        options.windows = 1
    return options


def _loopback(windows: int) -> rows.Row:
    def here(words: Sequence[str]) -> list[str]:
        return list(words)

    measured = stream(here, here, "127.0.0.1", Load(windows, 0.2))
    return row("loopback, no limit", measured, None)


def _link_rows(link: Link, windows: int) -> list[rows.Row]:
    speed = link.measure(windows)
    return [
        row(f"{link.name} ({link.burst}), {way}", measured, link.gbit_per_s, "nominal")
        for way, measured in (("to the daemon", speed.to_far), ("back", speed.to_near))
    ]
