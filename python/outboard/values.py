"""The values that people type: sizes, rates and addresses, as click parameter types."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any

import click

from outboard import addresses

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:iB)?|B)?", re.IGNORECASE)
_RATE = re.compile(r"(\d+(?:\.\d+)?)([MGT])F", re.IGNORECASE)
_TIME = re.compile(r"\d+(?:\.\d+)?(?:us|ms|s)")
_POWER = {"K": 10, "M": 20, "G": 30, "T": 40}
# A command that measures or watches takes no more than a day.
LONGEST_S = 86400.0
MAX_DEVICES = 64  # of a daemon: apps/outboardd.cpp


def parse_size(text: str) -> int:
    """Returns the bytes that "4096", "512M" or "1.5GiB" mean. The suffixes are powers of 1024."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError(
            f"'{text}' is not a size (a number, then K, M, G or T); write 512M or 4GiB"
        )
    from fractions import Fraction  # slow to load

    number, suffix = found.groups()
    size = int(Fraction(number) * (1 << _POWER[suffix.upper()] if suffix else 1))
    if not 0 < size < 1 << 64:
        raise ValueError(
            f"'{text}' is not a size (it must be above zero and below 2^64); write 512M or 4GiB"
        )
    return size


def parse_positive(text: str) -> float:
    """Returns the number above zero that `text` means; "nan" and "inf" are none."""
    number = float(text)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"'{text}' is not a number above zero")
    return number


def check_rate(text: str) -> str:
    """Checks the rate of a simulated device, e.g. "500GF" for 500 Gflop/s, and returns it
    unchanged."""
    found = _RATE.fullmatch(text.strip())
    if not found or float(found.group(1)) <= 0:
        raise ValueError(f"'{text}' is not a rate (a number, then MF, GF or TF); write 500GF")
    return text.strip()


def check_time(text: str) -> str:
    """Checks the time of a simulated device, e.g. "20ms", and returns it unchanged."""
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise ValueError(f"'{text}' is not a time (a number, then us, ms or s); write 20ms")
    return text.strip()


def check_devices(text: str) -> str:
    """Checks the number of devices that may work on one call, or "all". Tests write "always:2"."""
    number = text.removeprefix("always:")
    if number == "all" or (number.isascii() and number.isdigit() and int(number) > 0):
        return text
    raise ValueError(f"'{text}' is no number of devices, or all")


def check_share(text: str) -> str:
    """Checks the part of a product for the accelerator: "auto", "off", or from 0 to below 1."""
    if text in ("auto", "off"):
        return text
    try:
        good = 0 <= float(text) < 1
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"'{text}' is not auto, off or a part between 0 and 1")
    return text


if TYPE_CHECKING:
    # older versions have a type that is generic only for the type checker
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType


class _Checked(_ParamType):
    """A click type that turns the ValueError of a checking function into a usage error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.check(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def check(self, text: str) -> Any:
        raise NotImplementedError


class Size(_Checked):
    name = "size"

    def check(self, text: str) -> int:
        return parse_size(text)


class Seconds(click.FloatRange):
    """A time within bounds. click itself takes "nan" for a number in any range."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number of seconds", param, ctx)
        return number


class ResidentSize(_Checked):
    """Device memory for operands that stay: a size, "auto" or "off". The value is a text of
    bytes."""

    name = "size"

    def check(self, text: str) -> str:
        return text if text in ("auto", "off") else str(parse_size(text))


class ProfileFolder(_Checked):
    """A folder of profiles, made absolute, or "off"."""

    name = "folder"

    def check(self, text: str) -> str:
        if not text.strip():
            raise ValueError("no folder is named; write a folder's name, or off")
        return text if text == "off" else os.path.abspath(text)


class Share(_Checked):
    """The part of a product for the accelerator."""

    name = "part"

    def check(self, text: str) -> str:
        return check_share(text)


class Devices(_Checked):
    """The number of devices that may work on one call."""

    name = "number"

    def check(self, text: str) -> str:
        return check_devices(text)


class Rate(_Checked):
    name = "rate"

    def check(self, text: str) -> str:
        return check_rate(text)


class Time(_Checked):
    name = "time"

    def check(self, text: str) -> str:
        return check_time(text)


class Servers(_Checked):
    name = "address[,address...]"

    def check(self, text: str) -> tuple[str, ...]:
        return addresses.check_servers(text)


class ListenAddress(_Checked):
    name = "address"

    def check(self, text: str) -> str:
        return addresses.check_address(text, listening=True)


class ReportTarget(_Checked):
    """A target of the report: "text" or "json:FILE"."""

    name = "text|json:FILE"

    def check(self, text: str) -> str:
        if text == "text" or (text.startswith("json:") and len(text) > len("json:")):
            return text
        raise ValueError(
            f"'{text}' is not a report (text or json:FILE); if it belongs to the command, "
            "put -- in front of the command"
        )
