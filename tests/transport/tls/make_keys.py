"""Makes keys for the tests of TLS: of one pool, of another, and keys that must be refused."""

import argparse
import datetime
import shutil
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from outboard import keys, members

_DAYS = 7


def write_pool(folder: Path, pool: keys.Member) -> None:
    for role in (keys.CLIENT, keys.DAEMON):
        keys.write(folder, role, keys.make_member(pool, role, f"{role} of {folder.name}", _DAYS))
    keys.write_certificate(folder, keys.POOL, pool.certificate)


def make_with_usages(pool: keys.Member, *usages: x509.ObjectIdentifier) -> keys.Member:
    """Makes a member whose extended key usage is exactly `usages`, or that has none."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "anything")]))
        .issuer_name(pool.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
    )
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    return keys.Member(builder.sign(pool.key, hashes.SHA256()), key)


def write_usages(folder: Path, pool: keys.Member) -> None:
    """Writes members of the pool whose certificates name no role of a member."""
    for name, usages in (
        ("no_usage", []),
        ("any_usage", [ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]),
        ("code_usage", [ExtendedKeyUsageOID.CODE_SIGNING]),
    ):
        for role in (keys.CLIENT, keys.DAEMON):
            keys.write(folder / name, role, make_with_usages(pool, *usages))
        keys.write_certificate(folder / name, keys.POOL, pool.certificate)


def write_managed(folder: Path, pool: keys.Member) -> None:
    """Writes a manager, and a daemon whose certificate also proves it to a manager."""
    manager = keys.make_member(pool, keys.MANAGER, "m1", _DAYS, hosts=["pool.example.org"])
    keys.write(folder / "manager", keys.MANAGER, manager)
    member = keys.make_member(pool, keys.DAEMON, "managed", _DAYS, managed=True)
    keys.write(folder / "managed", keys.DAEMON, member)


def write_kernels(folder: Path, pool: keys.Member) -> None:
    """Writes clients whose certificates give rights to kernels; "all" is not one of them."""
    for right in ("portable", "native", "all"):
        name = f"kernels_{right}"
        member = keys.make_member(pool, keys.CLIENT, name, _DAYS, kernels=right)
        keys.write(folder / name, keys.CLIENT, member)
        keys.write_certificate(folder / name, keys.POOL, pool.certificate)


def write_lists(folder: Path, pool: keys.Member) -> None:
    """Writes lists of revoked members, NAME.crl, and a client that no list names."""
    lists = folder / "lists"
    lists.mkdir()
    client, daemon = (
        keys.read_certificate(folder / "good", role).serial_number
        for role in (keys.CLIENT, keys.DAEMON)
    )
    nobody = members.revoke(pool, None, [])
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=1)
    for name, revoked in (
        ("nobody", nobody),  # the oldest
        ("client", members.revoke(pool, nobody, [client])),
        ("daemon", members.revoke(pool, nobody, [daemon])),
        ("stranger", members.revoke(keys.make_pool("pool", _DAYS), nobody, [client])),
        ("expired", members.revoke(pool, nobody, [], past)),
    ):
        members.write_list(lists, revoked)
        (lists / members.LIST).rename(lists / f"{name}.crl")
    (lists / "garbage.crl").write_text("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n")
    (lists / "empty.crl").touch()
    whole = (lists / "client.crl").read_bytes()
    (lists / "half.crl").write_bytes(whole[: len(whole) // 2])
    other = folder / "other"
    keys.write(other, keys.CLIENT, keys.make_member(pool, keys.CLIENT, "other", _DAYS))
    keys.write_certificate(other, keys.POOL, pool.certificate)


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

    write_usages(folder, pool)
    write_managed(folder, pool)
    write_kernels(folder, pool)
    write_lists(folder, pool)

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
