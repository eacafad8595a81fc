"""Outboard's command line: runs unmodified programs and sends their library calls out."""
