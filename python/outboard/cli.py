"""The command `outboard` and its subcommands. Each subcommand is loaded when it is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from outboard.errors import OutboardError

# Name -> one line of help. The command is `command` in outboard/commands/<name>.py.
COMMANDS = {
    "run": "Run a program with its BLAS, LAPACK and FFTW calls on an accelerator.",
    "env": "Print the settings of `run` as export lines.",
    "serve": "Run the accelerator daemon.",
    "pool": "Give accelerators to programs and users: the manager, and questions to it.",
    "status": "Show the accelerators of a pool, who holds them, and who waits.",
    "top": "Watch a pool in the terminal, live.",
    "key": "Make the certificates of a pool, for daemons on other machines.",
    "sial": "Compile programs over blocks of huge arrays.",
    "demo": "Run two examples remotely and compare with the local results.",
    "build": "Build the library, the daemon and the rest.",
    "test": "Build, check and test everything.",
    "bench": "Run a benchmark.",
    "report": "Show the counters that programs left in a folder.",
    "trace": "Join trace files of several processes into one.",
    "coverage": "Show which routines can go out, and which calls stay local.",
    "tune": "Measure links, devices and the local library, for mode auto to decide by.",
    "explain": "Say where a call would run, its time, and the reason.",
    "doctor": "Say what is wrong with an installation, and how to repair it.",
}


class _Commands(click.Group):
    """A group that imports a subcommand only when it runs, so --help of one does not load the
    rest."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OutboardError as error:
            error.show()
            ctx.exit(error.exit_code)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"outboard.commands.{name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from outboard.version import version

        click.echo(f"outboard {version()}")
        ctx.exit()


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def outboard() -> None:
    """Run the BLAS, LAPACK and FFTW calls of unmodified programs on accelerators.

    \b
    Examples:
      outboard run --mode remote --report -- python3 products.py
      outboard serve --devices 2
      eval "$(outboard env --server node7:7770)"
    """


def main() -> None:
    """Entry point of the installed command."""
    outboard(prog_name="outboard")
    sys.exit(0)
