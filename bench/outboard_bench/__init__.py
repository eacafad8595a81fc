"""The benchmarks: the programs <build>/bin/bench_* and those in Python, behind one interface."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from outboard_bench import (
    blas,
    copies,
    decide,
    device_api,
    devices,
    fft,
    fftw_flops,
    gpu,
    links,
    mp2c,
    overlap,
    paper,
    pool,
    pool_job,
    products,
    programs,
    redblack,
    ring,
    sial,
    sial_schedules,
    startup,
    summa,
)
from outboard_bench.compiled import PREFIX, Program

_TARGET = re.compile(rf"^\s*add_executable\(({PREFIX}\w+)", re.MULTILINE)


class Benchmark(Protocol):
    """A benchmark that `outboard bench` can run."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        """Prints a table, and writes rows to `json_file` if it is given. Returns the exit
        status."""

    def draw(self, rows: Sequence[Mapping[str, Any]], file: Path) -> None:
        """Draws pictures of these rows in `file`, and perhaps in others named after it."""


def written_here() -> dict[str, Benchmark]:
    """Returns the benchmarks in Python, by name."""
    all_of_them: list[Benchmark] = [
        blas.Blas(),
        copies.Copies(),
        decide.Decide(),
        device_api.DeviceApi(),
        devices.Devices(),
        fft.Fft(),
        fftw_flops.FftwFlops(),
        gpu.Gpu(),
        links.Links(),
        mp2c.Mp2c(),
        overlap.Overlap(),
        paper.Paper(),
        pool.Pool(),
        pool_job.PoolJob(),
        products.Products(),
        programs.Programs(),
        redblack.Redblack(),
        ring.Ring(),
        sial_schedules.SialSchedules(),
        sial.Sial(),
        startup.Startup(),
        summa.Summa(),
    ]
    return {benchmark.name: benchmark for benchmark in all_of_them}


def available(sources: Path, programs: Path) -> dict[str, Benchmark]:
    """Returns all benchmarks by name: first the programs that the CMake files in `sources` make,
    which lie in `programs` after they are built, then those in Python."""
    files = [sources / "CMakeLists.txt", *sorted(sources.glob("*.cmake"))]
    text = "".join(file.read_text() for file in files)
    names = sorted(set(_TARGET.findall(text)))
    compiled = [Program(programs / name) for name in names]
    return {program.name: program for program in compiled} | written_here()
