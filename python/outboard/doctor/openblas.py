"""Checks OpenBLAS, which computes the calls that stay local: its kernels and its threads.

A build for many processors chooses its kernels when it is opened. An older build does not know a
newer processor. It then chooses the oldest kernels, which reach a fraction of the speed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outboard.doctor.finding import Finding, note, ok, problem
from outboard.settings import without_library

_TIMEOUT_S = 60.0
_AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}
# The instructions that the kernels of a core type use. Source: OpenBLAS, kernel/x86_64/KERNEL.*.
_LEVELS = {
    "avx512": "skylakex cooperlake sapphirerapids",
    "avx2": "haswell zen excavator",
    "avx": "sandybridge bulldozer piledriver steamroller",
}
_ORDER = ("sse", "avx", "avx2", "avx512")
_BEST = {"avx512": "SkylakeX", "avx2": "Haswell", "avx": "Sandybridge"}

_PROGRAM = """
import ctypes, json, sys, time
library = ctypes.CDLL(sys.argv[1])
def find(name):
    forms = (name, name + "64_", "scipy_" + name, "scipy_" + name + "64_")
    return next((getattr(library, f) for f in forms if hasattr(library, f)), None)
def text(name):
    function = find(name)
    if function is None:
        return ""
    function.restype = ctypes.c_char_p
    return (function() or b"").decode(errors="replace")
threads = find("openblas_get_num_threads")
answer = {"config": text("openblas_get_config"), "core": text("openblas_get_corename"),
          "threads": threads() if threads else 0, "gflops": 0.0}
n = int(sys.argv[2])
forms = (("dgemm_", 4), ("scipy_dgemm_", 4), ("dgemm_64_", 8), ("scipy_dgemm_64_", 8))
dgemm = next(((getattr(library, f), w) for f, w in forms if hasattr(library, f)), None)
if n and dgemm:
    integer = ctypes.c_int32 if dgemm[1] == 4 else ctypes.c_int64
    a, b, c = ((ctypes.c_double * (n * n))(*([1.0] * (n * n))) for _ in range(3))
    none, size = ctypes.byref(ctypes.c_char(b"N")), ctypes.byref(integer(n))
    one = ctypes.byref(ctypes.c_double(1))
    best = None
    for _ in range(4):
        begin = time.perf_counter()
        dgemm[0](none, none, size, size, size, one, a, size, b, size, one, c, size)
        took = time.perf_counter() - begin
        best = took if best is None else min(best, took)
    answer["gflops"] = 2e-9 * n**3 / best
print(json.dumps(answer))
"""


@dataclass(frozen=True)
class OpenBlas:
    """The description that a library gives of itself."""

    config: str
    core: str
    threads: int
    gflops: float = 0.0


def ask(library: str, environment: Mapping[str, str], size: int = 0) -> OpenBlas | int | None:
    """Asks `library` about itself in a process of its own. If `size` is given, runs some products
    first. Returns the negative number of the signal that ended the process, if any; None if there
    is no such library, or if it does not answer within the time limit."""
    try:
        result = subprocess.run(
            [sys.executable, "-c", _PROGRAM, library, str(size)],
            env=without_library(environment),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if result.returncode < 0:
        return result.returncode
    if result.returncode:
        return None
    return OpenBlas(**json.loads(result.stdout))


def processor_flags(cpuinfo: str) -> set[str]:
    """Returns the flags in /proc/cpuinfo; an empty set if the processor has no such line."""
    lines = (line for line in cpuinfo.splitlines() if line.startswith("flags"))
    return set(next(lines, ":").partition(":")[2].split())


def level_of_flags(flags: set[str]) -> str:
    """Returns the level of the best kernels that a processor can run."""
    if flags >= _AVX512:
        return "avx512"
    if {"avx2", "fma"} <= flags:
        return "avx2"
    return "avx" if "avx" in flags else "sse"


def level_of_core(core: str) -> str:
    """Returns the instructions that the kernels of an OpenBLAS core type use."""
    return next((k for k, names in _LEVELS.items() if core.lower() in names.split()), "sse")


def processor_level() -> str:
    """Returns the level of the best kernels that this processor can run."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        return level_of_flags(processor_flags(file.read()))


def best_core_type() -> str | None:
    """Returns the core type that the daemon asks OpenBLAS for; None if OpenBLAS chooses."""
    return _BEST.get(processor_level())


def check(library: str, environment: Mapping[str, str], measure: bool) -> list[Finding]:
    """Checks the core type that `library` chose on this processor."""
    name = Path(library).name
    chosen = environment.get("OPENBLAS_CORETYPE", "")
    said = ask(library, environment)
    if said is None:
        return []
    if isinstance(said, int):
        text = f"dies of signal {-said} when it is opened"
        if not chosen:
            return [problem(name, text, "install another BLAS")]
        text += f", with OPENBLAS_CORETYPE={chosen}"
        return [problem(name, text, "this processor may not have such kernels; unset it")]
    if not said.core:
        return [ok(name, "does not say which kernels it uses")]
    version = next((w for w in said.config.split() if w[:1].isdigit()), "")
    title = f"{version} uses kernels for {said.core}, {said.threads} threads".strip()
    found = judge(name, title, level_of_core(said.core), processor_level(), chosen)
    if not measure:
        return [found]
    return [found, *_measured(name, library, environment, said.core, processor_level())]


def judge(name: str, title: str, used: str, able: str, chosen: str) -> Finding:
    """Compares the kernels in use with those that the processor can run."""
    behind = _ORDER.index(able) - _ORDER.index(used)
    if behind <= 0:
        return ok(name, title)
    advice = f"export OPENBLAS_CORETYPE={_BEST[able]}" + (
        f" instead of {chosen}" if chosen else ", or install a newer OpenBLAS"
    )
    text = f"{title}, which use {used}; this processor has {able}"
    if used == "sse" or behind > 1:
        return problem(name, f"{text}: local calls take several times longer", advice)
    return note(name, text, f"{advice}; try it with --measure")


_MEASURE_N = 1000


def _measured(
    name: str, library: str, environment: Mapping[str, str], core: str, able: str
) -> list[Finding]:
    """Times products with the present core type and with the advised one."""
    now = ask(library, environment, _MEASURE_N)
    if not isinstance(now, OpenBlas) or not now.gflops:
        return []
    text = f"dgemm n = {_MEASURE_N}: {now.gflops:.0f} GFLOP/s with {core}"
    best = _BEST.get(able)
    if best is None or level_of_core(core) == able:
        return [ok(name, text)]
    other = ask(library, {**environment, "OPENBLAS_CORETYPE": best}, _MEASURE_N)
    if not isinstance(other, OpenBlas) or not other.gflops:
        return [note(name, f"{text}; it does not run with {best}")]
    return [note(name, f"{text}, {other.gflops:.0f} with {best}")]


def cores(quota: str | None = None) -> float:
    """Returns the processors that this process may use, by its affinity and its control group's
    quota."""
    allowed = float(len(os.sched_getaffinity(0)))
    if quota is None:
        quota = _quota()
    limit, _, period = quota.partition(" ")
    if limit.isdigit() and period.strip().isdigit():
        return min(allowed, int(limit) / int(period))
    return allowed


def _quota() -> str:
    """Returns cpu.max of this process's control group, or "max"."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        group = next(line.partition("::")[2] for line in lines if line.startswith("0::"))
        return (Path("/sys/fs/cgroup") / group.lstrip("/") / "cpu.max").read_text().strip()
    except (OSError, StopIteration):
        return "max"


def threads(environment: Mapping[str, str], available: float) -> list[Finding]:
    """Compares the variables that set a number of threads with the number of processors."""
    found = []
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        value = environment.get(name)
        if value is None:
            continue
        first = value.split(",")[0].strip()
        if not first.isdigit() or int(first) == 0:
            text = f"'{value}' is no number of threads: it is ignored"
            found.append(problem(name, text, f"write a number, or unset {name}"))
        elif int(first) > available:
            text = f"{first} threads share {available:g} processors: each waits for the others"
            found.append(problem(name, text, f"export {name}={max(1, int(available))}"))
        elif int(first) < available:
            text = f"local calls use {first} of {available:g} processors"
            found.append(note(name, text, f"fine if on purpose (MPI); otherwise unset {name}"))
    machine = os.cpu_count() or 1
    if not found and available < machine:
        text = f"this process may use {available:g} of {machine} processors"
        advice = f"export OPENBLAS_NUM_THREADS={max(1, int(available))}: a quota it does not see"
        quota_only = available < len(os.sched_getaffinity(0))
        found.append(note("processors", text, advice if quota_only else ""))
    return found or [ok("processors", f"{available:g}, and no variable sets fewer threads")]
