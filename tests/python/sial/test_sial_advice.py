"""Messages give advice for words and forms of other languages, and each such line causes one
message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sial_programs import DECLARATIONS, codes, compile_body
from test_sial_run import prepare, run_job

from conftest import ROOT
from outboard import paths
from outboard.sial.built_in import BUILT_IN, declaration

LOOP = "  do i\n    do j\n      {}\n    enddo j\n  enddo i"
MISTAKES = [
    # statements, the only code, what the text has
    ("  if x > 1.0 then\n  endif", "S003", "a condition ends with its line"),
    ("  if (x > 1.0)\n  endif", "S003", "without parentheses"),
    ("  if x > 1.0 and x < 2.0\n  endif", "S003", "there is no `and`"),
    ("  if n > 1 or x < 2.0\n  endif", "S003", "there is no `or`"),
    ("  if not x > 1.0\n  endif", "S003", "there is no `not`"),
    ("  if x > 1.0 && x < 2.0\n  endif", "S001", "there is no `and`"),
    ("  if x > 1.0 || x < 2.0\n  endif", "S001", "there is no `or`"),
    ("  if n = 3\n  endif", "S003", "equality is `==`"),
    ("  if x\n  endif", "S003", "compare two values"),
    ("  if n > 1\n  elseif n > 2\n  endif", "S003", "nest an `if` below `else`"),
    ("  if n > 1\n  elif n > 2\n  endif", "S003", "nest an `if` below `else`"),
    ("  if n > 1\n  end if", "S003", "ends are one word"),
    ("  do i\n  end do", "S003", "ends are one word"),
    ("  iff n > 1\n  endif", "S003", "did you mean `if`?"),
    ("  padro i, j\n  endpardo i, j", "S003", "did you mean `pardo`?"),
    ("  pardo i, j\n  endprado i, j", "S003", "did you mean `endpardo`?"),
    ("  pardo i, j where i < j\n  endpardo i, j", "S003", "`where` on the next line"),
    ("  do i = 1, 10\n  enddo i", "S003", "`index i = 1:10`"),
    ("  do while x < 1.0\n  enddo", "S003", "`exit` under an `if`"),
    ("  break", "S003", "write `exit`"),
    ("  continue", "S003", "write `cycle`"),
    ("  barrier", "S003", "write `sip_barrier`"),
    ('  print "x = ", x', "S003", "it takes one value"),
    ('  print "x = " x', "S003", "it takes one value"),
    ("  println x, n", "S003", "it takes one value"),
    ('  printf("x")', "S003", "write `print`"),
    ("  write(*,*) x", "S003", "write `print`"),
    ("  print 'x'", "S001", 'strings stand between `"`'),
    ("  x = 1.0; n = 2", "S001", "one statement per line"),
    ("  x = 1.0 ! one", "S001", "a comment begins with `#`"),
    ("  x = 1.0 // one", "S003", "a comment begins with `#`"),
    ("  // one", "S003", "a comment begins with `#`"),
    ("  n = 5 % 2", "S001", "there is no remainder"),
    ("  x = 1e-8", "S003", "`1.0e..`"),
    ("  n++", "S003", "write `n += 1`"),
    ("  n == 1", "S003", "an assignment has `=`"),
    ("  n := 1", "S003", "an assignment has `=`"),
    ("  call f(x)", "S003", "a proc has no parameters"),
    ("  execute f(x)", "S003", "without parentheses"),
    ("  execute f x, n", "S003", "parted by blanks"),
    (LOOP.format("get d[i,j], d[j,i]"), "S003", "a `get` for each"),
    ("  x = exp(x)", "S101", "the only function is `sqrt`"),
    ("  x = max(x, -x)", "S101", "the only function is `sqrt`"),
    (LOOP.format("x = trace(a[i,j])"), "S101", "the only function is `sqrt`"),
    ("  execute eigen_symmetric m v", "S701", "declare it: `special eigen_symmetric uw`"),
    ("  execute list_block_map", "S701", "declare it: `special list_block_map`"),
    ("  execute transposed m m", "S701", "`special transpose wr`"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code", "advice"), MISTAKES)
def test_advice(body: str, code: str, advice: str) -> None:
    found = [one for one in compile_body(body).diagnostics if one.code != "W07"]
    assert [one.code for one in found] == [code], "no other message follows from the mistake"
    assert advice in found[0].text


@pytest.mark.parametrize(
    "body",
    [
        "  for i\n    c[i,i] = 1.0\n  endfor",
        "  while x < 1.0\n  endwhile",
        "  do i, j\n  enddo i, j",
    ],
)
def test_loops_of_other_languages_have_their_ends(body: str) -> None:
    assert codes(body) == ["S003", "S003"]


def test_declarations_of_other_languages_declare_their_names() -> None:
    words = "\n  integer n\n  real x\n  double precision y\n  scaler z\n  int p, q\n  scalar w\n"
    body = "  x = y\n  z = w\n  n = p"
    assert codes(body, declarations=words) == ["S003"] * 5


def test_words_of_other_languages_are_names() -> None:
    arrays = DECLARATIONS + "  temp write[i,j]\n  scalar real\n  scalar while\n"
    body = LOOP.format("write[i,j] = 1.0\n      real = write[i,j] * write[i,j]\n      while = real")
    assert codes(body, declarations=arrays) == []
    older = body.replace("write[i,j]", "write(i,j)")
    assert codes(older, declarations=arrays) == []


def test_the_nearest_declared_super_instruction_comes_first() -> None:
    special = DECLARATIONS + "  special transposes wr\n"
    (found,) = [
        one
        for one in compile_body("  execute transposed m m", declarations=special).diagnostics
        if one.code == "S701"
    ]
    assert "the nearest one is `transposes`" in found.text


def test_built_in_super_instructions_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "sial" / "plugins.md").read_text().partition("## Built in")[2]
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    pieces = [piece.partition(" ") for row in rows for piece in re.findall(r"`(.*?)`", row)]
    assert {name: intents for name, _, intents in pieces} == BUILT_IN


@pytest.mark.end_to_end
def test_the_runtime_has_the_built_in_super_instructions(
    native: paths.Native, tmp_path: Path
) -> None:
    # The runtime compares all declarations with its functions before the program starts.
    lines = [f"  {declaration(name)}\n" for name in BUILT_IN]
    job = prepare(tmp_path, f"sial p\n  scalar x\n{''.join(lines)}  x = 1.0\nendsial p\n", level=0)
    done = run_job(native, job)
    assert done.returncode == 0, done.stderr
