"""Compares the diagnostics of golden/CODE.sial with golden/CODE.txt, for every code.

After a change of messages, OUTBOARD_TEST_UPDATE=1 writes the .txt files anew; read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from conftest import ROOT
from outboard.sial.codes import ERRORS, WARNINGS
from outboard.sial.compiler import Options, Result, compile_file

GOLDEN = Path(__file__).parent / "golden"
CODES = sorted([*ERRORS, *WARNINGS])


def compiled(code: str, *, strict: bool = False) -> Result:
    file = GOLDEN / f"{code}.sial"
    return compile_file(file, file.name, Options(folders=(GOLDEN / "library",), strict=strict))


def shown(result: Result) -> str:
    """Returns the messages without the place of the checkout."""
    return result.render().replace(f"{GOLDEN}/", "").replace(str(GOLDEN), ".")


@pytest.mark.parametrize("code", CODES)
def test_messages(code: str) -> None:
    text = shown(compiled(code))
    expected = GOLDEN / f"{code}.txt"
    if "OUTBOARD_TEST_UPDATE" in os.environ:
        expected.write_text(text)
    assert text == expected.read_text()


@pytest.mark.parametrize("code", CODES)
def test_only_this_code_is_reported(code: str) -> None:
    found = [one.code for one in compiled(code).diagnostics]
    assert set(found) == {code}, "a mistake has one message and no others follow from it"


@pytest.mark.parametrize("code", CODES)
def test_errors_have_no_byte_code_and_warnings_do(code: str) -> None:
    result = compiled(code)
    assert (result.code is None) == (code in ERRORS)
    assert result.diagnostics.errors == (len(list(result.diagnostics)) if code in ERRORS else 0)


@pytest.mark.parametrize("code", sorted(WARNINGS))
def test_strict_makes_errors_of_warnings(code: str) -> None:
    result = compiled(code, strict=True)
    assert result.code is None
    assert f"error {code}:" in result.render()


def test_no_other_golden_files() -> None:
    assert {file.stem for file in GOLDEN.glob("*.sial")} == set(CODES)
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(CODES)


def test_the_page_explains_every_code() -> None:
    page = (ROOT / "docs" / "sial" / "language.md").read_text()
    rows = re.findall(r"^\| ([SW]\d+) \| (.*?) \|", page, re.MULTILINE)
    assert dict(rows) == {**ERRORS, **WARNINGS}
