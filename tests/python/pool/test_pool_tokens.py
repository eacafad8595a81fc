"""Lease tokens: vectors for every verifier, files of keys, and rotation."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outboard.errors import OutboardError
from outboard.pool import tokens

FILE = Path(__file__).resolve().parents[2] / "pool/token_vectors.json"
VECTORS = json.loads(FILE.read_text())
KEYS = {key["kid"]: base64.b64decode(key["der"]) for key in VECTORS["keys"]}
CLAIMS = tokens.Claims(
    "pool", "n", "d", "certificate ada", "lease", 5, 5, "x", 1, 1000, 64, "calls", 1, 2, 3
)


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda v: v["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    if vector["claims"] is None:
        with pytest.raises(ValueError):
            tokens.verify(vector["token"], KEYS)
        return
    claims = msgspec.to_builtins(tokens.verify(vector["token"], KEYS))
    assert claims == vector["claims"]


def test_every_flipped_bit_is_refused() -> None:
    token = next(v["token"] for v in VECTORS["vectors"] if v["name"] == "exclusive")
    for place in range(0, len(token), 3):
        for bit in (0, 1, 4):
            flipped = token[:place] + chr(ord(token[place]) ^ 1 << bit) + token[place + 1 :]
            with pytest.raises(ValueError):
                tokens.verify(flipped, KEYS)


def test_signed_tokens_verify_until_their_key_has_gone(tmp_path: Path) -> None:
    signer = tokens.Signer(tmp_path)
    token, first = signer.sign(CLAIMS), signer.public_keys()
    assert tokens.verify(token, first) == CLAIMS
    assert tokens.Signer(tmp_path).public_keys() == first  # after a restart
    month = tokens.ROTATION_S
    (file,) = tmp_path.glob("signing-*.pem")
    made = file.stat().st_mtime
    assert not signer.rotate(made + month - 10)
    assert signer.rotate(made + month + 10)
    assert tokens.verify(token, signer.public_keys()) == CLAIMS
    assert signer.sign(CLAIMS).split(".")[0] != token.split(".")[0]
    assert signer.rotate(made + 3 * month)
    with pytest.raises(ValueError):
        tokens.verify(token, signer.public_keys())
    files = list(tmp_path.glob("signing-*.pem"))
    assert len(files) == 2
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    tokens.Signer(tmp_path)
    (file,) = tmp_path.glob("signing-*.pem")
    file.chmod(0o644)
    with pytest.raises(OutboardError, match="chmod 600"):
        tokens.Signer(tmp_path)
    file.chmod(0o600)
    file.write_text("no key")
    with pytest.raises(OutboardError, match="no key"):
        tokens.Signer(tmp_path)


def test_a_token_fits_the_message_hello() -> None:
    longest = msgspec.structs.replace(
        CLAIMS,
        sub="certificate " + "x" * 64,
        dev="d" * 128,
        aud="n" * 64,
        jti="j" * 64,
        mem=1 << 50,
        rev=1 << 62,
    )
    assert len(tokens.Signer(None).sign(longest)) <= tokens.MOST_BYTES
