"""`outboard demo`: runs two unmodified programs remotely and compares with local results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from outboard import demo, paths
from outboard.build import NATIVE_TARGETS, Build
from outboard.errors import OutboardError
from outboard.launch import Plan, execute
from outboard.settings import Settings


@click.command("demo")
def command() -> None:
    """Run a NumPy script and a C program with FFTW, and send every supported call to a daemon.
    Show the report, and compare the results with local ones.

    \b
    Example:
      outboard demo
    """
    root = paths.require_repository("demo")
    work = Build(root)
    work.run((*NATIVE_TARGETS, "example_fft"))
    differences = []
    with TemporaryDirectory(prefix="outboard-") as name:
        folder = Path(name)
        for number, example in enumerate(demo.examples(root, work.folder)):
            local, remote = folder / f"{number}.local", folder / f"{number}.remote"
            _say(f"\n== {example.title}")
            _say("outboard: first without Outboard, for comparison ...")
            demo.run_locally(example, local)
            rates = _local_rates(example, folder / f"{number}.json")
            _say("outboard: now on an accelerator daemon (mode remote):")
            with demo.output_to(remote):
                plan = Plan(example.command, Settings("remote"), "text", local_rates=rates)
                _check(execute(plan), example)
            differences.append(demo.compare(local, remote))
            _say(f"== {differences[-1].line()}")
    sys.exit(0 if all(d.only_rounding for d in differences) else 1)


def _local_rates(example: demo.Example, report: Path) -> dict[str, float]:
    """Returns the speed of the local library in the example. Mode trace measures times and sends
    nothing."""
    command = ("sh", "-c", 'exec "$@" >/dev/null', "sh", *example.command)
    _check(execute(Plan(command, Settings("trace"), f"json:{report}")), example)
    routines = json.loads(report.read_text())["routines"]
    return {r["name"]: r["local_ns"] / r["local_megaflop"] for r in routines if r["local_megaflop"]}


def _check(status: int, example: demo.Example) -> None:
    if status != 0:
        raise OutboardError(f"{Path(example.command[-1]).name} ended with status {status}")


def _say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()
