"""Types of command-line arguments that several benchmarks share."""

from __future__ import annotations

import argparse

from outboard.values import parse_positive


def positive(text: str) -> float:
    """Returns the finite number that `text` means; it must be more than 0."""
    try:
        return parse_positive(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a finite number of more than 0"
        ) from error
