"""The members that a pool has made, and its list of revoked ones.

The folder that `outboard key init` makes holds a copy of each member's certificate in members/.
pool.crl is the list of revoked members: an X.509 CRL, signed with the pool's key. A daemon or a
client that has it in its key folder refuses the members on the list.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from outboard import keys
from outboard.errors import OutboardError

LIST = "pool.crl"
_RECORDS = "members"
# Serial numbers have 159 random bits. A short one is a name that is not on record, such as "ada".
_SERIAL = re.compile(r"[0-9a-f]{16,40}")

RevokedList = x509.CertificateRevocationList


@dataclass(frozen=True)
class Record:
    """One certificate that the pool has made."""

    role: str
    certificate: x509.Certificate

    @property
    def name(self) -> str:
        return str(self.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)

    @property
    def serial(self) -> int:
        return self.certificate.serial_number

    @property
    def fingerprint(self) -> str:
        return self.certificate.fingerprint(hashes.SHA256()).hex()


def record(pool_folder: Path, role: str, certificate: x509.Certificate) -> None:
    """Keeps a copy of a member's certificate, so that its owner can be revoked by name."""
    folder = pool_folder / _RECORDS
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutboardError(f"cannot make {folder} ({error.strerror})") from error
    keys.write_certificate(folder, f"{role}-{certificate.serial_number:x}", certificate)


def recorded(pool_folder: Path) -> list[Record]:
    """Returns the members on record, and those whose certificates are in the pool's folder itself,
    in the order of their dates."""
    found = {}
    for folder, pattern in ((pool_folder / _RECORDS, "*-*.pem"), (pool_folder, "*.pem")):
        for file in sorted(folder.glob(pattern)):
            role = file.stem.split("-")[0]
            if role in (keys.CLIENT, keys.DAEMON, keys.MANAGER):
                one = Record(role, keys.read_certificate(folder, file.stem))
                found[one.serial] = one
    return sorted(found.values(), key=lambda one: one.certificate.not_valid_before_utc)


def read_list(folder: Path) -> RevokedList | None:
    """Returns the list of revoked members in `folder`; None if there is none."""
    file = folder / LIST
    try:
        return x509.load_pem_x509_crl(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutboardError(f"cannot read {file} ({error.strerror})") from error
    except ValueError as error:
        raise OutboardError(f"{file} is no list of revoked members ({error})") from error


def write_list(folder: Path, revoked: RevokedList) -> None:
    """Replaces the list of revoked members in `folder` at once: daemons may read it meanwhile."""
    file = folder / LIST
    fresh = file.with_name(f".{LIST}.{os.getpid()}")
    try:
        fresh.write_bytes(revoked.public_bytes(serialization.Encoding.PEM))
        fresh.chmod(0o644)
        fresh.replace(file)
    except OSError as error:
        raise OutboardError(f"cannot write {file} ({error.strerror})") from error


def copy_list(pool_folder: Path, to: Path) -> None:
    """Gives the folder of a member the pool's list, if the pool has one."""
    if (revoked := read_list(pool_folder)) is not None:
        write_list(to, revoked)


def signer(pool: x509.Certificate) -> ec.EllipticCurvePublicKey:
    """Returns the public key with which the pool's lists are checked."""
    key = pool.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise OutboardError("pool.pem was not made by `outboard key init`; copy the right one")
    return key


def number_of(revoked: RevokedList | None) -> int:
    """Returns the number of the list; each list has a higher number than the ones before."""
    if revoked is None:
        return 0
    try:
        return revoked.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
    except x509.ExtensionNotFound:
        return 0


def revoke(
    pool: keys.Member,
    before: RevokedList | None,
    serials: Iterable[int],
    until: datetime.datetime | None = None,
) -> RevokedList:
    """Returns the list `before` with further members.

    After `until` (the end of the pool's certificate), daemons that have no newer list refuse
    everybody.
    """
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(pool.certificate.subject)
        .last_update(now - datetime.timedelta(hours=1))  # the clocks of hosts differ
        .next_update(until or pool.certificate.not_valid_after_utc)
        .add_extension(x509.CRLNumber(number_of(before) + 1), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(pool.key.public_key()),
            critical=False,
        )
    )
    for entry in before or ():
        builder = builder.add_revoked_certificate(entry)
    for serial in serials:
        builder = builder.add_revoked_certificate(
            x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
        )
    return builder.sign(pool.key, hashes.SHA256())


def revoked_serials(revoked: RevokedList | None) -> dict[int, datetime.datetime]:
    """Returns the serial numbers on the list, with the time of each revocation."""
    return {entry.serial_number: entry.revocation_date_utc for entry in revoked or ()}


def find(pool: keys.Member, pool_folder: Path, who: str, role: str | None) -> list[Record | int]:
    """Returns the members that `who` means: a name, a certificate file, a fingerprint or a serial
    number. A serial number that is not on record stands for itself."""
    if who.endswith(".pem") and Path(who).is_file():
        return [_member_in(pool, Path(who))]
    known = recorded(pool_folder)
    named = [one for one in known if one.name == who and role in (None, one.role)]
    if len({one.role for one in named}) > 1:
        raise OutboardError(
            f"{who} is the name of members of several roles; add --role client, daemon or manager"
        )
    if named:
        return list(named)
    text = who.lower().replace(":", "")
    for one in known:
        if text in (f"{one.serial:x}", one.fingerprint):
            return [one]
    if _SERIAL.fullmatch(text) and 0 < int(text, 16) < 1 << 159:  # RFC 5280, 4.1.2.2: 20 bytes
        return [int(text, 16)]
    raise OutboardError(
        f"no member {who} is on record in {pool_folder} (members that older releases made are "
        "not); give its serial number or its certificate file"
    )


def _member_in(pool: keys.Member, file: Path) -> Record:
    from cryptography.exceptions import InvalidSignature

    certificate = keys.read_certificate(file.parent, file.stem)
    try:
        certificate.verify_directly_issued_by(pool.certificate)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise OutboardError(f"{file} was not made by this pool; name one of its members") from error
    return Record(file.stem.split("-")[0], certificate)
