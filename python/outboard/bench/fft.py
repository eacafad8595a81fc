"""`outboard bench fft`: Fourier transforms of an unmodified program, locally and on a daemon."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from outboard import paths
from outboard.bench import fft_plot, fft_rows, rows
from outboard.bench.daemons import daemon
from outboard.bench.fft_measure import How, Result, measure
from outboard.bench.fft_problems import KINDS, Problem, cubes, of_check
from outboard.bench.fft_program import PROGRAM_NAME, Place
from outboard.bench.links import (
    NOMINAL_GBIT,
    Link,
    Speed,
    Wrap,
    rate_list,
)
from outboard.bench.netns import FAR_ADDRESS, ended_by_exception, require_root
from outboard.errors import OutboardError
from outboard.settings import Settings, without_library

# Links of a check get a burst to begin with; without one the smallest that is enough is looked for.
_CHECK_BURST = 512 << 10


class Fft:
    """Transforms c2c, r2c and c2r of an unmodified program: local, shm, TCP, limited links."""

    name = "fft"
    summary = "FFTW transforms, local and remote, by size and link (its own options: -- --help)"
    draw = staticmethod(fft_plot.draw)

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        options = parse(arguments)
        native = paths.require_native()
        program = native.daemon.parent / PROGRAM_NAME
        if not program.exists():
            raise OutboardError(
                f"{program} is missing (benchmarks are not built there); run `outboard bench list`"
            )
        with ended_by_exception(), tempfile.TemporaryDirectory(prefix="outboard-bench-") as name:
            seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
            print(f"seed {seed} (repeat with --seed {seed})", file=sys.stderr)
            how = How(
                program,
                Path(name),
                "measure" if options.measure else "estimate",
                seed,
                options.rounds,
                correct=options.device_rate is None,
            )
            with _setting(native, Path(name), options) as setting:
                measured: dict[Problem, list[Result]] = {}
                try:
                    _measure_all(_problems(options), setting, how, measured, whole=options.check)
                finally:  # an hour's rows are not lost with the last one
                    written = _rows(measured, setting)
                    if json_file and written:
                        rows.write(written, json_file)
        if options.check:
            _check(written, measured, setting)
        return 0


@dataclass
class _Setting:
    """Where transforms run, and what the links between carry."""

    places: list[Place] = field(default_factory=list)
    speeds: dict[str, Speed] = field(default_factory=dict)


@contextlib.contextmanager
def _setting(native: paths.Native, folder: Path, options: argparse.Namespace) -> Iterator[_Setting]:
    """Daemons and links that are up for the block."""
    setting = _Setting([Place("local 1 thread")])
    cores = len(os.sched_getaffinity(0))
    if cores > 1:
        setting.places.append(Place(f"local {cores} threads", threads=cores))
    served: list[str] = []
    if options.device_rate is not None:
        served = ["--backend", "null", "--device-rate", options.device_rate]
    with contextlib.ExitStack() as stack:
        here = [f"unix:{folder / 'outboardd.sock'}", "127.0.0.1:0"]
        addresses = stack.enter_context(daemon(native.daemon, here, served))
        for name, address in zip(("shm", "tcp"), addresses, strict=True):
            setting.places.append(_remote(name, address, native, folder))
        for rate in options.links:
            link = stack.enter_context(Link(rate, _CHECK_BURST if options.check else None))
            setting.speeds[link.name] = link.measure(*((1, 0.1) if options.check else ()))
            print(_heard(link, setting.speeds[link.name]), file=sys.stderr)
            there = [f"{FAR_ADDRESS}:0"]
            (address,) = stack.enter_context(daemon(native.daemon, there, served, link.far))
            setting.places.append(_remote(link.name, address, native, folder, link.near))
        yield setting


def _remote(
    name: str, address: str, native: paths.Native, folder: Path, wrap: Wrap = list
) -> Place:
    counted = folder / name.replace("/", " per ").replace(" ", "-")
    counted.mkdir()
    settings = Settings(mode="remote", servers=(address,), report=f"dir:{counted}")
    variables = settings.variables(native.preload, without_library(os.environ))
    return Place(name, variables=variables, counters=counted, wrap=wrap)


def _heard(link: Link, speed: Speed) -> str:
    return (
        f"{link.name} ({link.burst}): a plain TCP stream of {min(speed.to_far):.3g} to "
        f"{max(speed.to_far):.3g} Gb/s to the daemon, {min(speed.to_near):.3g} to "
        f"{max(speed.to_near):.3g} back"
    )


def _measure_all(
    problems: Sequence[Problem],
    setting: _Setting,
    how: How,
    measured: dict[Problem, list[Result]],
    *,
    whole: bool,
) -> None:
    """Prints a table for every kind and number of dimensions as it is done, or a whole one."""
    for _, group in groupby(problems, key=lambda p: () if whole else (p.kind, len(p.shape))):
        table = {}
        for problem in group:
            table[problem] = measured[problem] = measure(problem, setting.places, how)
        fft_rows.print_table(table, setting.speeds)
        sys.stdout.flush()


def _rows(measured: Mapping[Problem, list[Result]], setting: _Setting) -> list[rows.Row]:
    return [
        row
        for problem, results in measured.items()
        for row in fft_rows.rows_of(problem, results, setting.speeds)
    ]


def _check(
    written: Sequence[rows.Row], measured: Mapping[Problem, list[Result]], setting: _Setting
) -> None:
    """What --check asserts beyond what every run does: right results, all calls out, all bytes."""
    # Of each problem and place: the median, the first, and where remote 5 stages of each. These
    # are too small for a link's limit, so none has a row for its transfer.
    remote = sum(place.remote for place in setting.places)
    expected = len(measured) * (2 * len(setting.places) + 10 * remote)
    cases = {row.case for row in written}
    values_are_good = all(
        row.value > 0 or (row.value == 0 and " stage " in row.case) for row in written
    )
    if len(cases) != expected or len(written) != expected or not values_are_good:
        raise OutboardError(
            f"{len(written)} rows, {len(cases)} of them different (expected were {expected}), or "
            "a time that is not positive; see the table above"
        )
    worst = max(r.distance / p.error_bound for p, all_ in measured.items() for r in all_)
    print(
        f"checked: {len(measured)} transforms in {len(setting.places)} places, {expected} rows; "
        f"results differ by at most {worst:.2g} of what is allowed"
    )


def _problems(options: argparse.Namespace) -> list[Problem]:
    if options.check:
        return list(of_check())
    precision = "single" if options.single else "double"
    within = (options.min_points, options.max_points)
    chosen = list(cubes(options.kinds, options.dims, precision, within))
    if not chosen:
        raise OutboardError(
            "no transform has so many points; give other --min-points, --max-points"
        )
    return chosen


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a run. Raises OutboardError if links are asked for and cannot be had."""
    parser = argparse.ArgumentParser(prog="outboard bench fft", description=Fft.__doc__)
    add = parser.add_argument
    add("--kinds", type=_words(KINDS), default=KINDS, help="of c2c,r2c,c2r")
    add("--dims", type=_dimensions, default=(1, 2, 3), help="of 1,2,3")
    add("--min-points", type=int, default=0, metavar="N")
    add("--max-points", type=int, default=1 << 24, metavar="N", help="default: 2^24")
    add("--single", action="store_true", help="single precision")
    add("--measure", action="store_true", help="plan with FFTW_MEASURE (default: FFTW_ESTIMATE)")
    add("--rounds", type=int, default=5, help="measurements of each, in turns")
    add("--links", type=_links, help="Gb/s with commas, or none; default as root: 1,10,25")
    add("--device-rate", help="a device that computes nothing at this rate, e.g. 500GF")
    add("--seed", type=int, help="of the numbers that are transformed")
    add("--check", action="store_true", help="tiny transforms once, and whether all is right")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds takes 1 or more")
    if options.check:
        options.rounds = 1
    if options.links is None:
        options.links = NOMINAL_GBIT if os.geteuid() == 0 else ()
        if not options.links:
            print("outboard: emulated links are left out (they need root)", file=sys.stderr)
    if options.links:
        require_root()
    return options


def _links(text: str) -> tuple[float, ...]:
    return () if text == "none" else rate_list(text)


def _words(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        words = tuple(text.split(","))
        if not set(words) <= set(known):
            raise argparse.ArgumentTypeError(f"'{text}' is not of {','.join(known)}")
        return words

    return parse


def _dimensions(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in _words(("1", "2", "3"))(text))
