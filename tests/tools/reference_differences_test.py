"""Tests check_table with an invented routine and its row. They agree; every kind of difference
between them is found, unless it is explained."""

from __future__ import annotations

import contextlib
import io
import unittest

from tree import TreeTest

import check_table

# A routine with an argument of every kind, which computes nothing. {letter}, {element} and {real}
# follow the precision.
SOURCE = """\
*> \\brief \\b {letter}SOLVE makes an example
*
*  Definition:
*  ===========
*
*       SUBROUTINE {letter}SOLVE( JOBV, UPLO, M, N, A, LDA, IPIV, V, LDV, TAU, X, INCX, WORK,
*                           LWORK, IWORK, INFO )
*
*> \\param[in] JOBV
*> \\verbatim
*>          JOBV is CHARACTER*1
*>          = 'N':  V is left out;
*>          = 'V':  V is made.
*> \\endverbatim
*>
*> \\param[in] UPLO
*> \\verbatim
*>          UPLO is CHARACTER*1, 'U' for upper and 'L' for lower.
*> \\endverbatim
*>
*> \\param[in] M
*> \\verbatim
*>          M is INTEGER
*> \\endverbatim
*>
*> \\param[in] N
*> \\verbatim
*>          N is INTEGER
*> \\endverbatim
*>
*> \\param[in,out] A
*> \\verbatim
*>          A is {element} array, dimension (LDA,N)
*>          The matrix, and its factors.
*> \\endverbatim
*>
*> \\param[in] LDA
*> \\verbatim
*>          LDA is INTEGER
*>          The leading dimension of A.  LDA >= max(1,M).
*> \\endverbatim
*>
*> \\param[out] IPIV
*> \\verbatim
*>          IPIV is INTEGER array, dimension (min(M,N))
*> \\endverbatim
*>
*> \\param[out] V
*> \\verbatim
*>          V is {element} array, dimension (LDV,VCOL), where VCOL is N
*>          when UPLO = 'U' or 'u' and is M otherwise.
*>          If JOBV = 'N', V is not referenced.
*> \\endverbatim
*>
*> \\param[in] LDV
*> \\verbatim
*>          LDV is INTEGER
*>          The leading dimension of V.  LDV >= 1; if JOBV = 'V', LDV >= N.
*> \\endverbatim
*>
*> \\param[out] TAU
*> \\verbatim
*>          TAU is {real} array, dimension (N*(N+1)/2)
*> \\endverbatim
*>
*> \\param[in] X
*> \\verbatim
*>          X is {element} array, dimension at least
*>          ( 1 + ( M - 1 )*abs( INCX ) ).
*> \\endverbatim
*>
*> \\param[in] INCX
*> \\verbatim
*>          INCX is INTEGER
*> \\endverbatim
*>
*> \\param[out] WORK
*> \\verbatim
*>          WORK is {element} array, dimension (MAX(1,LWORK))
*>          WORK(1) returns the best LWORK.
*> \\endverbatim
*>
*> \\param[in] LWORK
*> \\verbatim
*>          LWORK is INTEGER
*>          LWORK >= 1, when N <= 1; otherwise 3*N.
*>          For good performance, LWORK >= 64*N.
*> \\endverbatim
*>
*> \\param[out] IWORK
*> \\verbatim
*>          IWORK is INTEGER array, dimension (3*N) if UPLO = 'U'
*>          or (3*M) otherwise
*> \\endverbatim
*>
*> \\param[out] INFO
*> \\verbatim
*>          INFO is INTEGER
*> \\endverbatim
*
*  =====================================================================
      SUBROUTINE {letter}SOLVE( JOBV, UPLO, M, N, A, LDA, IPIV, V, LDV, TAU,
     $                   X, INCX, WORK, LWORK, IWORK, INFO )
      END
"""

ROW = """\
[[routine]]
name = "solve"
precisions = "dz"
summary = "an example"
arguments = [
  { name = "jobv", role = "flag", of = "job", values = "NV" },
  { name = "uplo", role = "flag", of = "uplo" },
  { name = "m", role = "dim" },
  { name = "n", role = "dim" },
  { name = "a", role = "matrix", shape = ["m", "n"], use = "inout" },
  { name = "ipiv", role = "index_vector", shape = ["min(m, n)"], use = "out" },
  { name = "v", role = "matrix", use = "out", shape = [
    "n if jobv == 'V' else 0",
    "n if uplo == 'U' else m",
  ] },
  { name = "tau", role = "vector", shape = ["n * (n + 1) // 2"], use = "out", type = "real" },
  { name = "x", role = "strided", shape = ["m"], use = "in" },
  { name = "work", role = "work", size = "3 * n if n > 1 else 1", query = true },
  { name = "iwork", role = "work", type = "integer", size = "3 * n if uplo == 'U' else 3 * m" },
  { name = "info", role = "info" },
]
trivial = "n == 0"
flops = "n"
row_major = {}
"""

# Changes by argument: a text of the row, its replacement, and a part of the expected message.
ROW_CHANGES = {
    "jobv": ('values = "NV"', 'values = "NVX"', "no value 'X'"),
    "n": (
        '  { name = "m", role = "dim" },\n  { name = "n", role = "dim" },',
        '  { name = "n", role = "dim" },\n  { name = "m", role = "dim" },',
        "m at position 3",
    ),
    "a": ('shape = ["m", "n"]', 'shape = ["m", "m"]', "a: dimension"),
    "a, rows": ('shape = ["m", "n"]', 'shape = ["n", "n"]', "lda: >="),
    "a, use": ('use = "inout"', 'use = "out"', "a [in,out]"),
    "a, destroyed": ('use = "inout"', 'use = "consumed"', "nothing about its being destroyed"),
    "ipiv": ('"min(m, n)"', '"max(m, n)"', "ipiv: dimension"),
    "ipiv, type": ('role = "index_vector"', 'role = "vector"', "type INTEGER"),
    "v": ("n if jobv == 'V' else 0", "n", "v: not referenced for"),
    "v, columns": ("n if uplo == 'U' else m", "n", "v: dimension"),
    "tau": (', type = "real"', "", "type DOUBLE PRECISION"),
    "tau, shape": ("n * (n + 1) // 2", "n * n // 2", "tau: dimension"),
    "x": ('["m"]', '["n"]', "x: dimension"),
    "x, use": ('use = "in" ', 'use = "inout" ', "x [in]"),
    "work": ("3 * n if n > 1 else 1", "3 * n + 1", "lwork: >="),
    "work, query": (", query = true", "", "lwork at position 14"),
    "iwork": ("else 3 * m", "else 2 * m", "iwork: dimension"),
    "iwork, type": ('type = "integer", ', "", "type INTEGER"),
    "info": ('  { name = "info", role = "info" },\n', "", "info at position 16"),
}

# Changes of the source by argument, in the same form.
SOURCE_CHANGES = {
    "a": ("\\param[in,out] A", "\\param[in] A", "a [in]"),
    "a, dimension": ("(LDA,N)", "(LDA,N-1)", "a: dimension"),
    "a, extents": ("(LDA,N)", "(LDA*N)", "1 dimension(s)"),
    "a, leading": ("(LDA,N)", "(N,N)", "the leading dimension is n"),
    "a, unread": ("(LDA,N)", "LDA by N", "cannot be read"),
    "a, bound": ("LDA >= max(1,M).", "", "no least value is stated"),
    "ipiv": ("IPIV is INTEGER array", "IPIV is LOGICAL array", "type LOGICAL"),
    "v": ("If JOBV = 'N', V is not referenced.", "", "v: dimension"),
    "v, name": ("VCOL is N", "VCOL is NB", "name 'nb' is not defined"),
    "x": ("\\param[in] X", "\\param[in] Y", "nothing about x"),
    "n": ("N is INTEGER\n", "N is INTEGER array, dimension (2)\n", "an array"),
    "work": ("otherwise 3*N", "otherwise 2*N", "lwork: >="),
    "work, direction": ("\\param[out] WORK", "\\param[in] WORK", "work [in]"),
    "jobv": ("JOBV is CHARACTER*1", "JOBV is INTEGER", "type INTEGER"),
    "solve": ("      SUBROUTINE DSOLVE", "      SUBROUTINE DOTHER", "defines no subroutine"),
}


class DifferencesTest(TreeTest):
    """Each test compares in double and double complex, and names its changes and their
    precision."""

    def setUp(self) -> None:
        super().setUp()
        self.write("reference/BLAS/SRC/README", "")
        self.sources("", "")
        self.row(ROW)

    def sources(self, old: str, new: str) -> None:
        """Writes the sources, with one text changed in the source of double precision."""
        double = SOURCE.format(letter="D", element="DOUBLE PRECISION", real="DOUBLE PRECISION")
        if old:
            self.assertIn(old, double)
        self.write("reference/SRC/dsolve.f", double.replace(old, new) if old else double)
        double_complex = SOURCE.format(letter="Z", element="COMPLEX*16", real="DOUBLE PRECISION")
        self.write("reference/SRC/zsolve.f", double_complex)

    def row(self, text: str) -> None:
        self.write("routines/lapack_small.toml", text)

    def check(self, *options: str) -> tuple[int, str]:
        """Returns exit status and output."""
        reference, file = self.root / "reference", self.root / "routines/lapack_small.toml"
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = check_table.main([*options, "--reference", str(reference), str(file)])
        return status, out.getvalue()

    def assert_found(self, argument: str, what: str, routines: str = "") -> None:
        status, out = self.check()
        self.assertEqual(status, 1, out)
        self.assertIn(f"routines/lapack_small.toml: solve: '{argument}' of {routines}", out)
        self.assertIn(what, out)

    def test_what_agrees_is_no_error(self) -> None:
        summary = "check_table: 2 routines compared, 0 differences explained, 0 errors\n"
        self.assertEqual(self.check(), (0, summary))

    def test_every_kind_of_difference_in_the_row_is_found(self) -> None:
        for key, (old, new, what) in ROW_CHANGES.items():
            with self.subTest(change=key):
                self.assertEqual(ROW.count(old), 1)
                self.row(ROW.replace(old, new))
                self.assert_found(key.split(",")[0], what)

    def test_every_kind_of_difference_in_the_reference_is_found(self) -> None:
        for key, (old, new, what) in SOURCE_CHANGES.items():
            with self.subTest(change=key):
                self.sources(old, new)
                self.assert_found(key.split(",")[0], what, "dsolve")

    def test_only_legal_calls_are_compared(self) -> None:
        row = ROW.replace("min(m, n)", "n")
        self.row(row)
        self.assert_found("ipiv", "ipiv: dimension")
        self.row(row + 'legal = "n <= m"\n')
        self.assertEqual(self.check()[0], 0)
        self.row(row + 'legal = "n < 0"\n')
        self.assertIn("no legal call found (n < 0)", self.check()[1])

    def test_types_are_those_of_the_precision(self) -> None:
        self.sources("A is DOUBLE PRECISION", "A is COMPLEX*16")
        self.assert_found("a", "type COMPLEX*16, the row says type DOUBLE PRECISION", "dsolve")

    def test_an_explained_difference_is_no_error(self) -> None:
        self.sources("otherwise 3*N", "otherwise 2*N")
        self.row(ROW + 'explained = { work = "the code wants more" }\n')
        status, out = self.check("--verbose")
        self.assertEqual(status, 0, out)
        self.assertIn("because: the code wants more", out)
        self.assertIn("2 routines compared, 1 differences explained, 0 errors", out)

    def test_an_explanation_covers_its_argument_only(self) -> None:
        self.sources("otherwise 3*N", "otherwise 2*N")
        self.row(ROW.replace('"max(m', '"m') + 'explained = { iwork = "why not" }\n')
        status, out = self.check()
        self.assertEqual(status, 1)
        self.assertIn("'work' of dsolve", out)
        self.assertIn("0 differences explained, 2 errors", out)

    def test_an_explanation_of_nothing_is_an_error(self) -> None:
        self.row(ROW + 'explained = { work = "long gone" }\n')
        status, out = self.check()
        self.assertEqual(status, 1)
        self.assertIn("solve: 'work' is explained (it differs in no precision)", out)

    def test_a_routine_without_reference_is_explained_by_its_own_name(self) -> None:
        for name in ("dsolve.f", "zsolve.f"):
            (self.root / "reference/SRC" / name).unlink()
        self.assert_found("solve", "nothing about it", "dsolve, zsolve")
        self.row(ROW + 'explained = { solve = "an extension" }\n')
        self.assertEqual(self.check()[0], 0)

    def test_a_wrong_row_and_a_missing_reference_are_errors(self) -> None:
        self.row(ROW.replace('"dim"', '"dimension"'))
        self.assertIn("role 'dimension' is unknown", self.check()[1])
        self.row(ROW)
        (self.root / "reference/BLAS/SRC/README").unlink()
        (self.root / "reference/BLAS/SRC").rmdir()
        status, out = self.check()
        self.assertEqual(status, 1)
        self.assertIn("has no folder BLAS/SRC", out)


FUNCTION = """\
!> \\brief \\b {letter}TIMES
!
!       {type} FUNCTION {letter}TIMES(N,{letter}X,INCX)
!
!> \\param[in] N
!> \\verbatim
!>          N is INTEGER
!> \\endverbatim
!> \\param[in] {letter}X
!> \\verbatim
!>          {letter}X is {type} array, dimension ( 1 + ( N - 1 )*abs( INCX ) )
!> \\endverbatim
!> \\param[in] INCX
!> \\verbatim
!>          INCX is INTEGER
!> \\endverbatim
function {letter}TIMES( n, &
                 {letter}x, incx ) ! free form
end function
"""

FUNCTION_ROW = """\
[[routine]]
name = "times"
precisions = "sd"
level = 1
summary = "an example"
arguments = [
  { name = "n", role = "dim" },
  { name = "x", role = "strided", shape = ["n"], use = "in" },
  { name = "result", role = "result" },
]
trivial = "n == 0"
flops = "n"
row_major = {}
"""


class FunctionTest(TreeTest):
    """Tests level 1 of the BLAS: functions, free form, names that begin with the type's letter."""

    def check(self, row: str) -> tuple[int, str]:
        self.write("routines/blas_small.toml", row)
        self.write("reference/SRC/README", "")
        for letter, kind in (("S", "REAL"), ("D", "DOUBLE PRECISION")):
            text = FUNCTION.format(letter=letter, type=kind)
            self.write(f"reference/BLAS/SRC/{letter.lower()}times.f90", text)
        reference, file = self.root / "reference", self.root / "routines/blas_small.toml"
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return check_table.main(["--reference", str(reference), str(file)]), out.getvalue()

    def test_what_agrees_is_no_error(self) -> None:
        self.assertEqual(self.check(FUNCTION_ROW)[0], 0)

    def test_the_type_of_the_result_is_compared(self) -> None:
        status, out = self.check(FUNCTION_ROW.replace('"result" }', '"result", type = "double" }'))
        self.assertEqual(status, 1)
        self.assertIn("function value REAL, the row says function value DOUBLE PRECISION", out)

    def test_a_missing_result_is_found(self) -> None:
        status, out = self.check(
            FUNCTION_ROW.replace('  { name = "result", role = "result" },', "")
        )
        self.assertEqual(status, 1)
        self.assertIn("function value REAL, the row says function value none", out)

    def test_letters_belong_to_level_1_only(self) -> None:
        status, out = self.check(FUNCTION_ROW.replace("level = 1", "level = 2"))
        self.assertEqual(status, 1)
        self.assertIn("sx at position 2", out)


if __name__ == "__main__":
    unittest.main()
