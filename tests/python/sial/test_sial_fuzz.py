"""Tests that no text ends the compiler with anything but its own diagnostics."""

from __future__ import annotations

import os
import random
import time

import pytest

from conftest import ROOT
from outboard.sial.bytecode import write
from outboard.sial.compiler import Options, compile_text
from outboard.sial.tokens import RESERVED

EXAMPLES = [file.read_text() for file in sorted((ROOT / "examples" / "sial").glob("*.sial"))]
GOLDEN = [
    file.read_text()
    for file in sorted((ROOT / "tests" / "python" / "sial" / "golden").glob("*.sial"))
]
WORDS = [*sorted(RESERVED), *'i j k a b t x n norb 1 2 2.0 .5 "s" + - * / ** ^'.split()]
WORDS += "= += -= *=".split()
WORDS += [*"( ) [ ] , : == != < <= > >= \n \n \n # é \0 ! 99999999999999999999 1.0e999".split(" ")]
SECONDS = float(os.environ.get("OUTBOARD_FUZZ_SECONDS", "3"))


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("OUTBOARD_TEST_SEED", random.randrange(2**32)))
    print(f"OUTBOARD_TEST_SEED={seed}")
    return random.Random(seed)


def check(text: str) -> None:
    """Compiles a text. Without errors it has byte code, and with errors places inside the text."""
    try:
        result = compile_text(text, "fuzz.sial", Options(level=len(text) % 2))
        result.render()
    except Exception:
        print(repr(text))
        raise
    assert (result.code is None) == (result.diagnostics.errors > 0)
    for one in result.diagnostics:
        assert one.place.line <= result.sources[one.place.source].lines


def mutated(text: str, chance: random.Random) -> str:
    """Returns a text with some words changed, taken out, doubled or exchanged."""
    words = text.replace("\n", " \n ").replace("[", " [ ").replace(",", " , ").split(" ")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(words))
        match chance.randrange(5):
            case 0:
                words[at] = chance.choice(WORDS)
            case 1:
                del words[at : at + chance.randint(1, 4)]
            case 2:
                words[at:at] = words[at : at + chance.randint(1, 12)]
            case 3:
                words.insert(at, chance.choice(WORDS))
            case _:
                other = chance.randrange(len(words))
                words[at], words[other] = words[other], words[at]
        words = words or [""]
    return " ".join(words)


def test_changed_programs(chance: random.Random) -> None:
    end = time.monotonic() + SECONDS
    count = 0
    while time.monotonic() < end:
        check(mutated(chance.choice(EXAMPLES + GOLDEN), chance))
        count += 1
    print(f"{count} programs")


def test_words_in_any_order(chance: random.Random) -> None:
    end = time.monotonic() + SECONDS / 3
    while time.monotonic() < end:
        words = [chance.choice(WORDS) for _ in range(chance.randint(0, 80))]
        check(chance.choice(["", "sial test\n"]) + " ".join(words))


def test_characters_in_any_order(chance: random.Random) -> None:
    for _ in range(300):
        check(
            "".join(
                chr(chance.choice([chance.randrange(128), 0x2028, 0x85, 0xE9]))
                for _ in range(chance.randint(0, 40))
            )
        )


def test_bytes_that_are_no_text(tmp_path: object) -> None:
    from pathlib import Path

    from outboard.sial.compiler import compile_file

    file = Path(str(tmp_path)) / "bytes.sial"
    file.write_bytes(b"sial x\n# \xff\xfe\n scalar y\n\xc3\nendsial x\n")
    result = compile_file(file, "bytes.sial", Options())
    assert [one.code for one in result.diagnostics if not one.warning] == ["S001", "S001"]


def test_a_long_program() -> None:
    loops = "".join(
        f"  do i\n    do j\n      a[i,j] = {k}.0\n      if x > {k}.0\n"
        "        x += a[i,j] * b[j,i]\n      endif\n    enddo j\n  enddo i\n  call p\n  println x\n"
        for k in range(700)
    )
    text = "sial long\n  predefined int norb\n  aoindex i = 1:norb\n  aoindex j = 1:norb\n"
    text += "  temp a[i,j]\n  temp b[j,i]\n  scalar x\n  proc p\n    x *= 0.5\n  endproc p\n"
    start = time.monotonic()
    result = compile_text(f"{text}{loops}endsial long\n", "long.sial", Options())
    print(f"{text.count(chr(10)) + loops.count(chr(10))} lines: {time.monotonic() - start:.2f} s")
    assert result.program is not None, result.render()[:2000]
    assert write(result.program) == result.code
