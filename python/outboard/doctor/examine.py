"""Runs all checks, in the order in which people read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from outboard import paths
from outboard.doctor import (
    interposition,
    key,
    machine,
    openblas,
    product,
    servers,
    settings,
    versions,
)
from outboard.doctor.finding import Finding, Level, ok
from outboard.doctor.show import Groups

_SYSTEM_BLAS = "libopenblas.so.0"


@dataclass(frozen=True)
class Wanted:
    """The options of `outboard doctor`."""

    command: tuple[str, ...]
    servers: tuple[str, ...]
    key: Path | None
    seconds: float
    measure: bool
    pool: str = ""


def all_groups(wanted: Wanted, environment: dict[str, str]) -> Groups:
    """Returns the groups of checks that apply, with their findings."""
    installed, native = versions.check(environment)
    groups: Groups = [("Installation", installed), ("Settings", settings.check(environment))]
    if wanted.key:
        groups.append(("Key", key.check(wanted.key)))
    for address in wanted.servers:
        groups.append(("Daemon", _daemon(address, wanted, native, environment)))
    if wanted.pool:
        groups.append(("Pool", _pool(wanted)))
    libraries: list[Path] = []
    if wanted.command and native:
        found, libraries = interposition.check(
            wanted.command, native.preload, wanted.seconds, environment
        )
        groups.append((f"Command: {' '.join(wanted.command)}", found))
    groups.append(("Local BLAS", _blas(libraries, wanted.measure, environment)))
    groups.append(("Accelerators and networks here", machine.devices()))
    groups.append(("Kernel", machine.kernel()))
    return groups


def _daemon(
    address: str, wanted: Wanted, native: paths.Native | None, environment: dict[str, str]
) -> list[Finding]:
    """Asks the daemon about itself, and runs a product on it if the answer is good."""
    usable = wanted.key if wanted.key and is_usable(wanted.key) else None
    found = servers.check(address, usable)
    if native and all(f.level is not Level.PROBLEM for f in found):
        found.append(product.check(address, native, usable, environment))
    return found


def _pool(wanted: Wanted) -> list[Finding]:
    from outboard.doctor import pool

    return pool.check(wanted.pool, wanted.key if wanted.key and is_usable(wanted.key) else None)


def is_usable(folder: Path) -> bool:
    """Returns true if `folder` holds a client's key. Otherwise the group of the key names the
    problem."""
    return all((folder / f).is_file() for f in ("pool.pem", "client.pem", "client.key"))


def _blas(libraries: list[Path], measure: bool, environment: dict[str, str]) -> list[Finding]:
    """Checks the libraries that the command uses, or else those of the system."""
    names = [str(p) for p in libraries if "openblas" in p.name] or [_SYSTEM_BLAS]
    found = [one for name in names for one in openblas.check(name, environment, measure)]
    found = found or [ok("OpenBLAS", "is not installed here")]
    return found + openblas.threads(environment, openblas.cores())
