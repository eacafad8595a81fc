"""Configures and builds the C++ side with CMake and Ninja, and shows one progress line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from outboard import paths
from outboard.errors import OutboardError
from outboard.progress import ProgressLine

PRESET = "release"
# The targets that `run` and `serve` need.
NATIVE_TARGETS = ("outboard_preload", "outboardd", "outboard_run")
# The switches OUTBOARD_<part> of CMakeLists.txt. A switch that is on in a build folder stays on.
PARTS = ("TESTS", "BENCH")
# The names of targets and parts in the progress line.
_SUBJECTS = {
    "outboard_preload": "the library",
    "outboardd": "the daemon",
    "outboard_run": "the program that runs commands",
    "example_fft": "an example",
    "TESTS": "the tests",
    "BENCH": "the benchmarks",
}
# Memory that one compiler process may need. With more jobs than the memory divided by this, the
# kernel's OOM killer ends the build.
_BYTES_PER_JOB = 1 << 30
_STATUS = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")


def ensure_native() -> paths.Native:
    """Returns the library and the daemon. Builds them first in a checkout that has none yet."""
    native = paths.find_native()
    root = paths.repository()
    if native is None and root is not None:
        Build(root).run(NATIVE_TARGETS)
    return native or paths.require_native()


class Build:
    """The build folder of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = paths.build_folder(root)
        self.log = self.folder / "outboard-build.log"

    def run(
        self,
        targets: Sequence[str] = (),
        *,
        parts: Sequence[str] = (),
        jobs: int = 0,
        verbose: bool = False,
    ) -> None:
        """Configure with `parts` if needed, then build `targets` (default: all configured)."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log.write_bytes(b"")
        self._configure(parts, verbose)
        command = ["cmake", "--build", str(self.folder), "-j", str(jobs or default_jobs())]
        if targets:
            command += ["--target", *targets]
        with ProgressLine("building", self._subject(targets)) as progress:
            self._execute(command, progress, verbose)

    def _subject(self, targets: Sequence[str]) -> str:
        """Returns the name that people see for the result of a build of `targets`."""
        cache = self.cache()
        parts = [part for part in PARTS if cache.get(f"OUTBOARD_{part}") == "ON"]
        return ", ".join(_SUBJECTS.get(name, name) for name in targets or (*NATIVE_TARGETS, *parts))

    def cache(self) -> dict[str, str]:
        """Returns the variables of CMakeCache.txt. The dictionary is empty before the first
        configuration."""
        try:
            text = (self.folder / "CMakeCache.txt").read_text(errors="replace")
        except OSError:
            return {}
        return dict(re.findall(r"^(\w+):\w+=(.*)$", text, re.MULTILINE))

    def _configure(self, parts: Sequence[str], verbose: bool) -> None:
        cache = self.cache()
        switched_on = {part for part in PARTS if cache.get(f"OUTBOARD_{part}") == "ON"}
        if (self.folder / "build.ninja").is_file() and switched_on.issuperset(parts):
            return  # Ninja configures again by itself after a change of a CMake file.
        command = ["cmake", "-S", str(self.root), "-B", str(self.folder)]
        if cache:
            command.append("--fresh")  # A part that was missing then may be installed now.
        if _has_preset(self.root):
            command += ["--preset", PRESET]
        else:
            command += ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        for part in PARTS:
            on = part in parts or part in switched_on
            command.append(f"-DOUTBOARD_{part}={'ON' if on else 'OFF'}")
        command.append(f"-DPython3_EXECUTABLE={sys.executable}")
        with ProgressLine("configuring") as progress:
            self._execute(command, progress, verbose)

    def _execute(self, command: list[str], progress: ProgressLine, verbose: bool) -> None:
        if shutil.which(command[0]) is None:
            raise OutboardError(
                f"{command[0]} was not found (it builds the C++ side); install the packages cmake "
                "and ninja-build, or start ./outboard, which installs them"
            )
        environment = dict(os.environ, NINJA_STATUS="[%f/%t] ", CLICOLOR_FORCE="0")
        environment.pop("LD_PRELOAD", None)
        kept = [] if verbose else [f"$ {' '.join(command)}\n"]
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert process.stdout is not None
        with process, self.log.open("a") as log:
            for line in process.stdout:
                log.write(line)
                status = _STATUS.match(line)
                if verbose:
                    sys.stderr.write(line)
                elif status and "Re-" in status[3]:
                    pass  # Ninja first regenerates its own files, then counts from 0 again.
                elif status:
                    progress.update(int(status[1]), int(status[2]), status[3])
                else:
                    kept.append(line)
        if process.returncode != 0:
            progress.close()
            sys.stderr.writelines(kept)
            raise OutboardError(
                f"{progress.title} failed (status {process.returncode}); "
                f"its output is above, the whole log in {self.log}"
            )


def default_jobs() -> int:
    """Returns the number of compiler processes: one for each core, or fewer if memory is short."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, memory // _BYTES_PER_JOB))


def _has_preset(root: Path) -> bool:
    try:
        presets = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
    except (OSError, ValueError, KeyError):
        return False
    return any(p.get("name") == PRESET and not p.get("hidden") for p in presets)
