"""Types of command-line arguments that several benchmarks share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import click

from outboard.values import parse_positive


def positive(text: str) -> float:
    """Returns the finite number that `text` means; it must be more than 0."""
    try:
        return parse_positive(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a finite number of more than 0"
        ) from error


def whole_numbers(
    bench: str, arguments: Sequence[str], defaults: Mapping[str, int]
) -> dict[str, int]:
    """Returns `defaults`, changed by pairs of an option and a whole number of at least 1. Raises
    click.UsageError for anything else."""
    found = dict(defaults)
    for option, value in zip_longest(arguments[::2], arguments[1::2], fillvalue=""):
        if option not in found or not value.isdecimal() or int(value) < 1:
            takes = ", ".join(f"{name} N" for name in found)
            given = " ".join(arguments)
            raise click.UsageError(f"{bench} takes {takes} or --check (given: {given})")
        found[option] = int(value)
    return found
