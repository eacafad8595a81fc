"""Tests the forms in which the reference's documentation states sizes, and texts without sizes."""

from __future__ import annotations

import unittest

from tree import TreeTest

from reference_docs import extents, samples, source_file, statements
from reference_docs.prose import ProseError, Reader
from reference_docs.samples import Values
from reference_docs.source_file import Documented


def bound(text: str, name: str = "LDX", **values: int | str) -> int | None:
    found = statements.bounds(text, name)
    return statements.largest(found, lambda e: samples.evaluate(e, values))


class ExpressionTest(unittest.TestCase):
    def value(self, text: str, **values: int | str) -> int | str:
        return samples.evaluate(Reader(text).expression(), values)

    def test_arithmetic(self) -> None:
        for text, expected in {
            "MAX( 1, 3*N-1 )": 14, "n*(n + 1)/2": 15, "(N+1)**2": 36, "min(M,N) + abs( -2 )": None,
            "1 + 5*N + 2*N**2": 76, "1 + 2*N*lg N": 31, "2 + 3": 5, "( ( n*( n + 1 ) )/2 )": 15,
        }.items():  # fmt: skip
            with self.subTest(text=text):
                if expected is None:
                    self.assertRaises(ProseError, Reader(text).expression)
                else:
                    self.assertEqual(self.value(text, n=5), expected)

    def test_logarithms_are_rounded_as_they_are_defined(self) -> None:
        self.assertEqual([samples.lg(n) for n in (1, 2, 3, 4, 5, 8, 9)], [0, 1, 2, 2, 3, 3, 4])
        self.assertEqual([samples.log2(n) for n in (0, 1, 2, 3, 4, 7, 8)], [0, 0, 1, 1, 2, 2, 3])

    def test_conditions(self) -> None:
        for text, expected in {
            "JOB = 'S' or 'A' or JOB = 'O' and M < N": {"A", "S", "O"},
            "JOB = 'O' and M > N": set(),
            "JOB='N', 'A' or 'S' then": {"N", "A", "S"},
            "M <= N, and X is": {"N", "A", "S", "O"},
            "JOB = 'a' or 'A'": {"A"},
        }.items():
            with self.subTest(text=text):
                condition = Reader(text).condition()
                held = {
                    j for j in "NASO" if samples.evaluate(condition, {"job": j, "m": 2, "n": 3})
                }
                self.assertEqual(held, expected)

    def test_a_condition_that_cannot_be_read_stays(self) -> None:
        reader = Reader("eigenvectors are wanted")
        self.assertRaises(ProseError, reader.condition)
        self.assertEqual(reader.at, 0)


class BoundTest(unittest.TestCase):
    def test_forms(self) -> None:
        for text, small, large in [
            ("LDX >= max(1,N).", 2, 7),
            ("LDX must be at least ( n + 1 ).", 3, 8),
            ("LDX >= 1; if N > 3, LDX >= 2*N.", 1, 14),
            ("LDX >= 1, if N > 3, LDX >= N.", 1, 7),
            ("If N > 3, more is better. LDX >= N.", 2, 7),
            ("LDX >= 1, and if N > 3, LDX >= N.", 1, 7),
            ("LDX >= 1. If N > 3, then LDX >= N.", 1, 7),
            ("LDX >= N if N > 3; LDX >= 1 otherwise.", 1, 7),
            ("LDX >= 1, if N <= 3, and LDX >= N, otherwise.", 1, 7),
            ("LDX >= 1, when N <= 3; otherwise 3*N.", 1, 21),
            ("When N > 3 then LDX must be at least N, otherwise LDX must be at least 1.", 1, 7),
            ("If N <= 3, LDX must be at least 1. If N > 3, LDX must be at least N*N.", 1, 49),
            ("if N > 3 or N = 0, then LDX >= MAX(1,N).  Otherwise, LDX >= 1.", 1, 7),
            ("If N <= 3, LDX >= 1, else LDX >= N.", 1, 7),
            ("LDX > = 1. For good performance, LDX >= 64*N.", 1, 1),
            ("LDX >= 1, and for best performance LDX >= N*NB, where NB is large.", 1, 1),
        ]:
            with self.subTest(text=text):
                self.assertEqual((bound(text, n=2), bound(text, n=7)), (small, large))

    def test_queries_say_nothing(self) -> None:
        text = "LWORK >= N. If LWORK = -1, then LWORK >= 9 is no matter."
        self.assertEqual(bound(text, "LWORK", n=2), 2)

    def test_other_subjects_say_nothing(self) -> None:
        self.assertIsNone(bound("LDY >= N.", n=2))

    def test_what_cannot_be_read_is_an_error(self) -> None:
        self.assertRaises(ProseError, bound, "LDX >= ( N.", n=2)
        self.assertRaises(ProseError, bound, "LDX >= .5*N", n=2)
        self.assertRaises(samples.UnknownError, bound, "LDX >= the order of A.", n=2)
        self.assertRaises(samples.UnknownError, bound, "LDX >= NB*N.", n=2)


class ExtentsTest(unittest.TestCase):
    def parse(self, text: str) -> list[tuple[str, ...]]:
        return [(e.condition, *e.extents) for e in extents.parse(Documented("x", "in", text))]

    def test_forms(self) -> None:
        for text, expected in {
            "X is REAL array, dimension (LDX,N)": [("True", "ldx", "n")],
            "X is INTEGER array, dimension ( 2*max(1,M) )": [("True", "2*max(1,m)")],
            "X is COMPLEX*16 array of dimension at least ( 1 + N ).": [("True", "1+n")],
            "X is REAL array, dimension(N)": [("True", "n")],
            "X is REAL array, dimension (N) if JOB = 'A' or (M) if JOB = 'S'": [
                ("((job in ('A',)))", "n"), ("((job in ('S',)))", "m"),
            ],
            "X is REAL array, dimension (C) (N) if JOB = 'A'": [("((job in ('A',)))", "n")],
            "X is REAL array, dimension at least ( n ) when N > 1 and at least ( m ) otherwise.": [
                ("((n>1))", "n"), ("otherwise", "m"),
            ],
            "X is REAL array, dimension (N) If JOB = 'A', then X is read": [("True", "n")],
            "X is INTEGER The number of arrays": [],
        }.items():  # fmt: skip
            with self.subTest(text=text):
                self.assertEqual(self.parse(text), expected)

    def test_what_cannot_be_read_is_an_error(self) -> None:
        for text in [
            "array, dimension N",
            "array.",
            "array, dimension (N",
            "array, dimension (3N)",
        ]:
            with self.subTest(text=text):
                self.assertRaises(ProseError, self.parse, f"X is REAL {text}")


class DefinitionTest(unittest.TestCase):
    def test_forms(self) -> None:
        values: Values = {"m": 3, "n": 5, "side": "L"}
        for text, expected in {
            "where kx is m when SIDE = 'L' or 'l' and kx is n when SIDE = 'R'.": 3,
            "where kx is n when SIDE = 'R', and is m otherwise.": 3,
            "KX = M if SIDE = 'R'; KX = min(M,N) if SIDE = 'L'.": 3,
            "KX is returned in M. KX = 2*N": 10,
        }.items():
            with self.subTest(text=text):
                found = statements.definitions(text, "kx")
                value = statements.largest(found, lambda e: samples.evaluate(e, values))
                self.assertEqual(value, expected)


class UnreferencedTest(unittest.TestCase):
    def test_forms(self) -> None:
        for text, expected in {
            "If JOB = 'N', X is not referenced.": True,
            "X is filled; if JOB = 'N' or 'O', then X is not referenced.": True,
            "Not referenced if JOB = 'N'.": True,
            "X is not referenced when JOB = 'N'.": True,
            "If JOB = 'V', X is not referenced.": False,
            "If JOB = 'N', Y is not referenced.": False,
            "If JOB = 'N', the lower triangle of X is not referenced.": False,
            "X is not referenced.": False,
            "The lower triangle of X is not referenced if JOB = 'N'.": False,
            "If JOB = 'N', all but X is not referenced.": False,
        }.items():
            with self.subTest(text=text):
                found = statements.unreferenced(text, "x")
                held = any(samples.evaluate(condition, {"job": "N"}) for condition in found)
                self.assertEqual(held, expected)


class SourceTest(TreeTest):
    def parse(self, name: str, text: str) -> source_file.Reference:
        self.write(name, text)
        return source_file.parse(self.root / name)

    def test_statements_go_over_several_lines(self) -> None:
        fixed = "C     note\n      SUBROUTINE DX( A,\nC     note\n     $               B )\n"
        self.assertEqual(self.parse("dx.f", fixed).arguments, ("a", "b"))
        free = "! note\nrecursive subroutine DX( a, & ! note\n  b )\n"
        self.assertEqual(self.parse("dx.f90", free).arguments, ("a", "b"))

    def test_types_of_functions(self) -> None:
        text = "      DOUBLE PRECISION FUNCTION DX( A )\n"
        self.assertEqual(self.parse("dx.f", text).result, "DOUBLE PRECISION")
        text = "!  DOUBLE PRECISION FUNCTION DX(A)\nfunction DX( a )\n"
        self.assertEqual(self.parse("dx.f90", text).result, "DOUBLE PRECISION")
        self.assertEqual(self.parse("dx.f", "      SUBROUTINE DX( A )\n").result, "")

    def test_types_of_arguments(self) -> None:
        for text, expected in {
            "A is CHARACTER*1 and more": "CHARACTER",
            "A is COMPLEX*16 array, dimension (N)": "COMPLEX*16",
            "A is DOUBLE COMPLEX": "COMPLEX*16",
            "A is COMPLEX": "COMPLEX",
            "A is a LOGICAL FUNCTION of two arguments": "LOGICAL FUNCTION",
            "A is (workspace) REAL array": "REAL",
            "A is whatever": "",
        }.items():
            with self.subTest(text=text):
                self.assertEqual(Documented("a", "in", text).type, expected)

    def test_another_routine_is_an_error(self) -> None:
        with self.assertRaises(source_file.SourceError):
            self.parse("dx.f", "      SUBROUTINE DY( A )\n")


if __name__ == "__main__":
    unittest.main()
