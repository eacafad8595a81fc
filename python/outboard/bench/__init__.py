"""Benchmarks: the programs <build>/bin/bench_* and those written here, behind one interface."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from outboard.bench import fft, links, plot, products, rows, startup
from outboard.errors import OutboardError

PREFIX = "bench_"


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


@dataclass(frozen=True)
class Program:
    """A compiled benchmark; it takes --json FILE and prints its own table."""

    path: Path
    draw = staticmethod(plot.draw)

    @property
    def name(self) -> str:
        return self.path.name.removeprefix(PREFIX)

    @property
    def summary(self) -> str:
        return f"{self.path.name} (its own options: outboard bench {self.name} -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None) -> int:
        with tempfile.TemporaryDirectory(prefix="outboard-bench-") as folder:
            written = json_file or Path(folder) / "rows.json"
            command = [str(self.path), "--json", str(written), *arguments]
            status = subprocess.run(command, check=False).returncode
            if status != 0 or not written.exists():
                return status if status >= 0 else 128 - status
            try:
                rows.check(rows.load(written))
            except ValueError as error:
                raise OutboardError(
                    f"{self.path.name} wrote rows of the wrong form ({error})"
                ) from error
        return 0


def written_here() -> dict[str, Benchmark]:
    """Those in Python, by name."""
    all_of_them: list[Benchmark] = [
        fft.Fft(),
        links.Links(),
        products.Products(),
        startup.Startup(),
    ]
    return {benchmark.name: benchmark for benchmark in all_of_them}


def available(programs: Path) -> dict[str, Benchmark]:
    """All benchmarks by name: compiled ones found in `programs`, then those in Python."""
    compiled = [Program(path) for path in sorted(programs.glob(PREFIX + "*"))]
    return {program.name: program for program in compiled} | written_here()
