"""Makes and reads a pool's certificates, which decide who may connect over a network.

A key folder of one member holds pool.pem and its own files. pool.pem is the pool's own certificate,
which all others are checked against. The files of a member are client.pem with client.key,
daemon.pem with daemon.key, or manager.pem with manager.key. The folder that `init` makes also holds
pool.key, which is needed only to make new members.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from outboard.errors import OutboardError

POOL = "pool"
CLIENT = "client"
DAEMON = "daemon"
MANAGER = "manager"
# Whoever connects to a manager checks this name of its certificate: that is the check of its role.
MANAGER_NAME = "manager.outboard.internal"
_USAGE: dict[str, tuple[x509.ObjectIdentifier, ...]] = {
    CLIENT: (ExtendedKeyUsageOID.CLIENT_AUTH,),
    DAEMON: (ExtendedKeyUsageOID.SERVER_AUTH,),
    MANAGER: (ExtendedKeyUsageOID.SERVER_AUTH,),
}

PrivateKey = ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class Member:
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: PrivateKey


def _name(text: str) -> x509.Name:
    try:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
    except ValueError as error:
        raise OutboardError(f"{text!r} is no name for a certificate ({error})") from error


def _builder(name: str, days: int, key: PrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # the clocks of hosts differ
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(certifies: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not certifies,
        key_cert_sign=certifies,
        crl_sign=certifies,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def make_pool(name: str, days: int) -> Member:
    """Makes the root of a new pool."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(name, days, key)
        .issuer_name(_name(name))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(certifies=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Member(certificate, key)


def make_member(
    pool: Member,
    role: str,
    name: str,
    days: int,
    *,
    hosts: Sequence[str] = (),
    managed: bool = False,
    kernels: str | None = None,
) -> Member:
    """Makes a client, a daemon or a manager of `pool`. A certificate of one role is not accepted
    for the other.

    `hosts`: names of a manager. `managed`: the certificate of a daemon has both usages, so that it
    can prove itself to a manager. `kernels`: the right to kernels of a client, which daemons read.
    """
    usage = _USAGE[role]
    if managed:
        usage = (*usage, ExtendedKeyUsageOID.CLIENT_AUTH)
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = pool.key.public_key()
    builder = (
        _builder(name, days, key)
        .issuer_name(pool.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(certifies=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usage), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
    )
    if role == MANAGER:
        names = x509.SubjectAlternativeName(_host(one) for one in (*hosts, MANAGER_NAME))
        builder = builder.add_extension(names, critical=False)
    if kernels is not None:
        right = x509.UniformResourceIdentifier(f"outboard:kernels:{kernels}")
        builder = builder.add_extension(x509.SubjectAlternativeName([right]), critical=False)
    return Member(builder.sign(pool.key, hashes.SHA256()), key)


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        pass
    try:
        return x509.DNSName(text)
    except ValueError as error:
        raise OutboardError(f"{text!r} is no name of a host ({error})") from error


def host_names(certificate: x509.Certificate) -> list[str]:
    """Returns the DNS names of a certificate."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return names.value.get_values_for_type(x509.DNSName)


def _write_new(file: Path, content: bytes, mode: int) -> None:
    """Writes a file that must not exist. From its creation on, nobody can read it unless `mode`
    allows that."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
    except FileExistsError as error:
        raise OutboardError(
            f"{file} is there already; a key is never overwritten: choose another folder"
        ) from error
    except OSError as error:
        raise OutboardError(f"cannot write {file} ({error.strerror})") from error


def write(folder: Path, role: str, member: Member) -> None:
    """Writes ROLE.pem and ROLE.key into `folder`, which is made if it does not exist."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutboardError(f"cannot make {folder} ({error.strerror})") from error
    private = member.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write_new(folder / f"{role}.key", private, 0o600)
    write_certificate(folder, role, member.certificate)


def write_certificate(folder: Path, role: str, certificate: x509.Certificate) -> None:
    """Writes ROLE.pem into `folder`."""
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    _write_new(folder / f"{role}.pem", pem, 0o644)


def read_certificate(folder: Path, role: str) -> x509.Certificate:
    """Returns ROLE.pem of `folder`."""
    file = folder / f"{role}.pem"
    try:
        return x509.load_pem_x509_certificate(file.read_bytes())
    except OSError as error:
        raise OutboardError(f"cannot read {file} ({error.strerror})") from error
    except ValueError as error:
        raise OutboardError(f"{file} is no certificate ({error})") from error


def read_pool(folder: Path) -> Member:
    """Returns the pool with its private key, for making and revoking members."""
    file = folder / f"{POOL}.key"
    if not file.exists():
        read_certificate(folder, POOL)
        raise OutboardError(
            f"{file} is not there; members are made and revoked where `outboard key init` was run"
        )
    return read_member(folder, POOL)


def read_member(folder: Path, role: str) -> Member:
    """Returns ROLE.pem of `folder` with its private key, ROLE.key."""
    certificate = read_certificate(folder, role)
    file = folder / f"{role}.key"
    try:
        key = serialization.load_pem_private_key(file.read_bytes(), None)
    except (OSError, ValueError) as error:
        raise OutboardError(f"cannot use {file} ({error})") from error
    if not isinstance(key, PrivateKey):
        raise OutboardError(f"{file} is no key made by `outboard key init`")
    return Member(certificate, key)
