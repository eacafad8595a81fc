"""Benchmarks: the programs <build>/bin/bench_* and those written here, behind one interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from outboard_bench import (
    blas,
    copies,
    decide,
    devices,
    fft,
    fftw_flops,
    gpu,
    links,
    paper,
    products,
    ring,
    startup,
)
from outboard_bench.compiled import PREFIX, Program


class Benchmark(Protocol):
    """Something `outboard bench` can run."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        """Print a table, write rows to `json_file` if given; returns the exit status."""

    def draw(self, rows: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Pictures of these rows, in `file` and perhaps others named after it."""


def written_here() -> dict[str, Benchmark]:
    """The benchmarks in Python, by name."""
    all_of_them: list[Benchmark] = [
        blas.Blas(),
        copies.Copies(),
        decide.Decide(),
        devices.Devices(),
        fft.Fft(),
        fftw_flops.FftwFlops(),
        gpu.Gpu(),
        links.Links(),
        paper.Paper(),
        products.Products(),
        ring.Ring(),
        startup.Startup(),
    ]
    return {benchmark.name: benchmark for benchmark in all_of_them}


def available(programs: Path) -> dict[str, Benchmark]:
    """All benchmarks by name: compiled ones found in `programs`, then those in Python."""
    compiled = [Program(path) for path in sorted(programs.glob(PREFIX + "*"))]
    return {program.name: program for program in compiled} | written_here()
