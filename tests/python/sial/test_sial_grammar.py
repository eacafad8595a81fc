"""Tests the consequences of the grammar, spellings, and recovery from mistakes."""

from __future__ import annotations

import pytest
from sial_programs import codes, compile_body, evaluate, names, program_of


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2.0 ** 2.0 ** 3.0", 64.0),
        ("-3.0 ** 2.0", 9.0),
        ("2.0 * -3.0", -6.0),
        ("(scalar) 2 ** 3.0", 8.0),
        ("1.0 - 2.0 - 3.0", -4.0),
        ("8.0 / 4.0 / 2.0", 1.0),
        ("2.0 + 3.0 * 2.0 ** 2.0", 14.0),
        ("sqrt 16.0 ** 2.0", 16.0),
        ("-(sqrt 4.0)", -2.0),
        ("(2.0 + 3.0) * 2.0", 10.0),
        (".5 + 12. + 1.5e1 + 1.0d-1", 27.6),
        ("(scalar) (7 / 2)", 3.0),
        ("(scalar) (-7 / 2)", -3.0),
        ("(scalar) (int) 2.5", 2.0),
        ("(scalar) (int) 3.5", 4.0),
        ("(scalar) (int) -2.5", -2.0),
        ("(scalar) -9223372036854775808", -(2.0**63)),
    ],
)
def test_value_of_an_expression(expression: str, value: float, level: int) -> None:
    program = program_of(f"  x = {expression}", level=level)
    assert evaluate(program)["x"] == pytest.approx(value, rel=1e-15)


def test_words_and_names_have_no_case_but_strings_do() -> None:
    program = program_of('  DO I\n    Print "Mixed Case"\n  EndDo i\n  X = 1.0')
    assert "loop_begin" in names(program)
    assert {"text": "Mixed Case"} in program["string"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    body = end.join(["  x = 1.0  # a comment with ü", "", "  n = y", "  n = 2"])
    (only,) = compile_body(body).diagnostics
    assert (only.code, only.place.line) == ("S101", 22)


def test_brackets_of_an_argument_belong_to_the_name() -> None:
    body = "  do i\n  do j\n  execute f a [i, j] -1.0 n m\n  enddo j\n  enddo i"
    special = "\n  predefined int norb\n  aoindex i = 1:norb\n  aoindex j = 1:norb\n"
    special += "  temp a[i,j]\n  static m[i,j]\n  int n\n  special f wrrr\n"
    program = program_of(body, declarations=special)
    words = [name for name in names(program) if name.startswith(("argument", "execute"))]
    assert words == [
        "argument_block",
        "argument_scalar_constant",
        "argument_int",
        "argument_array",
        "execute",
    ]


def test_older_spellings_have_the_same_byte_code() -> None:
    new = "\n  predefined int norb\n  aoindex i = 1:norb\n  temp t[i]\n"
    old = "\n  predefined int norb\n  aoindex i = 1, norb\n  temp t(i)\n"
    body = "  do i\n    gpu_on\n    t[i] = 1.0\n    gpu_off\n    println i\n  enddo i"
    older = body.replace("gpu_on", "gpu_begin").replace("gpu_off", "gpu_end")
    older = older.replace("t[i]", "t(i)").replace("println i", "print_index i")
    assert program_of(body, declarations=new)["code"] == program_of(older, declarations=old)["code"]
    warnings = compile_body(older, declarations=old).diagnostics
    assert {one.code for one in warnings} == {"W01"}


@pytest.mark.parametrize("word", ["1e5", "1.5.2", "x =", "= 2.0", "[", "x = (1.0"])
def test_forms_that_do_not_exist(word: str) -> None:
    assert codes(f"  {word}") in (["S003"], ["S001"])


def test_all_mistakes_are_reported_once() -> None:
    body = """
  x = 1.0 +
  do i
    do j
      a[i,j] = unknown
      a[i,j] = unknown
      x = 2
      y = 1.0 ! 2.0
      a[i,j] = c[i,k] * c[j,k]
    enddo k
  enddo i
  call nothing
  print "open
"""
    assert codes(body) == [
        "S003",  # the line ends
        "S101",  # unknown, once
        "S301",
        "S001",
        "S206",  # k
        "S006",
        "S101",
        "S002",
    ]


@pytest.mark.parametrize("header", ["do", "do 1", "pardo", "if x <", "if", "section x", "proc 2"])
def test_a_wrong_header_still_has_its_end(header: str) -> None:
    word = header.split()[0]
    body = f"  {header}\n    x = 1.0\n    x = a[i,j]\n  end{word} i\n  println x"
    assert codes(body)[0] == "S003"
    assert "S006" not in codes(body)


def test_a_wrong_declaration_declares_its_name() -> None:
    text = "\n  scalar x\n  temp t[i j]\n  aoindex i = 1:\n  aoindex j = 1:2\n"
    body = "  do i\n    t[i,j] = 1.0\n    x = t[i,j] * t[i,j]\n  enddo i"
    assert codes(body, declarations=text) == ["S003", "S003"]


def test_ends_that_are_missing() -> None:
    body = "  do i\n    do j\n      do s\n        x += 1.0\n      enddo s\n  enddo i\n  x = 2"
    assert codes(body) == ["S006", "S301"]
    assert codes("  if x > 1.0\n    do i\n    enddo i") == ["S006"]


def test_deep_nesting_is_refused() -> None:
    deep = 80
    body = "\n".join(["  if x > 1.0"] * deep + ["  endif"] * deep)
    assert set(codes(body)) == {"S004"}
    assert codes("  x = " + "(" * 500 + "1.0" + ")" * 500) == ["S004"]
    assert codes("  x = " + "1.0 + (" * 70 + "1.0" + ")" * 70) == ["S004"]
    assert codes("  x = " + "(scalar) " * 500 + "1.0") == ["S004"]


def test_level_1_computes_constants_that_have_a_value() -> None:
    assert names(program_of("  x = 2.0 * (3.0 + sqrt 4.0)", level=0))[-3] == "scalar_multiply"
    folded = names(program_of("  x = 2.0 * (3.0 + sqrt 4.0)"))
    assert folded == ["push_scalar", "store_scalar", "halt"]
    # The runtime reports these, if they are reached.
    for expression in ("1.0 / 0.0", "1.0e300 * 1.0e300", "(-1.0) ** 0.5", "sqrt (-1.0)"):
        assert len(names(program_of(f"  x = {expression}"))) > 3
    assert len(names(program_of("  n = 9223372036854775807 + 1"))) > 3
    assert len(names(program_of("  n = (int) 1.0e30"))) > 3
