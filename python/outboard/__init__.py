"""Outboard's command line: runs unmodified programs with their library calls sent out."""
