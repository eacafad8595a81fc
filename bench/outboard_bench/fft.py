"""`outboard bench fft`: Fourier transforms of an unmodified program, locally and on a daemon."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from outboard.errors import OutboardError
from outboard.settings import Settings
from outboard_bench import fft_plot, in_places, places
from outboard_bench.fft_problems import KINDS, Problem, cubes, of_check, shapes
from outboard_bench.fft_program import PROGRAM_NAME


class Fft:
    """Transforms c2c, r2c and c2r of an unmodified program: local, shm, TCP, limited links."""

    name = "fft"
    summary = "FFTW transforms, local and remote, by size and link (its own options: -- --help)"
    draw = staticmethod(fft_plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        problems = _problems(options)
        return in_places.run(problems, PROGRAM_NAME, options, json_file, Settings(mode="remote"))


def _problems(options: argparse.Namespace) -> list[Problem]:
    if options.check:
        return list(of_check())
    precision = "single" if options.single else "double"
    if options.shapes:
        return list(shapes(options.kinds, options.shapes, precision))
    within = (options.min_points, options.max_points)
    chosen = list(cubes(options.kinds, options.dims, precision, within))
    if not chosen:
        raise OutboardError(
            "no transform has so many points; give other --min-points, --max-points"
        )
    return chosen


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options of a run. Raises OutboardError if links are asked for but not
    available."""
    parser = argparse.ArgumentParser(prog="outboard bench fft", description=Fft.__doc__)
    add = parser.add_argument
    add("--kinds", type=_words(KINDS), default=KINDS, help="of c2c,r2c,c2r")
    add("--dims", type=_dimensions, default=(1, 2, 3), help="of 1,2,3")
    add("--min-points", type=int, default=0, metavar="N")
    add("--max-points", type=int, default=1 << 24, metavar="N", help="default: 2^24")
    add("--shapes", type=shapes_of, help="just these, e.g. 131072,256x256,64x64x64")
    add("--single", action="store_true", help="single precision")
    add("--measure", action="store_true", help="plan with FFTW_MEASURE (default: FFTW_ESTIMATE)")
    places.add_options(parser)
    options = parser.parse_args(arguments)
    places.complete(parser, options)
    return options


def _words(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        words = tuple(text.split(","))
        if not set(words) <= set(known):
            raise argparse.ArgumentTypeError(f"'{text}' is not of {','.join(known)}")
        return words

    return parse


def _dimensions(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in _words(("1", "2", "3"))(text))


def shapes_of(text: str) -> tuple[tuple[int, ...], ...]:
    """Parses "131072,256x256"."""
    try:
        found = tuple(tuple(int(n) for n in word.split("x")) for word in text.split(","))
    except ValueError:
        found = ((0,),)
    if not all(len(shape) <= 3 and min(shape) > 0 for shape in found):
        raise argparse.ArgumentTypeError(f"'{text}' has no shapes (write 131072,256x256)")
    return found
