"""Estimates what a program does in a job."""

from __future__ import annotations

from outboard.sial.explain.counts import Estimate
from outboard.sial.explain.follow import Follower
from outboard.sial.explain.job import Options, Sizes
from outboard.sial.explain.statements import Saved
from outboard.sial.records import Program


def estimate(program: Program, sizes: Sizes, options: Options, saved: Saved) -> Estimate:
    """Counts what a program does. Adds what it saves to `saved`.

    Errors: OutboardError if it cannot be followed"""
    follower = Follower(program, sizes, options, saved)
    follower.follow()
    saved.update(follower.saved_at_end())
    return follower.result
