"""The version number: from CMakeLists.txt in a checkout, from the package's metadata otherwise."""

from __future__ import annotations

import re

from outboard import paths


def version() -> str:
    """Returns the version of this copy, e.g. "0.1.0"."""
    root = paths.repository()
    if root is not None:
        found = re.search(
            r"project\(outboard\s+VERSION\s+([0-9.]+)", (root / "CMakeLists.txt").read_text()
        )
        if found:
            return found.group(1)
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed_version

    try:
        return installed_version("outboard")
    except PackageNotFoundError:
        return "unknown"
