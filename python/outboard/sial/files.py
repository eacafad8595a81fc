"""Writes files of byte code."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from outboard.errors import OutboardError


def replace_file(file: Path, data: bytes) -> None:
    """Replaces a file at once, so that a reader never finds half of it."""
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".sialc-", delete=False) as part:
            part.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part.name, 0o666 & ~mask)
        os.replace(part.name, file)
    except OSError as error:
        raise OutboardError(f"cannot write {file} ({error.strerror})", exit_code=2) from error
