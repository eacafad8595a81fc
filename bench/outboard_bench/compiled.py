"""The programs <build>/bin/bench_*, which are benchmarks by themselves."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from outboard.errors import OutboardError
from outboard_bench import plot, rows

PREFIX = "bench_"


@dataclass(frozen=True)
class Program:
    """A compiled benchmark. It takes --json FILE and prints its own table."""

    path: Path
    draw = staticmethod(plot.draw)

    @property
    def name(self) -> str:
        return self.path.name.removeprefix(PREFIX)

    @property
    def summary(self) -> str:
        return f"{self.path.name} (its own options: outboard bench {self.name} -- --help)"

    def run(self, arguments: Sequence[str], json_file: Path | None, *, quiet: bool = False) -> int:
        """Runs it like a Benchmark. `quiet` leaves out the table."""
        if not self.path.exists():
            raise OutboardError(
                f"{self.path.name} was not built (this machine lacks a library that it needs); "
                "the output of CMake names it"
            )
        output = subprocess.DEVNULL if quiet else None
        with tempfile.TemporaryDirectory(prefix="outboard-bench-") as folder:
            written = json_file or Path(folder) / "rows.json"
            command = [str(self.path), "--json", str(written), *arguments]
            status = subprocess.run(command, stdout=output, check=False).returncode
            if status != 0 or not written.exists():
                return status if status >= 0 else 128 - status
            try:
                rows.check(rows.load(written))
            except ValueError as error:
                raise OutboardError(
                    f"{self.path.name} wrote rows of the wrong form ({error})"
                ) from error
        return 0
