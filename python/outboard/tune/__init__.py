"""Measures link, devices and local library: `outboard tune`."""
