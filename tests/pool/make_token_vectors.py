#!/usr/bin/env python3
"""Writes tests/pool/token_vectors.json: tokens that a verifier must accept or refuse.

    PYTHONPATH=python python tests/pool/make_token_vectors.py

Signatures are made with the primitives of `cryptography`, not with the manager's code. They are
random, so each run writes other tokens; the cases stay.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

CLAIMS: dict[str, Any] = {
    "iss": "0123456789abcdef", "aud": "node7", "dev": "GPU-7d2fbdc1-5b1c-8a2e-9a11-223344556677",
    "sub": "certificate ada", "jti": "00112233445566778899aabbccddeeff", "epo": 5, "flo": 5,
    "mod": "x", "mem": 85899345920, "shr": 1000, "ses": 64, "rgt": "calls", "iat": 1790000000,
    "exp": 1790000030, "rev": 812345,
}  # fmt: skip
SHARED = {**CLAIMS, "mod": "s", "flo": 3, "mem": 1 << 30, "shr": 250, "uid": 1000}


def encode(raw: bytes | bytearray) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def der(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.DER, form)


class Maker:
    def __init__(self) -> None:
        self.key, self.stranger = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.der = der(self.key)
        self.kid = hashlib.sha256(self.der).hexdigest()[:16]
        self.header = f'{{"alg":"ES256","kid":"{self.kid}"}}'.encode()
        self.vectors: list[dict[str, Any]] = []

    def sign(self, text: bytes, key: ec.EllipticCurvePrivateKey | None = None) -> bytes:
        r, s = decode_dss_signature((key or self.key).sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def token(self, payload: bytes, header: bytes | None = None) -> str:
        text = f"{encode(header or self.header)}.{encode(payload)}"
        return f"{text}.{encode(self.sign(text.encode()))}"

    def add(self, name: str, token: str, claims: dict[str, Any] | None = None) -> None:
        """`claims` None: the token must be refused."""
        self.vectors.append({"name": name, "token": token, "claims": claims})

    def claims(self, name: str, accepted: bool = False, **changes: Any) -> None:
        changed = {**CLAIMS, **changes}
        token = self.token(json.dumps(changed, separators=(",", ":")).encode())
        self.add(name, token, {k: changed[k] for k in CLAIMS} if accepted else None)


def compact(claims: dict[str, Any]) -> bytes:
    return json.dumps(claims, separators=(",", ":")).encode()


def forms(make: Maker) -> None:
    good = make.token(compact(CLAIMS))
    header, payload, signature = good.split(".")
    make.add("exclusive", good, CLAIMS)
    make.add("shared, with a uid", make.token(compact(SHARED)), SHARED)
    make.claims("an unknown claim is ignored", True, more=[1, {"a": None}])
    raw = base64.urlsafe_b64decode(signature + "==")
    for bit in (0, 7, 255, 256, 300, 511):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        make.add(f"bit {bit} of the signature flipped", f"{header}.{payload}.{encode(flipped)}")
    body = base64.urlsafe_b64decode(payload + "==")
    for bit in (3, 8 * len(body) // 2, 8 * len(body) - 5):
        flipped = bytearray(body)
        flipped[bit // 8] ^= 1 << bit % 8
        make.add(f"bit {bit} of the claims flipped", f"{header}.{encode(flipped)}.{signature}")
    make.add("of another key", _of_stranger(make))
    none = encode(b'{"alg":"none"}')
    make.add("alg none", f"{none}.{payload}.")
    make.add("alg none, with the kid", _unsigned(make, payload))
    make.add("HS256 with the public key", _hmac(make, payload))
    make.add(
        "another kid", make.token(compact(CLAIMS), b'{"alg":"ES256","kid":"0000000000000000"}')
    )
    spaced = f'{{"alg": "ES256", "kid": "{make.kid}"}}'.encode()
    make.add("a header with spaces", make.token(compact(CLAIMS), spaced))
    swapped = f'{{"kid":"{make.kid}","alg":"ES256"}}'.encode()
    make.add("a header in another order", make.token(compact(CLAIMS), swapped))
    typed = f'{{"alg":"ES256","kid":"{make.kid}","typ":"JWT"}}'.encode()
    make.add("a header with more", make.token(compact(CLAIMS), typed))
    make.add("padded", f"{header}.{payload}.{signature}==")
    make.add("with a newline", good + "\n")
    make.add("two parts", f"{header}.{payload}")
    make.add("four parts", f"{good}.{signature}")
    make.add("empty", "")
    make.add("dots", "..")
    make.add("no signature", f"{header}.{payload}.")
    make.add("a short signature", f"{header}.{payload}.{encode(raw[:63])}")
    make.add("a long signature", f"{header}.{payload}.{encode(raw + b'x')}")
    zero = encode(bytes(64))
    make.add("a signature of zeros", f"{header}.{payload}.{zero}")
    in_der = make.key.sign(f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))
    make.add("a signature in DER", f"{header}.{payload}.{encode(in_der)}")


def _of_stranger(make: Maker) -> str:
    text = f"{encode(make.header)}.{encode(compact(CLAIMS))}"
    return f"{text}.{encode(make.sign(text.encode(), make.stranger))}"


def _unsigned(make: Maker, payload: str) -> str:
    header = encode(f'{{"alg":"none","kid":"{make.kid}"}}'.encode())
    return f"{header}.{payload}."


def _hmac(make: Maker, payload: str) -> str:
    header = encode(f'{{"alg":"HS256","kid":"{make.kid}"}}'.encode())
    text = f"{header}.{payload}"
    return f"{text}.{encode(hmac.digest(make.der, text.encode(), 'sha256'))}"


def contents(make: Maker) -> None:
    """Well signed, but no claims: a manager with a mistake must not confuse a daemon."""
    make.claims("an epoch of 2^63 - 1", True, epo=(1 << 63) - 1)
    make.claims("an epoch of 2^63", epo=1 << 63)
    make.claims("an epoch of 2^64", epo=1 << 64)
    make.claims("a negative epoch", epo=-1)
    make.claims("an epoch as text", epo="5")
    make.claims("an epoch with a fraction", epo=5.5)
    make.claims("an epoch of 5.0", epo=5.0)
    make.claims("an epoch that is null", epo=None)
    make.claims("an epoch that is true", epo=True)
    make.claims("a floor of 2^63", flo=1 << 63)
    make.claims("a negative share", shr=-1000)
    make.claims("a share as text", shr="1000")
    make.claims("sessions in a list", ses=[64])
    make.claims("memory of 2^63", mem=1 << 63)
    make.claims("a negative end", exp=-1)
    make.claims("an end of 2^63", exp=1 << 63)
    make.claims("an end of 2^63 - 1 s", True, exp=(1 << 63) - 1)
    make.claims("a revision of 2^63", rev=1 << 63)
    make.claims("a mode of another letter", mod="y")
    make.claims("a list as a name", aud=["node7"])
    make.claims("a holder that is a number", sub=7)
    make.claims("a uid of 2^32", uid=1 << 32)
    make.claims("a uid of -2", uid=-2)
    make.claims("a uid that is null", uid=None)
    make.claims("a uid as text", uid="1000")
    make.claims("a uid of -1 is anybody", True, uid=-1)
    for name in CLAIMS:
        missing = {k: v for k, v in CLAIMS.items() if k != name}
        make.add(f"without {name}", make.token(compact(missing)))
    make.add("claims that are a list", make.token(b"[]"))
    make.add("claims that are empty", make.token(b""))
    make.add("claims cut short", make.token(compact(CLAIMS)[:-1]))
    make.add("two objects", make.token(compact(CLAIMS) + b"{}"))
    make.add("no UTF-8", make.token(compact(CLAIMS).replace(b"ada", b"\xff\xfe\xfd")))
    make.add("deep", make.token(b'{"a":' + b"[" * 400))
    make.claims("1024 bytes are too few for it", sub="x" * 700)


def main() -> None:
    make = Maker()
    forms(make)
    contents(make)
    keys = [{"kid": make.kid, "der": base64.b64encode(make.der).decode()}]
    file = Path(__file__).with_name("token_vectors.json")
    document = {"keys": keys, "vectors": make.vectors}
    file.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
