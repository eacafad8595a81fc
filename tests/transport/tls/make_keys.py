"""Makes keys for the tests of TLS: of one pool, of another, and keys that must be refused."""

import argparse
import shutil
import sys
from pathlib import Path

from outboard import keys

_DAYS = 7


def write_pool(folder: Path, pool: keys.Member) -> None:
    for role in (keys.CLIENT, keys.DAEMON):
        keys.write(folder, role, keys.make_member(pool, role, f"{role} of {folder.name}", _DAYS))
    keys.write_certificate(folder, keys.POOL, pool.certificate)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    pool = keys.make_pool("pool", _DAYS)
    write_pool(folder / "good", pool)
    write_pool(folder / "stranger", keys.make_pool("pool", _DAYS))  # a pool of the same name

    # Each role has the other's certificate.
    swapped = folder / "swapped"
    for role, other in ((keys.CLIENT, keys.DAEMON), (keys.DAEMON, keys.CLIENT)):
        keys.write(swapped, role, keys.make_member(pool, other, "impostor", _DAYS))
    keys.write_certificate(swapped, keys.POOL, pool.certificate)

    expired = folder / "expired"
    for role in (keys.CLIENT, keys.DAEMON):
        keys.write(expired, role, keys.make_member(pool, role, "late", 0))  # valid until now
    keys.write_certificate(expired, keys.POOL, pool.certificate)

    # A member that makes members: its own certificate is genuine, but it may not certify others.
    member = keys.make_member(pool, keys.CLIENT, "upstart", _DAYS)
    upstart = folder / "upstart"
    for role in (keys.CLIENT, keys.DAEMON):
        keys.write(upstart, role, keys.make_member(member, role, "protege", _DAYS))
    keys.write_certificate(upstart, keys.POOL, pool.certificate)

    readable = folder / "readable"
    shutil.copytree(folder / "good", readable)
    (readable / "client.key").chmod(0o640)
    mixed = folder / "mixed"
    shutil.copytree(folder / "good", mixed)
    shutil.copy(folder / "stranger" / "client.key", mixed / "client.key")
    mixed_daemon = folder / "mixed_daemon"
    shutil.copytree(folder / "good", mixed_daemon)
    shutil.copy(folder / "stranger" / "daemon.key", mixed_daemon / "daemon.key")
    return 0


if __name__ == "__main__":
    sys.exit(main())
