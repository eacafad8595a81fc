"""Tests `outboard doctor` and the machine: OpenBLAS's kernels and threads, and the notes."""

import ctypes
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from outboard.doctor import machine, openblas
from outboard.doctor.finding import Finding, Level

LIBRARY = "libopenblas.so.0"


def by_check(found: list[Finding]) -> dict[str, Finding]:
    return {f.check: f for f in found}


# --- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("fpu sse2 avx fma avx2 avx512f avx512bw avx512dq avx512vl avx512cd", "avx512"),
        ("fpu sse2 avx fma avx2 avx512f avx512cd", "avx2"),  # Knights Landing lacks the others
        ("fpu sse2 avx fma avx2", "avx2"),
        ("fpu sse2 avx avx2", "avx"),
        ("fpu sse2", "sse"),
    ],
)
def test_levels_of_processors(flags: str, level: str) -> None:
    cpuinfo = f"model name\t: x\nflags\t\t: {flags}\n\nmodel name\t: x\nflags\t\t: other\n"
    assert openblas.level_of_flags(openblas.processor_flags(cpuinfo)) == level


def test_a_processor_without_flags() -> None:
    assert openblas.processor_flags("Features\t: fp asimd\n") == set()


def test_levels_of_core_types() -> None:
    cores = {"Prescott": "sse", "Sandybridge": "avx", "Zen": "avx2", "SkylakeX": "avx512"}
    assert {core: openblas.level_of_core(core) for core in cores} == cores


@pytest.mark.parametrize(
    ("used", "able", "level"),
    [
        ("sse", "avx512", Level.PROBLEM),
        ("sse", "avx", Level.PROBLEM),
        ("avx", "avx512", Level.PROBLEM),
        ("avx2", "avx512", Level.NOTE),
        ("avx512", "avx512", Level.OK),
        ("avx512", "avx2", Level.OK),
    ],
)
def test_kernels_against_the_processor(used: str, able: str, level: Level) -> None:
    found = openblas.judge("lib", "title", used, able, "")
    assert found.level is level
    assert (f"OPENBLAS_CORETYPE={openblas._BEST[able]}" in found.advice) == (level is not Level.OK)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="core types of other processors")
def test_openblas_with_the_oldest_kernels() -> None:
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1"}
    (found,) = openblas.check(LIBRARY, environment, measure=False)
    assert "kernels for Prescott, 1 threads" in found.text
    flags = openblas.processor_flags(Path("/proc/cpuinfo").read_text())
    assert found.level is (Level.PROBLEM if "avx" in flags else Level.OK)
    if found.level is Level.PROBLEM:
        assert "instead of Prescott" in found.advice
        (_, measured) = openblas.check(LIBRARY, environment, measure=True)
        assert "GFLOP/s with Prescott" in measured.text


def test_a_measured_openblas() -> None:
    said = openblas.ask(LIBRARY, dict(os.environ), 50)
    assert isinstance(said, openblas.OpenBlas)
    assert said.config.startswith("OpenBLAS ")
    assert said.gflops > 0


def test_an_openblas_in_a_wheel() -> None:
    import numpy

    folder = Path(numpy.__file__).parent.parent / "numpy.libs"
    (library,) = folder.glob("*openblas*")
    said = openblas.ask(str(library), dict(os.environ), 50)
    assert isinstance(said, openblas.OpenBlas)
    assert said.core
    assert said.threads > 0
    assert said.gflops > 0


def test_no_openblas() -> None:
    assert openblas.check("libno-such-blas.so.0", dict(os.environ), measure=False) == []


def compile_library(folder: Path, source: str) -> Path:
    compiler = shutil.which("cc")
    assert compiler is not None
    library = folder / "libopenblas-test.so"
    (folder / "a.c").write_text(source)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, folder / "a.c"], check=True)
    return library


def test_an_openblas_that_dies(tmp_path: Path) -> None:
    source = "__attribute__((constructor)) static void die(void) { __builtin_trap(); }"
    library = str(compile_library(tmp_path, source))
    (found,) = openblas.check(library, {"OPENBLAS_CORETYPE": "SkylakeX"}, measure=False)
    assert found.level is Level.PROBLEM
    assert "dies of signal 4" in found.text
    assert "OPENBLAS_CORETYPE=SkylakeX" in found.text
    (found,) = openblas.check(library, {}, measure=False)
    assert "OPENBLAS_CORETYPE" not in found.text


def test_a_blas_that_does_not_say(tmp_path: Path) -> None:
    library = str(compile_library(tmp_path, "void dgemm_(void) {}"))
    (found,) = openblas.check(library, {}, measure=False)
    assert (found.level, "does not say" in found.text) == (Level.OK, True)


# --- threads -------------------------------------------------------------------------------------


def test_threads() -> None:
    def one(value: str, cores: float = 4) -> Finding:
        (found,) = openblas.threads({"OMP_NUM_THREADS": value}, cores)
        return found

    assert one("8").level is Level.PROBLEM
    assert one("8").advice == "export OMP_NUM_THREADS=4"
    assert one("4").level is Level.OK
    assert one("4,2").level is Level.OK
    assert one("1").level is Level.NOTE
    assert "is no number" in one("many").text
    assert "is no number" in one("0").text
    assert one("1", 0.5).advice == "export OMP_NUM_THREADS=1"


def test_processors_that_a_quota_takes_away() -> None:
    allowed = len(os.sched_getaffinity(0))
    assert openblas.cores("max 100000") == allowed
    assert openblas.cores("50000 100000") == 0.5
    (found,) = openblas.threads({}, 0.5)
    assert found.level is Level.NOTE
    assert f"0.5 of {os.cpu_count()} processors" in found.text
    assert "OPENBLAS_NUM_THREADS=1" in found.advice


# --- accelerators and the kernel -----------------------------------------------------------------


def library_is_there(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def test_devices_are_only_notes() -> None:
    found = by_check(machine.devices())
    assert Level.PROBLEM not in {f.level for f in found.values()}
    assert (found["UCX"].level is Level.OK) == library_is_there("libucp.so.0")
    assert (found["CUDA"].level is Level.OK) == library_is_there("libcuda.so.1")
    if not library_is_there("libOpenCL.so.1"):
        assert found["OpenCL"].level is Level.NOTE


def test_opencl_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    if not library_is_there("libOpenCL.so.1"):
        pytest.skip("no libOpenCL.so.1")
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nowhere")
    found = by_check(machine.devices())["OpenCL"]
    assert found.level is Level.NOTE
    assert "no platform" in found.text


def test_what_opencl_says() -> None:
    assert machine._opencl(None).level is Level.NOTE
    assert machine._opencl("Portable Computing Language: 1 devices").level is Level.OK


def test_kernel_is_only_notes() -> None:
    found = by_check(machine.kernel())
    assert Level.PROBLEM not in {f.level for f in found.values()}
    assert found["kernel"].text == platform.release()
    assert found["memfd"].level is Level.OK
    version = tuple(int(part) for part in platform.release().split(".")[:2])
    if version < (6, 7):
        assert "not there" in found["page tracking"].text
    assert {"userfaultfd", "TLS in the kernel", "huge pages"} <= set(found)


def test_a_feature() -> None:
    assert machine._feature("x", True, "y").level is Level.OK
    assert machine._feature("x", False, "y").text == "y: not there"
    assert machine._feature("x", None, "y").text == "y: cannot be tried here"
