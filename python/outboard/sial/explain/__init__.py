"""Counts what a SIAL program will do in a job, without blocks and without running it.

Source: docs/decisions/0065-sial-explain.md
"""
