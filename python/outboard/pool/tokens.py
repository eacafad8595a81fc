"""Lease tokens: JWS in compact form, ES256 (docs/pool.md, "Tokens"; decision 0041).

The signing keys are files of the manager's state folder, `signing-KID.pem`. Two are valid at a
time. Daemons get the public keys when they register.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import stat
import time
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import jwt
import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from outboard.errors import OutboardError

ALGORITHM = "ES256"
MOST_BYTES = 1024  # of `identity` in the message hello
ROTATION_S = 30 * 86_400
LONGEST_S = 86_400  # a token of a lease without an end is good for so long
SESSIONS = 64
_KEPT = 2


Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Claims(msgspec.Struct, omit_defaults=True, frozen=True):
    """What a token says. `iat` and `exp` are seconds of pool time; `exp` is rounded up."""

    iss: str  # the pool
    aud: str  # the daemon
    dev: str
    sub: str  # the holder, as the daemon names the peer of the stream
    jti: str  # the lease
    epo: Number
    flo: Number
    mod: Literal["x", "s"]  # exclusive, shared
    mem: Number
    shr: Number
    ses: Number
    rgt: str
    iat: Number
    exp: Number
    rev: Number
    uid: Annotated[
        int, msgspec.Meta(ge=-1, le=(1 << 32) - 1)
    ] = -1  # who may present it over a Unix socket; -1: anybody who is `sub`


class SigningKey(NamedTuple):
    kid: str
    private: ec.EllipticCurvePrivateKey
    made_s: float

    @property
    def public_der(self) -> bytes:
        return public_der(self.private.public_key())


def public_der(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def kid_of(der: bytes) -> str:
    return hashlib.sha256(der).hexdigest()[:16]


def header(kid: str) -> bytes:
    """Returns the one header that a verifier accepts for a key: it compares bytes."""
    return b'{"alg":"ES256","kid":"' + kid.encode() + b'"}'


def sign(claims: Claims, kid: str, private: ec.EllipticCurvePrivateKey) -> str:
    payload = msgspec.json.encode(claims)
    token = jwt.api_jws.encode(payload, private, ALGORITHM, {"typ": None, "kid": kid})
    if len(token) > MOST_BYTES:
        raise ValueError(f"a token of {len(token)} bytes (the most are {MOST_BYTES})")
    return token


def verify(token: str, keys: dict[str, bytes]) -> Claims:
    """Returns the claims of a token that one of `keys` (DER by kid) has signed. For tests, and for
    people who look into a token; the daemon has a verifier of its own.

    Raises ValueError.
    """
    parts = token.split(".")
    if len(token) > MOST_BYTES or len(parts) != 3:
        raise ValueError("no token (it has the wrong form)")
    known = {base64url(header(kid)): der for kid, der in keys.items()}
    der = known.get(parts[0])
    if der is None:
        raise ValueError("no token of this pool (its header names no key in use)")
    public = serialization.load_der_public_key(der)
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise ValueError("the key is of another kind")
    if any(base64url(_decoded(part)) != part for part in parts):
        raise ValueError("the token is not written in the one way")
    try:
        payload = jwt.api_jws.decode(token, public, algorithms=[ALGORITHM])
        return msgspec.json.decode(payload, type=Claims)
    except (jwt.PyJWTError, msgspec.DecodeError) as error:
        raise ValueError(f"the token is refused ({error})") from error


def base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Signer:
    """Signs with the newest key, and makes a new one each 30 days."""

    def __init__(self, folder: Path | None) -> None:
        """`folder` None: keys in memory, for tests. Raises OutboardError."""
        self._folder = folder
        self.others: dict[str, bytes] = {}  # of other managers of the pool, DER by kid
        self._keys = _read(folder) if folder else []
        self.rotate()

    def rotate(self, now_s: float | None = None) -> bool:
        """Makes a new key if the newest is old. Returns whether it did."""
        now_s = time.time() if now_s is None else now_s
        if self._keys and now_s - self._keys[-1].made_s < ROTATION_S:
            return False
        private = ec.generate_private_key(ec.SECP256R1())
        kid = kid_of(public_der(private.public_key()))
        if self._folder:
            _write(self._folder / f"signing-{kid}.pem", private)
        self._keys.append(SigningKey(kid, private, now_s))
        for old in self._keys[:-_KEPT]:
            if self._folder:
                (self._folder / f"signing-{old.kid}.pem").unlink(missing_ok=True)
        del self._keys[:-_KEPT]
        return True

    def sign(self, claims: Claims) -> str:
        key = self._keys[-1]
        return sign(claims, key.kid, key.private)

    def own_keys(self) -> dict[str, bytes]:
        """Returns the keys that verify tokens of this manager, DER by kid."""
        return {key.kid: key.public_der for key in self._keys}

    def public_keys(self) -> dict[str, bytes]:
        """Returns the keys that verify tokens of all managers, DER by kid."""
        return self.others | self.own_keys()


def pool_name(folder: Path | None, root: bytes | None) -> str:
    """Returns the claim `iss`: of the root's public key (DER), or random and kept in `folder`."""
    if root is not None:
        return hashlib.sha256(root).hexdigest()[:16]
    if folder is None:
        return secrets.token_hex(8)
    file = folder / "pool-name"
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        name = secrets.token_hex(8)
        _write_private(file, name.encode() + b"\n")
        return name


def _read(folder: Path) -> list[SigningKey]:
    keys = []
    for file in folder.glob("signing-*.pem"):
        facts = file.stat()
        if stat.S_IMODE(facts.st_mode) & 0o077 or facts.st_uid != os.geteuid():
            raise OutboardError(
                f"{file} is refused (others may read it, or own it) run: chmod 600 {file}, or "
                "remove it so that a new one is made"
            )
        try:
            private = serialization.load_pem_private_key(file.read_bytes(), None)
        except ValueError as error:
            raise OutboardError(f"{file} is no key ({error}) remove it") from error
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise OutboardError(f"{file} is a key of another kind; remove it")
        kid = kid_of(public_der(private.public_key()))
        keys.append(SigningKey(kid, private, facts.st_mtime))
    return sorted(keys, key=lambda key: (key.made_s, key.kid))


def _write(file: Path, private: ec.EllipticCurvePrivateKey) -> None:
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write_private(file, pem)


def _write_private(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
