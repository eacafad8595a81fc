"""Checks a key folder (docs/cli.md, `outboard key`)."""

from __future__ import annotations

import datetime
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from outboard.doctor.finding import Finding, note, ok, problem
from outboard.errors import OutboardError

if TYPE_CHECKING:
    from cryptography import x509

# A month is enough time to make new members and to copy them to their machines.
SOON = datetime.timedelta(days=30)
_ROLES = ("client", "daemon")
_INIT = "make one with `outboard key init`, or ask who keeps your pool for a copy"


def check(folder: Path, now: datetime.datetime | None = None) -> list[Finding]:
    """Checks the key in `folder`."""
    now = now or datetime.datetime.now(datetime.UTC)
    if not folder.is_dir():
        return [problem("key", f"{folder} is no folder", _INIT)]
    try:
        from outboard import keys
    except ImportError:
        return [note("key", "cannot be read (cryptography is not installed)", _extra())]
    try:
        pool = keys.read_certificate(folder, keys.POOL)
    except OutboardError as error:
        return [problem("pool.pem", error.message, _INIT)]
    found = [_dates("pool.pem", pool, now)]
    roles = [r for r in _ROLES if _has(folder, r)]
    if not roles:
        found.append(
            problem("key", f"{folder} has neither client.pem nor daemon.pem", "`outboard key add`")
        )
    for role in roles:
        found += _member(folder, role, pool, now)
    found += _list(folder, roles, pool, now)
    if (folder / "pool.key").exists():
        found += private_key(folder / "pool.key")
        found.append(
            note(
                "pool.key",
                "is here: who reads it can make members of the pool",
                "keep it on one machine only; no daemon and no client needs it "
                "(`outboard key export` copies the rest)",
            )
        )
    return found


def _list(
    folder: Path, roles: list[str], pool: x509.Certificate, now: datetime.datetime
) -> list[Finding]:
    """Checks the list of revoked members, if there is one."""
    from outboard import keys, members

    again = "copy it again from the pool's folder"
    try:
        revoked = members.read_list(folder)
    except OutboardError as error:
        return [problem(members.LIST, error.message, again)]
    if revoked is None:
        return []
    if not revoked.is_signature_valid(members.signer(pool)):
        return [problem(members.LIST, "was not signed by the pool beside it", again)]
    until = revoked.next_update_utc
    if until is not None and until < now:
        text = f"expired on {until:%Y-%m-%d}: all are refused"
        return [problem(members.LIST, text, again)]
    serials = members.revoked_serials(revoked)
    found = [ok(members.LIST, f"number {members.number_of(revoked)}, {len(serials)} revoked")]
    for role in roles:
        try:
            certificate = keys.read_certificate(folder, role)
        except OutboardError:
            continue  # _member() has reported this
        if certificate.serial_number in serials:
            text = "is revoked: the other side refuses it"
            found.append(problem(f"{role}.pem", text, "ask who keeps the pool for a new key"))
    return found


def _extra() -> str:
    return "pip install 'outboard[doctor]'"


def _has(folder: Path, role: str) -> bool:
    return any((folder / f"{role}.{kind}").exists() for kind in ("pem", "key"))


def _member(
    folder: Path, role: str, pool: x509.Certificate, now: datetime.datetime
) -> list[Finding]:
    """Checks the certificate and the private key of one role."""
    from outboard import keys

    found = private_key(folder / f"{role}.key")
    try:
        certificate = keys.read_certificate(folder, role)
    except OutboardError as error:
        return [*found, problem(f"{role}.pem", error.message, "make the member again")]
    found.append(_dates(f"{role}.pem", certificate, now))
    found += _same_pool(role, certificate, pool)
    found += _fits(folder, role, certificate)
    return found


def private_key(file: Path) -> list[Finding]:
    """Checks that the private key exists and that nobody else may read it. Otherwise the library
    refuses it."""
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
    except OSError as error:
        return [
            problem(
                file.name,
                f"cannot be read ({error.strerror})",
                "a certificate is of no use without its key: copy both, or make the member again",
            )
        ]
    if mode & 0o077:
        return [
            problem(
                file.name,
                f"others may read it (mode {mode:04o}); it is refused",
                f"chmod 600 {file}, and make a new one if somebody may have read it",
            )
        ]
    return []


def _dates(name: str, certificate: x509.Certificate, now: datetime.datetime) -> Finding:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    again = "make a new one with `outboard key add`" if name != "pool.pem" else "make a new pool"
    if now < begin:
        # keys.make_member dates certificates back by one hour. A certificate that is not valid
        # yet therefore means that a clock is behind.
        return problem(
            name,
            f"is valid from {begin:%Y-%m-%d %H:%M} on, and it is {now:%Y-%m-%d %H:%M} here (UTC)",
            "set this machine's clock (timedatectl), or that of the machine that made the key",
        )
    if now > end:
        return problem(
            name, f"expired on {end:%Y-%m-%d}", f"{again}; if it is newer, this clock is wrong"
        )
    if end - now < SOON:
        return note(name, f"expires on {end:%Y-%m-%d}, in {(end - now).days} days", again)
    return ok(name, f"valid until {end:%Y-%m-%d}")


def _same_pool(role: str, certificate: x509.Certificate, pool: x509.Certificate) -> list[Finding]:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(pool)
    except (InvalidSignature, ValueError, TypeError):
        return [
            problem(
                f"{role}.pem",
                "was not made by the pool whose pool.pem lies beside it",
                "copy pool.pem and the member from one pool",
            )
        ]
    return []


def _fits(folder: Path, role: str, certificate: x509.Certificate) -> list[Finding]:
    """Checks that the private key belongs to the certificate, and that the certificate is for this
    role."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.x509.oid import ExtendedKeyUsageOID

    found = []
    wanted = {"client": ExtendedKeyUsageOID.CLIENT_AUTH, "daemon": ExtendedKeyUsageOID.SERVER_AUTH}
    try:
        uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        uses = None
    if uses is None or wanted[role] not in uses:
        text = f"is no certificate of a {role}: the other side refuses it"
        found.append(problem(f"{role}.pem", text, f"`outboard key add {role} NAME`"))
    try:
        key = serialization.load_pem_private_key((folder / f"{role}.key").read_bytes(), None)
    except OSError:
        return found  # private_key() has reported this
    except (ValueError, TypeError) as error:
        text = f"is no private key ({error})"
        return [*found, problem(f"{role}.key", text, "make the member again")]
    if key.public_key() != certificate.public_key():
        text = f"does not belong to {role}.pem"
        found.append(problem(f"{role}.key", text, "copy both files of one member"))
    return found
