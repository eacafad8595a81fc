"""Tests `outboard sial` as a command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Outboard, clean_environment

PRODUCT = ROOT / "examples" / "sial" / "product.sial"
WRONG = "sial wrong\n  scalar x = 1\n  println x\nendsial wrong\n"


@pytest.fixture
def product(tmp_path: Path) -> Path:
    return Path(shutil.copy(PRODUCT, tmp_path))


def test_compile_disassemble_assemble(outboard: Outboard, product: Path) -> None:
    code, text, again = (product.with_suffix(end) for end in (".sialc", ".txt", ".again"))
    result = outboard("sial", "compile", str(product))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    printed = outboard("sial", "disassemble", str(code))
    assert "block_contract" in printed.stdout
    assert "get b[k,j]" in printed.stdout, "the lines of the source are shown"
    text.write_text(printed.stdout)
    assert outboard("sial", "assemble", str(text), "-o", str(again)).returncode == 0
    assert again.read_bytes() == code.read_bytes()
    product.write_text(product.read_text() + "# changed\n")
    assert "get b[k,j]" not in outboard("sial", "disassemble", str(code)).stdout


def test_mistakes_end_with_1_and_keep_the_older_byte_code(
    outboard: Outboard, product: Path, tmp_path: Path
) -> None:
    wrong, older = tmp_path / "wrong.sial", tmp_path / "wrong.sialc"
    wrong.write_text(WRONG)
    older.write_bytes(b"older")
    result = outboard("sial", "compile", str(wrong), str(product))
    assert result.returncode == 1
    assert f"{wrong}:2:14: error S301: " in result.stderr
    assert "  scalar x = 1\n               ^\n" in result.stderr
    assert older.read_bytes() == b"older"
    assert product.with_suffix(".sialc").exists(), "the other file is compiled"


def test_options_of_compile(outboard: Outboard, product: Path, tmp_path: Path) -> None:
    code = product.with_suffix(".sialc")
    assert outboard("sial", "compile", "--check-only", str(product)).returncode == 0
    assert not code.exists()
    other = tmp_path / "other"
    assert outboard("sial", "compile", str(product), "-O0", "-o", str(other)).returncode == 0
    assert "optimisation=0" in outboard("sial", "disassemble", str(other)).stdout
    unused = tmp_path / "unused.sial"
    unused.write_text("sial unused\n  scalar x\nendsial unused\n")
    result = outboard("sial", "compile", str(unused))
    assert (result.returncode, "warning W07" in result.stderr) == (0, True)
    result = outboard("sial", "compile", "--strict", str(unused))
    assert (result.returncode, "error W07" in result.stderr) == (1, True)
    two = outboard("sial", "compile", str(product), str(unused), "-o", str(other))
    assert two.returncode == 2
    assert "-o takes one file" in two.stderr


def test_folders_of_imports(outboard: Outboard, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "tools.sial").write_text("sial tools\n  scalar x\nendsial tools\n")
    main = tmp_path / "main.sial"
    main.write_text('import "tools.sial"\nsial main\n  println x\nendsial main\n')
    assert outboard("sial", "compile", str(main)).returncode == 1
    assert outboard("sial", "compile", "--path", str(library), str(main)).returncode == 0
    environment = clean_environment(OUTBOARD_SIAL_PATH=f"/nowhere:{library}")
    assert outboard("sial", "compile", str(main), environment=environment).returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["disassemble", "wrong.sial"], "no SIAL byte code"),
        (["assemble", "wrong.sial"], "line 1 is no record"),
        (["compile", "wrong.sial", "-o", "/nowhere/x"], "error S301"),
    ],
)
def test_files_that_are_something_else(
    outboard: Outboard, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "wrong.sial").write_text(WRONG)
    words[1] = str(tmp_path / words[1])
    result = outboard("sial", *words)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


JOB = "sial_job = 1\nprograms = ['prodct.sial']\n[ints]\nnorb = 1\n[segments]\nao = [1]\n"


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_program_in_place_of_its_job(outboard: Outboard, product: Path, command: str) -> None:
    result = outboard("sial", command, str(product))
    assert result.returncode == 2
    assert "is a program, and a job is needed" in result.stderr
    assert 'programs = ["product.sial"]' in result.stderr


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_program_that_is_missing(outboard: Outboard, product: Path, command: str) -> None:
    job = product.with_name("job.toml")
    job.write_text(JOB)
    result = outboard("sial", command, str(job))
    assert result.returncode == 2
    assert "the program prodct.sial is not there" in result.stderr
    assert "the nearest file is product.sial" in result.stderr


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        (("-n", "2", "--workers", "2"), 3),
        (("-n", "2", "--servers", "2"), 3),
        (("-n", "4", "--workers", "2", "--servers", "1"), 3),
        (("-n", "4", "--workers", "2", "--servers", "3"), 5),
    ],
)
def test_ranks_that_are_no_workers_and_servers(
    outboard: Outboard, product: Path, options: tuple[str, ...], ranks: int
) -> None:
    job = product.with_name("job.toml")
    job.write_text(JOB.replace("prodct", "product"))
    result = outboard("sial", "run", str(job), *options)
    assert result.returncode == 2
    assert f"use -n {ranks}" in result.stderr
    assert not product.with_suffix(".sialc").exists(), "nothing was done"


def test_a_folder_that_cannot_be_written(outboard: Outboard, product: Path) -> None:
    result = outboard("sial", "compile", str(product), "-o", "/nowhere/x.sialc")
    assert result.returncode == 2
    assert "cannot write /nowhere/x.sialc" in result.stderr
    assert not list(product.parent.glob(".sialc-*")), "no part of a file stays"


@pytest.mark.parametrize("command", ["compile", "disassemble", "assemble"])
def test_every_command_has_an_example(outboard: Outboard, command: str) -> None:
    assert f"outboard sial {command} " in outboard("sial", command, "--help").stdout
