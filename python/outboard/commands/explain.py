"""`outboard explain`: tells where a call would run, the time that it would take, and the reason."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import click

from outboard import build, values
from outboard.explain import answer, show
from outboard.settings import Settings, inherited_servers, preloadable
from outboard.tune import libraries
from outboard.tune.stage import environment_for

_FFTW = ("fftw", "fftwf")


@click.command("explain")
@click.option(
    "--server",
    type=values.Servers(),
    help="The daemons that could be used.  [default: OUTBOARD_SERVER, RCPU_SERVER]",
)
@click.option(
    "--library",
    "given",
    multiple=True,
    metavar="PATH",
    help="The local library; may be repeated.  [default: the system's BLAS, LAPACK and FFTW]",
)
@click.option("--profile", metavar="FOLDER|off", type=values.ProfileFolder(), help="As for `run`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("routine")
@click.argument("sizes", nargs=-1, required=True)
def command(
    server: tuple[str, ...] | None,
    given: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    routine: str,
    sizes: tuple[str, ...],
) -> None:
    """Say where a call of ROUTINE with SIZES would run in mode auto, and why.

    SIZES are 2000 (every dimension), m=2000,n=64,k=2000 (a missing one is as large as the
    largest), 512x512 points of a transform, or 256*100 for a hundred transforms of 256 points.
    Several SIZES make a table. The routine does not run.

    \b
    Examples:
      outboard explain --server node7:7770 dgemm 2000
      outboard explain dgemm m=2000,n=64,k=2000
      outboard explain dgetrf 500 1000 2000 4000
      outboard explain "fftw c2c" 512x512
    """
    if routine in _FFTW and len(sizes) > 1:
        routine, sizes = f"{routine} {sizes[0]}", sizes[1:]
    native = build.ensure_native()
    chosen = libraries.named(given) or libraries.usual()
    settings = Settings(
        mode="auto",
        servers=server or inherited_servers(os.environ),
        profile=profile or os.environ.get("OUTBOARD_PROFILE"),
    )
    with tempfile.TemporaryDirectory(prefix="outboard-") as name:
        folder = Path(name)
        environment = environment_for(
            settings,
            preloadable(native.preload, folder),
            libraries.without_blanks(chosen, folder),
            os.environ,
        )
        with answer.Asker(environment) as asker:
            answers = [asker.ask(routine, one) for one in sizes]
            found = _crossing(asker, answers)
    if as_json:
        print(json.dumps({"version": 1, "calls": [one.as_json() for one in answers]}, indent=1))
    else:
        show.print_all(answers, found, sys.stdout)


def _crossing(asker: answer.Asker, answers: list[answer.Answer]) -> str:
    """Returns a line about the sizes that go out, if several plain sizes were asked for."""
    plain = sorted(int(a.sizes) for a in answers if a.sizes.isascii() and a.sizes.isdigit())
    if len(plain) < 2 or len(plain) != len(answers):
        return ""
    found = answer.crossing(asker, answers[0].routine, plain)
    return f"sizes that go out: {found}" if found else ""
