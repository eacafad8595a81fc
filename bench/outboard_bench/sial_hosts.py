"""Ranks of MPI on two hosts of this machine: workers on one, servers on the other, and a limited
link between them. Or on one host, where they share memory."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outboard import mpi_eager, paths
from outboard.errors import OutboardError
from outboard_bench.link import Link, Wrap
from outboard_bench.netns import inside

# MPI libraries leave out addresses of loopback nets, so each host gets another one.
_NEAR, _FAR = "10.77.0.1", "10.77.0.2"
_DEVICE = "veth0"
MPIS = ("mpich", "openmpi")
# MPICH of Debian talks through UCX. One kind of transport for all ranks, and no attempt to write
# into the memory of the other side, which TCP emulates with messages of its own.
_MPICH = {
    "UCX_TLS": "tcp,self",
    "UCX_NET_DEVICES": _DEVICE,
    "UCX_TCP_PUT_ENABLE": "n",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": _DEVICE,
}
# Open MPI has its parameters as arguments.
_OPENMPI = {
    "plm": "rsh",
    "oob_tcp_if_include": _DEVICE,
    "pml": "ob1",
    "btl": "tcp,self",
    "btl_tcp_if_include": _DEVICE,
}


@dataclass(frozen=True)
class Hosts:
    """Starts ranks. Without a link, all of them run on this host. `settings`: variables of all
    ranks; `parameters`: those of Open MPI."""

    mpi: str
    wrap: Wrap = list
    agent: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)

    def command(self, workers: int, servers: int, words: Sequence[str]) -> list[str]:
        """Returns the command that runs `words` as so many ranks, the workers first."""
        ranks = workers + servers
        command = [_starter(self.mpi), "-n", str(ranks)]
        hosts = f"{_NEAR}:{workers},{_FAR}:{servers}"
        if self.mpi == "openmpi":
            command.append("--oversubscribe")
            if os.geteuid() == 0:
                command.append("--allow-run-as-root")
            if self.agent is not None:
                # Both hosts have the same cores. Each would bind its ranks to the first ones.
                command += ["--host", hosts, "--bind-to", "none"]
                command += ["--mca", "plm_rsh_agent", str(self.agent)]
            for name, value in self.parameters.items():
                command += ["--mca", name, value]
            for name, value in self.settings.items():
                command += ["-x", f"{name}={value}"]
        elif self.agent is not None:
            command += ["-launcher", "ssh", "-launcher-exec", str(self.agent), "-iface", _DEVICE]
            command += ["-hosts", hosts]
            for name, value in self.settings.items():
                command += ["-env", name, value]
        return self.wrap([*command, *words])


def missing(mpi: str) -> str:
    """Returns what this machine lacks for a run; empty if it lacks nothing."""
    if importlib.util.find_spec("lark") is None:
        return "the compiler of SIAL needs lark (pip install 'outboard[sial]')"
    folder = paths.require_native().daemon.parent
    for name in (f"outboard-sial-{mpi}", f"mpi_messages_{mpi}"):
        if not (folder / name).exists():
            return f"{name} is not built"
    return "" if shutil.which(f"mpiexec.{mpi}") else f"mpiexec.{mpi} is not there"


def here(mpi: str) -> Hosts:
    return Hosts(mpi)


@contextlib.contextmanager
def over_link(link: Link, mpi: str, *, eager: bool = False) -> Iterator[Hosts]:
    """Lets MPI start ranks on both ends of a link that is up. With `eager`, messages of up to 64
    MiB leave before the receiver has asked for them."""
    near, far = link.namespaces
    for name, address in ((near, _NEAR), (far, _FAR)):
        link.replace_address(name, f"{address}/24")
    with tempfile.TemporaryDirectory(prefix="outboard-bench-") as folder:
        agent = Path(folder) / "agent.sh"
        agent.write_text(_agent({_NEAR: near, _FAR: far}))
        agent.chmod(0o755)
        settings = mpi_eager.variables(mpi_eager.MOST_BYTES, {}) if eager else {}
        if mpi == "openmpi":
            yield Hosts(mpi, link.near, agent, settings, _OPENMPI)
        else:
            yield Hosts(mpi, link.near, agent, {**_MPICH, **settings})


def _agent(namespaces: Mapping[str, str]) -> str:
    """Returns a script that takes the place of ssh: it enters the namespace of a host. A host name
    of its own keeps MPI from using shared memory between the hosts."""
    cases = "\n".join(
        f"    {address}) host={name}; break ;;" for address, name in namespaces.items()
    )
    enter = " ".join(inside("$host", ["unshare", "--uts", "sh", "-c"]))
    return f"""#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
{cases}
  esac
  shift
done
shift
exec {enter} "hostname $host; $*"
"""


def _starter(mpi: str) -> str:
    found = shutil.which(f"mpiexec.{mpi}")
    if found is None:
        raise OutboardError(f"mpiexec.{mpi} is not there (install {mpi}, or take another --mpi)")
    return found
