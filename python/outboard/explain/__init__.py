"""Asks the drop-in library where calls would run: `outboard explain`."""
