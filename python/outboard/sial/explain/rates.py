"""How long a worker takes for its statements: from a measurement, or from the report of a run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outboard.errors import OutboardError
from outboard.sial.compiler import Options, compile_text
from outboard.sial.explain.code import Code
from outboard.sial.explain.counts import Counts
from outboard.sial.opcodes import Op

_PRODUCTS = (Op.BLOCK_CONTRACT, Op.PUSH_CONTRACTION)
_FLOPS = 1e9  # of the measurement: a quarter of a second where a core computes 4 Gflop/s
_SMALLEST, _LARGEST = 2, 600  # extents of blocks that are measured
_PROGRAM = """sial rates
  aoindex i = 1:1
  aoindex j = 1:1
  aoindex k = 1:1
  index round = 1:{rounds}
  temp a[i,k]
  temp b[k,j]
  temp t[i,j]
  temp c[i,j]
  do i
  do j
  do k
  a[i,k] = 0.5
  b[k,j] = 0.5
  t[i,j] = 0.0
  c[i,j] = 0.0
  do round
    t[i,j] += a[i,k] * b[k,j]
    c[i,j] += 0.5 * t[i,j]
  enddo round
  enddo k
  enddo j
  enddo i
endsial rates
"""


@dataclass
class Rates:
    """Seconds of one worker. Without `flop_s`, only lines of an earlier run have them."""

    source: str
    flop_s: float | None = None
    byte_s: float | None = None
    lines: dict[tuple[str, int], float] = field(default_factory=dict)  # per execution

    def seconds(self, code: Code, at: int, counts: Counts) -> float:
        """Returns the time of all executions of an instruction."""
        if self.flop_s is None or self.byte_s is None:
            return 0.0
        if Op(code.instructions[at]["op"]) in _PRODUCTS:
            return float(counts.flops[at]) * self.flop_s
        return float(counts.touched[at]) * self.byte_s

    def take_measured(self, lines: list[Any]) -> None:
        """Sets the seconds of lines that an earlier run has measured."""
        for line in lines:
            each = self.lines.get((Path(line.file).name, line.line))
            if each is not None:
                line.seconds = each * line.executions
            elif self.flop_s is None:
                line.seconds = None


def from_report(file: Path) -> Rates:
    """Reads the report of an earlier run of the same job."""
    try:
        programs = json.loads(file.read_text())
        lines = {
            (Path(line["file"]).name, line["line"]): line["seconds"] / line["executions"]
            for program in programs
            for line in program["lines"]
            if line.get("executions") and line.get("seconds")
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutboardError(
            f"{file} is no report of a job ({error}) write one with "
            "`outboard sial run JOB --report json:FILE`",
            exit_code=2,
        ) from error
    return Rates(f"the times of {file}", lines=lines)


def typical_extent(code: Code, counts: Counts) -> int:
    """Returns the extent of square blocks whose product has as many operations as the products of
    the program have on average."""
    flops = executions = 0
    for at, one in enumerate(code.instructions):
        if one["op"] == Op.BLOCK_CONTRACT:
            flops += int(counts.flops[at])
            executions += int(counts.executions[at])
    if not executions:
        return 64
    mean = float((flops / executions / 2) ** (1 / 3))
    return round(min(max(mean, _SMALLEST), _LARGEST))


def measure(program: Path, extent: int) -> Rates:
    """Computes with square blocks for a short time.   Errors: OutboardError

    @param program the runtime"""
    rounds = min(max(round(_FLOPS / (2 * extent**3)), 3), 200_000)
    text = _PROGRAM.format(rounds=rounds)
    result = compile_text(text, "rates.sial", Options())
    assert result.code is not None, result.render()
    with tempfile.TemporaryDirectory(prefix="outboard-rates-") as name:
        folder = Path(name)
        (folder / "rates.sialc").write_bytes(result.code)
        job = f"sial_job = 1\nprograms = ['rates.sialc']\n[segments]\nao = [{extent}]\n"
        (folder / "rates.toml").write_text(job)
        command = [str(program), str(folder / "rates.toml"), "--report", str(folder / "report")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise OutboardError(f"the measurement failed: {done.stderr.strip()}")
        (report,) = json.loads((folder / "report").read_text())
    times = {line["line"]: line["seconds"] / rounds for line in report["lines"]}
    product, scale = (
        1 + number for number, line in enumerate(text.splitlines()) if line.startswith("    ")
    )
    return Rates(
        f"a measurement with blocks of {extent} x {extent}",
        times[product] / (2 * extent**3),
        times[scale] / (24 * extent**2),
    )
