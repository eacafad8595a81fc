"""Tests `outboard doctor` with keys, and each reason for which a key may be unusable."""

import datetime
from pathlib import Path

import pytest

from outboard import keys, members
from outboard.doctor import key
from outboard.doctor.finding import Finding, Level


def problems(found: list[Finding]) -> dict[str, str]:
    return {f.check: f.text for f in found if f.level is Level.PROBLEM}


def notes(found: list[Finding]) -> dict[str, str]:
    return {f.check: f.text for f in found if f.level is Level.NOTE}


@pytest.fixture
def pool() -> keys.Member:
    return keys.make_pool("a pool", 3650)


@pytest.fixture
def folder(tmp_path: Path, pool: keys.Member) -> Path:
    """Returns a folder with a client's key."""
    result = tmp_path / "key"
    keys.write(result, "client", keys.make_member(pool, "client", "ada", 825))
    keys.write_certificate(result, "pool", pool.certificate)
    return result


def in_days(days: float) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)


def test_a_good_key(folder: Path) -> None:
    found = key.check(folder)
    assert {f.check: f.level for f in found} == {"pool.pem": Level.OK, "client.pem": Level.OK}


def test_dates(folder: Path) -> None:
    assert "expires on" in notes(key.check(folder, in_days(800)))["client.pem"]
    assert "expired on" in problems(key.check(folder, in_days(830)))["client.pem"]
    early = key.check(folder, in_days(-1))
    assert "is valid from" in problems(early)["client.pem"]
    assert any("clock" in f.advice for f in early)
    assert set(problems(key.check(folder, in_days(4000)))) == {"client.pem", "pool.pem"}


def test_no_folder_and_no_pool(tmp_path: Path, folder: Path) -> None:
    assert "is no folder" in problems(key.check(tmp_path / "none"))["key"]
    (folder / "pool.pem").unlink()
    assert "cannot read" in problems(key.check(folder))["pool.pem"]
    (folder / "pool.pem").write_text("nonsense")
    assert "is no certificate" in problems(key.check(folder))["pool.pem"]


def test_no_member(tmp_path: Path, pool: keys.Member) -> None:
    keys.write(tmp_path, "pool", pool)
    found = key.check(tmp_path)
    assert "neither client.pem nor daemon.pem" in problems(found)["key"]
    assert "who reads it can make members" in notes(found)["pool.key"]


def test_files_of_a_member(folder: Path) -> None:
    (folder / "client.key").chmod(0o640)
    assert "mode 0640" in problems(key.check(folder))["client.key"]
    (folder / "client.key").unlink()
    assert "No such file" in problems(key.check(folder))["client.key"]
    (folder / "client.pem").unlink()
    (folder / "client.key").write_text("nonsense")
    assert {"client.pem"} <= set(problems(key.check(folder)))


def test_a_private_key_that_is_none(folder: Path) -> None:
    (folder / "client.key").write_text("nonsense")
    (folder / "client.key").chmod(0o600)
    assert "is no private key" in problems(key.check(folder))["client.key"]


def test_members_of_another_pool(folder: Path) -> None:
    other = keys.make_pool("another", 3650)
    keys.write(folder, "daemon", keys.make_member(other, "daemon", "eve", 825))
    assert problems(key.check(folder)) == {
        "daemon.pem": "was not made by the pool whose pool.pem lies beside it"
    }


def test_a_key_of_another_member(folder: Path, pool: keys.Member) -> None:
    (folder / "client.pem").unlink()
    other = keys.make_member(pool, "client", "bob", 825)
    keys.write_certificate(folder, "client", other.certificate)
    assert problems(key.check(folder)) == {"client.key": "does not belong to client.pem"}


def test_a_certificate_for_the_other_role(tmp_path: Path, pool: keys.Member) -> None:
    keys.write(tmp_path, "client", keys.make_member(pool, "daemon", "ada", 825))
    keys.write_certificate(tmp_path, "pool", pool.certificate)
    assert "no certificate of a client" in problems(key.check(tmp_path))["client.pem"]


def test_a_list_of_revoked_members(folder: Path, pool: keys.Member) -> None:
    mine = keys.read_certificate(folder, "client").serial_number
    nobody = members.revoke(pool, None, [])
    members.write_list(folder, nobody)
    assert problems(key.check(folder)) == {}
    assert {f.check for f in key.check(folder)} == {"pool.pem", "client.pem", "pool.crl"}
    members.write_list(folder, members.revoke(pool, nobody, [mine]))
    assert "is revoked" in problems(key.check(folder))["client.pem"]
    members.write_list(folder, members.revoke(pool, nobody, [], in_days(1)))
    assert "expired" in problems(key.check(folder, in_days(2)))["pool.crl"]
    members.write_list(folder, members.revoke(keys.make_pool("another", 9), None, [mine]))
    assert "was not signed" in problems(key.check(folder))["pool.crl"]
    (folder / "pool.crl").write_text("nonsense")
    assert "is no list" in problems(key.check(folder))["pool.crl"]
