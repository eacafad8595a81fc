"""Tests `outboard coverage`, with the tables of a checkout and the page of an installed package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Outboard, clean_environment
from outboard.coverage import Page

PAGE = """# Coverage

## Summary

| table | rows | routines in all precisions | exported names |
| --- | --- | --- | --- |
| Sums | 2 | 3 | 9 |
| together | 2 | 3 | 9 |

## Names

| interface | integers | names | routines |
| --- | --- | --- | --- |
| Fortran | the library's | `<name>_` `<NAME>` | all |
| CBLAS | the library's | `cblas_<name>` | all but zsum |
| CBLAS | 64-bit | `cblas_<name>_sub` | zsum |
| LAPACKE | 64-bit | `LAPACKE_<name>` | all |

## Sums

| routine | s | d | c | z | Fortran | CBLAS | cpu | abacus | computes | stays local if |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| sum |  | dsum |  | zsum | LP64 | LP64 | yes | ? | the sum of \\|x[0]\\| | `n == 0`; [bold] |
| vec | svec |  |  |  | tests | tests | yes | ? | nothing |  |
"""


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the page as the emitter writes it."""
    file = tmp_path_factory.mktemp("page") / "coverage.md"
    routines = ROOT / "routines"
    tables = [*sorted(routines.glob("blas*.toml")), *sorted(routines.glob("lapack*.toml"))]
    command: list[str | Path] = [sys.executable, "-B", ROOT / "codegen" / "emit_coverage.py"]
    command += ["--output", file, "--fftw", routines / "fftw.toml"]
    command += ["--backends", ROOT / "src" / "backend"]
    subprocess.run([*command, *tables], check=True)
    return file.read_text()


def test_markdown_is_the_page(outboard: Outboard, emitted: str, tmp_path: Path) -> None:
    assert outboard("coverage", "--markdown", "-").stdout == emitted
    assert outboard("coverage", "--markdown", "here.md").stdout == ""
    assert (tmp_path / "here.md").read_text() == emitted


def test_all_routines_are_listed(outboard: Outboard, emitted: str) -> None:
    result = outboard("coverage")
    assert result.returncode == 0, result.stderr
    shown = [line.split() for line in result.stdout.splitlines()]
    for routine in Page.parse(emitted).routines():
        start = routine.base.split()
        assert any(line[: len(start)] == start for line in shown), routine.base
    gemm = next(line for line in shown if line[:1] == ["gemm"])
    assert gemm[1:5] == ["s", "d", "c", "z"]
    assert "--markdown -" in result.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "wanted", ["dgesv", "DGESV", "dgesv_", "scipy_dgesv_64_", "LAPACKE_dgesv_work64_"]
)
def test_one_routine_by_any_of_its_names(outboard: Outboard, wanted: str) -> None:
    text = outboard("coverage", "--routine", wanted).stdout
    assert text.startswith("dgesv: A := L U")
    for symbol in ("dgesv_", "DGESV", "scipy_dgesv_64_", "LAPACKE_dgesv", "LAPACKE_dgesv_work64_"):
        assert symbol in text.split(), symbol
    assert "sgesv" not in text
    assert "cblas" not in text


def test_one_routine_in_all_precisions(outboard: Outboard) -> None:
    text = outboard("coverage", "--routine", "heev").stdout
    assert text.startswith("ssyev dsyev cheev zheev: ")
    assert {"LAPACKE_ssyev", "LAPACKE_zheev"} <= set(text.split())


def test_batches_belong_to_their_routine(outboard: Outboard) -> None:
    text = outboard("coverage", "--routine", "cblas_dgemm_batch_strided64_").stdout
    assert text.startswith("dgemm: ")
    assert "_batch" not in outboard("coverage", "--routine", "dsymm").stdout


def test_a_function_of_fftw(outboard: Outboard) -> None:
    assert outboard("coverage", "--routine", "fftwf_plan_dft_1d").stdout.startswith("fftwf_plan")
    both = outboard("coverage", "--routine", "plan_dft_1d").stdout
    assert both.startswith("fftw_plan_dft_1d fftwf_plan_dft_1d: makes a plan")


def test_no_such_routine(outboard: Outboard) -> None:
    result = outboard("coverage", "--routine", "dnothing")
    assert result.returncode == 1
    assert "no row for 'dnothing'" in result.stderr


def test_options_that_exclude_each_other(outboard: Outboard, tmp_path: Path) -> None:
    result = outboard("coverage", "--routine", "dgesv", "--markdown", str(tmp_path / "x.md"))
    assert result.returncode == 2
    assert "exclude each other" in result.stderr


@pytest.fixture
def installed(tmp_path: Path, fake_native: dict[str, str]) -> dict[str, str]:
    """Returns the environment of a package without a checkout. Its page is PAGE."""
    shutil.copytree(ROOT / "python" / "outboard", tmp_path / "site" / "a" / "outboard")
    documents = Path(fake_native["OUTBOARD_NATIVE_DIR"]) / "share" / "doc" / "outboard"
    documents.mkdir(parents=True)
    (documents / "coverage.md").write_text(PAGE)
    return {**fake_native, "PYTHONPATH": str(tmp_path / "site" / "a")}


def test_installed_package_shows_its_page(outboard: Outboard, installed: dict[str, str]) -> None:
    assert outboard("coverage", "--markdown", "-", environment=installed).stdout == PAGE
    text = outboard("coverage", environment=installed).stdout
    (row,) = [line.split() for line in text.splitlines() if line.startswith("sum ")]
    assert row == "sum - d - z LP64 LP64 yes ? n == 0; [bold]".split()
    one = outboard("coverage", "--routine", "zsum", environment=installed).stdout
    assert one.startswith("zsum: the sum of |x[0]|\n")
    assert {"cblas_zsum_sub", "zsum_", "ZSUM"} <= set(one.split())
    assert "cblas_zsum" not in one.split()
    assert "LAPACKE_zsum" not in one
    assert "liboutboard-preload-testing.so" not in one
    vec = outboard("coverage", "--routine", "vec", environment=installed).stdout
    assert "only in liboutboard-preload-testing.so" in vec


def test_installed_package_without_a_page(outboard: Outboard, installed: dict[str, str]) -> None:
    shutil.rmtree(Path(installed["OUTBOARD_NATIVE_DIR"]) / "share")
    result = outboard("coverage", environment=installed)
    assert result.returncode == 1
    assert "coverage.md (No such file or directory)" in result.stderr


def test_a_wrong_table_is_named(outboard: Outboard, tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    for folder in ("python", "codegen", "routines"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "src" / "backend", root / "src" / "backend")
    shutil.copy(ROOT / "CMakeLists.txt", root)
    (root / "routines" / "lapack_mine.toml").write_text('[[routine]]\nname = "gefoo"\n')
    environment = clean_environment(PYTHONPATH=str(root / "python"))
    result = outboard("coverage", environment=environment)
    assert result.returncode == 1
    assert "routines/lapack_mine.toml: gefoo: key 'precisions' is missing" in result.stderr
