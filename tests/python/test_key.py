"""Tests `outboard key`: the folders that it makes, and the list of revoked members."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography import x509

from needs import needs
from outboard import keys, members
from outboard.commands.key import command
from outboard.errors import OutboardError


def key(*arguments: object) -> str:
    """Runs `outboard key`, and returns its output."""
    words = [str(word) for word in arguments]
    result = CliRunner().invoke(command, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    folder = tmp_path / "pool"
    key("init", folder, "--name", "lab")
    key("add", "client", "ada", "--pool", folder, "--to", tmp_path / "ada")
    key("add", "daemon", "node7", "--pool", folder, "--to", tmp_path / "node7")
    return folder


def verified_by_openssl(pool: Path, certificate: Path) -> str:
    """Returns what the program openssl says of a certificate, with the pool's list."""
    needs("openssl")
    command_line = ["openssl", "verify", "-crl_check", "-CAfile", pool / "pool.pem"]
    done = subprocess.run(
        [*command_line, "-CRLfile", pool / members.LIST, certificate],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def serial(folder: Path, role: str) -> int:
    return keys.read_certificate(folder, role).serial_number


def test_members_have_folders_without_the_secret_of_the_pool(pool: Path, tmp_path: Path) -> None:
    for role, name in (("client", "ada"), ("daemon", "node7")):
        files = {file.name for file in (tmp_path / name).iterdir()}
        assert files == {"pool.pem", f"{role}.pem", f"{role}.key"}
    key("export", "daemon", "--pool", pool, "--to", tmp_path / "first")
    files = {file.name for file in (tmp_path / "first").iterdir()}
    assert files == {"pool.pem", "daemon.pem", "daemon.key"}
    for name in ("daemon.pem", "daemon.key", "pool.pem"):
        assert (tmp_path / "first" / name).read_bytes() == (pool / name).read_bytes()
    assert stat.S_IMODE((tmp_path / "first" / "daemon.key").stat().st_mode) == 0o600
    with pytest.raises(OutboardError, match="is there already"):
        key("export", "daemon", "--pool", pool, "--to", tmp_path / "first")


def test_certificates_name_their_role(pool: Path, tmp_path: Path) -> None:
    usages = {}
    for role, name in (("client", "ada"), ("daemon", "node7")):
        certificate = keys.read_certificate(tmp_path / name, role)
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
        assert usage.critical
        usages[role] = [one.dotted_string for one in usage.value]
    # RFC 5280, 4.2.1.12
    assert usages == {"client": ["1.3.6.1.5.5.7.3.2"], "daemon": ["1.3.6.1.5.5.7.3.1"]}


def test_a_member_is_revoked_by_name(pool: Path, tmp_path: Path) -> None:
    said = key("revoke", "ada", "--pool", pool)
    assert f"revoked client ada, serial number {serial(tmp_path / 'ada', 'client'):x}" in said
    assert "pool.crl" in said
    assert "certificate revoked" in verified_by_openssl(pool, tmp_path / "ada" / "client.pem")
    assert "node7/daemon.pem: OK" in verified_by_openssl(pool, tmp_path / "node7" / "daemon.pem")
    table = key("list", pool)
    lines = {line.split()[1]: line for line in table.splitlines()[1:]}
    assert "revoked" in lines["ada"]
    assert "revoked" not in lines["node7"]
    assert f"{serial(tmp_path / 'node7', 'daemon'):x}" in lines["node7"]


def test_a_list_grows_and_has_a_new_number(pool: Path, tmp_path: Path) -> None:
    assert members.read_list(pool) is None
    for number, name in enumerate(("ada", "node7"), start=1):
        key("revoke", name, "--pool", pool)
        now = members.read_list(pool)
        assert members.number_of(now) == number
        assert len(members.revoked_serials(now)) == number
    assert "was revoked before" in key("revoke", "ada", "--pool", pool)
    assert members.number_of(members.read_list(pool)) == 2
    key("add", "client", "bob", "--pool", pool, "--to", tmp_path / "bob")
    copy = members.read_list(tmp_path / "bob")
    assert members.number_of(copy) == 2, "new members get the list"


def test_a_name_of_both_roles_is_not_guessed(pool: Path) -> None:
    with pytest.raises(OutboardError, match="--role client"):
        key("revoke", "lab", "--pool", pool)
    key("revoke", "lab", "--role", "client", "--pool", pool)
    revoked = members.revoked_serials(members.read_list(pool))
    assert set(revoked) == {serial(pool, "client")}


def test_all_certificates_of_a_name(pool: Path, tmp_path: Path) -> None:
    key("add", "client", "ada", "--pool", pool, "--to", tmp_path / "ada2")
    key("revoke", "ada", "--pool", pool)
    revoked = members.revoked_serials(members.read_list(pool))
    assert set(revoked) == {serial(tmp_path / name, "client") for name in ("ada", "ada2")}


@pytest.mark.parametrize("how", ["serial", "fingerprint", "file"])
def test_other_ways_to_name_a_member(pool: Path, tmp_path: Path, how: str) -> None:
    (one,) = [one for one in members.recorded(pool) if one.name == "ada"]
    fingerprint = ":".join(one.fingerprint[i : i + 2] for i in range(0, 64, 2)).upper()
    who = {"serial": f"{one.serial:x}", "fingerprint": fingerprint}
    key("revoke", who.get(how, tmp_path / "ada" / "client.pem"), "--pool", pool)
    assert set(members.revoked_serials(members.read_list(pool))) == {one.serial}


def test_members_that_are_not_on_record(pool: Path, tmp_path: Path) -> None:
    number = serial(tmp_path / "ada", "client")
    shutil.rmtree(pool / "members")  # as in a pool that an older release made
    with pytest.raises(OutboardError, match="no member ada is on record"):
        key("revoke", "ada", "--pool", pool)  # a word of hexadecimal digits, but no serial number
    key("revoke", f"{number:x}", "--pool", pool)
    assert "certificate revoked" in verified_by_openssl(pool, tmp_path / "ada" / "client.pem")
    assert f"{number:x}" in key("list", pool)
    key("revoke", "lab", "--role", "daemon", "--pool", pool)  # its certificate is in the folder
    assert "certificate revoked" in verified_by_openssl(pool, pool / "daemon.pem")


def test_refusals(pool: Path, tmp_path: Path) -> None:
    with pytest.raises(OutboardError, match=r"pool\.key is not there"):
        key("revoke", "ada", "--pool", tmp_path / "ada")
    other = tmp_path / "other"
    key("init", other, "--name", "lab")
    with pytest.raises(OutboardError, match="was not made by this pool"):
        key("revoke", other / "client.pem", "--pool", pool)
    (pool / members.LIST).write_text("nonsense")
    with pytest.raises(OutboardError, match="is no list of revoked members"):
        key("revoke", "ada", "--pool", pool)
    assert (pool / members.LIST).read_text() == "nonsense", "nothing is lost"


def test_show_says_who_is_revoked(pool: Path, tmp_path: Path) -> None:
    key("revoke", "ada", "--pool", pool)
    shutil.copy(pool / members.LIST, tmp_path / "ada")
    assert "revoked" in key("show", tmp_path / "ada")
    assert "revoked" not in key("show", tmp_path / "node7")
