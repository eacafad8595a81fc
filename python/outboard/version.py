"""The one version number: CMakeLists.txt in a checkout, the package's metadata once installed."""

from __future__ import annotations

import re

from outboard import paths


def version() -> str:
    """Version of this copy, e.g. "0.1.0"."""
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
