"""Checks that the parts of this installation exist and belong together."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from outboard import paths
from outboard.doctor.finding import Finding, note, ok, problem
from outboard.errors import OutboardError
from outboard.settings import without_library
from outboard.version import version

_TIMEOUT_S = 10.0


def check(environment: dict[str, str]) -> tuple[list[Finding], paths.Native | None]:
    """Returns the findings, and the library and daemon if they exist."""
    root = paths.repository()
    where = f"checkout {root}" if root else f"package in {Path(__file__).resolve().parents[1]}"
    found = [ok("outboard", f"{version()}, {where}; Python {platform.python_version()}")]
    try:
        native = paths.require_native()
    except OutboardError as error:
        text, _, advice = error.message.partition("; ")
        return [*found, problem("library", text, advice or "run `outboard build`")], None
    found.append(ok("library", str(native.preload)))
    found.append(daemon(native.daemon, environment))
    if root and native.root.is_relative_to(root) and (late := newer_source(root, native)):
        found.append(
            note("build", f"{late} is newer than the library", "run `outboard build` again")
        )
    return found, native


def daemon(program: Path, environment: dict[str, str]) -> Finding:
    """Compares the version that `outboardd --version` prints with ours."""
    try:
        said = subprocess.run(
            [program, "--version"],
            env=without_library(environment),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        return problem("daemon", f"{program} does not run ({error})", "run `outboard build` again")
    if version() not in said.split():
        return problem(
            "daemon",
            f"{program} is '{said}', this is outboard {version()}",
            "build again, or correct OUTBOARD_NATIVE_DIR",
        )
    return ok("daemon", f"{said}, {program}")


def newer_source(root: Path, native: paths.Native) -> str | None:
    """Returns a source file that changed after the library was built."""
    built = native.preload.stat().st_mtime
    files = (f for f in (root / "src").rglob("*") if f.suffix in (".cpp", ".hpp"))
    late = next((f for f in files if f.stat().st_mtime > built), None)
    return str(late.relative_to(root)) if late else None
