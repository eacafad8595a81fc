"""Tests sizes, rates and addresses: the accepted and refused values, and the messages."""

import pytest

from outboard import addresses, values


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("4096", 4096),
        ("4096B", 4096),
        ("1K", 1024),
        ("1KiB", 1024),
        ("512M", 536870912),
        ("512 MiB", 536870912),
        ("1.5g", 1610612736),
        ("2T", 2199023255552),
        ("18446744073709551615", 2**64 - 1),
        ("1.5", 1),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert values.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1X", "M", "1e9", "0.1", "1 2", "nan"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        values.parse_size(text)


@pytest.mark.parametrize("text", ["18446744073709551616", "16777216T", "9" * 40, "9" * 40 + "T"])
def test_sizes_fit_into_64_bits(text: str) -> None:
    with pytest.raises(ValueError, match=r"below 2\^64"):
        values.parse_size(text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "-1", "0"])
def test_no_positive_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number above zero"):
        values.parse_positive(text)


@pytest.mark.parametrize("text", ["auto", "off", "0", "0.5", "0.999"])
def test_shares(text: str) -> None:
    assert values.check_share(text) == text


@pytest.mark.parametrize("text", ["", "1", "-0.1", "half", "nan", "50%"])
def test_no_shares(text: str) -> None:
    with pytest.raises(ValueError, match="is not auto, off or a part"):
        values.check_share(text)


@pytest.mark.parametrize("text", ["500GF", "1.5TF", "20mf"])
def test_rates(text: str) -> None:
    assert values.check_rate(text) == text


@pytest.mark.parametrize("text", ["500", "0GF", "GF", "-1GF", "1KF"])
def test_no_rates(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        values.check_rate(text)


@pytest.mark.parametrize(
    "text",
    [
        "host:1",
        "127.0.0.1:7770",
        "[::1]:65535",
        "unix:/tmp/s",
        "ucx:host:1",
        "ucx:[::1]:1",
        " h:9 ",
    ],
)
def test_addresses(text: str) -> None:
    assert addresses.check_address(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        ":7770",
        "host:",
        "host:x",
        "host:70000",
        "host:0",
        "::1:7770",
        "unix:",
        "ucx:",
        "ucx:7770",
        "ucx:host:x",
        "h:\u0661",
    ],
)
def test_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address|has no usable port|names no socket"):
        addresses.check_address(text)


def test_port_zero_is_for_listening() -> None:
    assert addresses.check_address("127.0.0.1:0", listening=True) == "127.0.0.1:0"


def test_socket_path_must_fit() -> None:
    longest = "unix:/" + "x" * 106  # sun_path has 108 bytes with its zero
    assert addresses.check_address(longest) == longest
    with pytest.raises(ValueError, match="too long"):
        addresses.check_address(longest + "x")


def test_server_lists() -> None:
    assert addresses.check_servers("a:1, b:2,unix:/s") == ("a:1", "b:2", "unix:/s")
    with pytest.raises(ValueError, match="no server is named"):
        addresses.check_servers(" ,")


def test_folders_of_profiles() -> None:
    assert values.ProfileFolder().check("off") == "off"
    assert values.ProfileFolder().check("/a/../b") == "/b"
    with pytest.raises(ValueError, match="no folder is named"):
        values.ProfileFolder().check(" ")
