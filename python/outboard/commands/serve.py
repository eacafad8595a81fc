"""`outboard serve`: replaces itself by outboardd."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from outboard import build, settings_table, values
from outboard.errors import OutboardError
from outboard.settings import without_library

LOG_LEVELS = ("debug", "info", "warn", "error")
MAX_STREAMS = settings_table.row("streams").max


@click.command("serve")
@click.option(
    "--listen",
    multiple=True,
    type=values.ListenAddress(),
    help="HOST:PORT, [IPv6]:PORT, unix:PATH for shared memory on this machine, or ucx:HOST:PORT "
    "for UCX; may be given more than once; port 0 picks a free one.  [default: 127.0.0.1:7770]",
)
@click.option(
    "--backend", type=click.Choice(("auto", "cpu", "cuda", "null", "opencl")), help="[default: cpu]"
)
@click.option(
    "--devices",
    type=click.IntRange(1, values.MAX_DEVICES),
    help="Number of devices; those of cpu split the cores.",
)
@click.option("--device-memory", type=values.Size(), help="Memory of each device, e.g. 4G.")
@click.option("--device-rate", type=values.Rate(), help="Speed of a null device, e.g. 500GF.")
@click.option(
    "--plan-time", type=values.Time(), help="Time of a null device for a plan, e.g. 20ms."
)
@click.option(
    "--max-streams",
    type=click.IntRange(1, MAX_STREAMS),
    help=f"TCP streams that a client may stripe a connection over.  [default: {MAX_STREAMS}]",
)
@click.option(
    "--key",
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    help="This daemon's key (outboard key): only clients of its pool may connect, from anywhere.",
)
@click.option(
    "--plain",
    is_flag=True,
    help="With a key: unencrypted data to clients with --plain, on networks that nobody else can "
    "listen or write to.",
)
@click.option(
    "--no-peers",
    is_flag=True,
    help="Never connect to other daemons. Devices of several daemons then exchange data through "
    "the client.",
)
@click.option(
    "--max-connections", type=click.IntRange(1, 65536), help="Most clients.  [default: 256]"
)
@click.option(
    "--max-handshakes",
    type=click.IntRange(2, 65536),
    help="Most connections that have begun to say who they are.  [default: 128]",
)
@click.option("--session-memory", type=values.Size(), help="Device memory of one client, e.g. 2G.")
@click.option(
    "--session-host-memory",
    type=values.Size(),
    help="Memory of this machine for one client, e.g. 1G.",
)
@click.option(
    "--user-memory",
    type=values.Size(),
    help="Device memory of all clients of one user together.",
)
@click.option(
    "--user-host-memory",
    type=values.Size(),
    help="Memory of this machine for all clients of one user together.",
)
@click.option(
    "--longest-command",
    type=values.Seconds(0, 1e9),
    metavar="SECONDS",
    help="While others wait, a call that is expected to take longer is refused, and one that does "
    "take longer is stopped if it runs in a process of its own; 0: no limit.  [default: 10]",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "user", "session", "none"]),
    help="cpu backend: which clients share a process for their library calls; auto: none on Unix "
    "sockets only, else user.  [default: auto]",
)
@click.option(
    "--kernels",
    type=click.Choice(["off", "portable", "native"]),
    help="The most that clients may load as kernels of their own, which run in a process for each "
    "session (cpu backend).  [default: native]",
)
@click.option(
    "--kernels-without-key",
    type=click.Choice(["off", "portable", "native"]),
    help="The same for clients over TCP if the daemon has no key: every user of this machine may "
    "then run code as the daemon's user.  [default: off]",
)
@click.option(
    "--kernels-in-process",
    is_flag=True,
    help="cuda and opencl backends: run kernels of clients in the daemon's process, which a bad "
    "one can end. It can also read and change the memory of all clients.",
)
@click.option(
    "--longest-kernel",
    type=values.Seconds(0, 4e6),
    metavar="SECONDS",
    help="cpu backend: end a kernel that takes longer; 0: no limit.  [default: 60]",
)
@click.option(
    "--idle-time",
    type=click.IntRange(1, 1 << 30),
    help="Seconds after which an unused connection is closed.",
)
@click.option(
    "--drain-time",
    type=values.Seconds(0, 1e6),
    metavar="SECONDS",
    help="Time for calls in flight after SIGTERM.  [default: 30]",
)
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    help="Serve metrics for Prometheus over HTTP there, on a loopback address.",
)
@click.option(
    "--metrics-open",
    is_flag=True,
    help="Let other machines read --metrics, unencrypted and without a key.",
)
@click.option("--log-level", type=click.Choice(LOG_LEVELS), help="What to log on stderr.")
@click.option(
    "--pool",
    metavar="URL",
    help="Serve only leases of the pool with this manager (outboard pool serve); several: URL,URL.",
)
@click.option(
    "--name",
    help="With --pool and without --key: this daemon's name in the pool.  [default: the host's]",
)
@click.option(
    "--advertise",
    multiple=True,
    type=values.ListenAddress(),
    help="With --pool: an address under which others reach this daemon.",
)
@click.option(
    "--label",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --pool: e.g. rack=r7; clients may ask for devices with it.",
)
@click.option(
    "--manager-grace",
    type=values.Seconds(0, 1e6),
    metavar="SECONDS",
    help="With --pool: while the manager is silent, leases that end stay good for so long after "
    "its last word.  [default: 600]",
)
@click.option(
    "--self-test-time",
    type=values.Seconds(0.1, 1e6),
    metavar="SECONDS",
    help="With --pool: test a device that is broken so often; three right results, and the manager "
    "offers it again.  [default: 60]",
)
@click.option(
    "--without-lease",
    type=click.Choice(["refuse", "idle"]),
    help="With --pool: what clients without a lease get; idle: a device that no lease has, until "
    "one does.  [default: refuse]",
)
@click.option("--exit-with-parent", is_flag=True, help="End when the starting process ends.")
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Run the accelerator daemon, outboardd, in the foreground.

    It prints `listening on ADDRESS` when it is ready. After SIGTERM it lets calls in flight finish
    and ends with status 0, or with 3 if it had to cut off clients from a device at work.

    \b
    Examples:
      outboard serve
      outboard serve --listen [::1]:7770 --devices 2 --device-memory 2G
      outboard serve --key ~/keys/node7 --listen 0.0.0.0:7770 --session-memory 4G
      outboard serve --listen 127.0.0.1:0 --backend null --device-rate 500GF
      outboard serve --key ~/keys/node7 --listen 0.0.0.0:7770 --pool https://pool:7780
    """
    _check_simulated(given)
    _check_pool(given)
    arguments = [
        word
        for option in context.command.params
        for word in _words(option, given[option.name or ""])
    ]
    program = str(build.ensure_native().daemon)
    try:
        os.execve(program, [program, *arguments], without_library(os.environ))
    except OSError as error:
        raise OutboardError(
            f"cannot start {program} ({error.strerror}); build again with `outboard build`"
        ) from error


def _check_simulated(given: Mapping[str, Any]) -> None:
    """Rejects options of a simulated device where there is no such device."""
    backend = given["backend"]
    for name in ("device_rate", "plan_time"):
        if given[name] and backend != "null":
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for a simulated device (the backend is "
                f"{backend or 'cpu'}); add --backend null"
            )


def _check_pool(given: Mapping[str, Any]) -> None:
    if given["without_lease"] and not given["pool"]:
        raise click.UsageError(
            "--without-lease is for daemons of a pool (without one, everybody is served); "
            "add --pool URL, or leave it out"
        )


def _words(option: click.Parameter, value: Any) -> list[str]:
    """Returns `value` as arguments of outboardd, whose options have the same names."""
    name = option.opts[0]
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    values_given = value if isinstance(value, tuple) else (value,)
    return [word for one in values_given for word in (name, str(one))]
