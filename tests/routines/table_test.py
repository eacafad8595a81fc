"""The one table's loader and expression language: what they accept, what they say of the rest."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "codegen"))

import emit_descriptors  # noqa: E402
import emit_exports  # noqa: E402
import expressions  # noqa: E402
import names  # noqa: E402
import table  # noqa: E402

GOOD = """
[[routine]]
name = "scal"
precisions = "sd"
summary = "X := alpha X"
arguments = [
  { name = "uplo", role = "flag", of = "uplo" },
  { name = "diag", role = "flag", of = "diag" },
  { name = "trans", role = "flag", of = "trans", values = "NT" },
  { name = "m", role = "dim" },
  { name = "n", role = "dim" },
  { name = "alpha", role = "scalar" },
  { name = "x", role = "matrix", shape = ["m", "n"], use = "inout", read_if = "alpha != 0" },
]
trivial = "m == 0"
flops = "m * n"
row_major = { swap = ["m n"] }
"""


def load(text: str) -> list[table.Routine]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "routines" / "blas.toml"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        return table.load([path])


class Rows(unittest.TestCase):
    def complaint(self, old: str, new: str) -> str:
        self.assertIn(old, GOOD)
        with self.assertRaises(table.TableError) as caught:
            load(GOOD.replace(old, new, 1))
        text = str(caught.exception)
        self.assertIn("routines/blas.toml", text)
        return text

    def test_good(self) -> None:
        (row,) = load(GOOD)
        self.assertEqual(row.names(), {"s": "sscal", "d": "dscal"})
        self.assertEqual(row.row_major.swap, (("m", "n"),))

    def test_each_mistake_is_named(self) -> None:
        cases = {
            ('role = "scalar"', 'role = "scaler"'): "argument 'alpha': role 'scaler' is unknown",
            ('of = "uplo"', 'of = "uplu"'): "of 'uplu' is unknown",
            ('values = "NT"', 'values = "NX"'): "value 'X' is none of trans's",
            ('precisions = "sd"', 'precisions = "ds"'): "precisions 'ds'",
            ('precisions = "sd"', 'precisions = "sx"'): "precisions 'sx'",
            ('name = "m", role', 'name = "n", role'): "two arguments have the same name",
            ('shape = ["m", "n"]', 'shape = ["m"]'): "a matrix has [rows, cols]",
            ('shape = ["m", "n"]', 'shape = ["m", "q"]'): "argument 'x': 'q': 'q' is unknown",
            ('use = "inout"', 'use = "both"'): "use 'both' is unknown",
            ('use = "inout"', 'use = "in"'): "read_if with use 'in'",
            ('read_if = "alpha != 0"', 'read_if = "alpha"'): "is a scalar, not a truth",
            ('read_if = "alpha != 0"', 'triangle = "diag"'): "triangle 'diag' (no uplo flag",
            ('read_if = "alpha != 0"', 'unit = "diag"'): "unit without triangle",
            ('read_if = "alpha != 0"', 'colour = "red"'): "unknown key 'colour'",
            ('trivial = "m == 0"', 'trivial = "m"'): "trivial: 'm': 'm' is a number, not a truth",
            ('trivial = "m == 0"', "trivial = \"trans == 'C'\""): "trans is never 'C'",
            ('flops = "m * n"', 'flops = "m ** n"'): "flops: 'm ** n': Pow",
            ('flops = "m * n"', 'flops = "m if alpha == 0 else n"'): "'alpha' is unknown",
            ('flops = "m * n"', ""): "key 'flops' is missing",
            ('swap = ["m n"]', 'swap = ["m q"]'): "row_major: swap 'm q'",
            ('swap = ["m n"]', 'swap = ["m alpha"]'): "different roles",
            ('swap = ["m n"]', 'flip = ["diag"]'): "diag has no opposite",
            ('swap = ["m n"]', 'transpose = ["m"]'): "no matrix of that name",
        }
        for (old, new), expected in cases.items():
            with self.subTest(new):
                self.assertIn(expected, self.complaint(old, new))

    def test_syntax_and_duplicates(self) -> None:
        with self.assertRaisesRegex(table.TableError, "blas.toml"):
            load("[[routine")
        with self.assertRaisesRegex(table.TableError, "scal has two rows"):
            load(GOOD + GOOD)

    def test_ids_that_collide(self) -> None:
        # Two names with the same 32-bit FNV-1a value (a published pair).
        self.assertEqual(table.fnv1a("costarring"), table.fnv1a("liquid"))
        (row,) = load(GOOD)

        class Named(table.Routine):
            def names(self) -> dict[str, str]:
                return {"s": self.name}

        def named(name: str) -> table.Routine:
            return Named(**{**{f: getattr(row, f) for f in row.__dataclass_fields__}, "name": name})

        with self.assertRaisesRegex(table.TableError, "same id"):
            table.check_ids([named("costarring"), named("liquid")])

    def test_too_many_arguments(self) -> None:
        more = "".join(f'  {{ name = "d{i}", role = "dim" }},\n' for i in range(20))
        self.assertIn(
            "at most 24", self.complaint('  { name = "alpha"', more + '  { name = "alpha"')
        )


class Expressions(unittest.TestCase):
    scope = expressions.Scope({"side": "LR"}, frozenset({"m", "n"}), frozenset({"beta"}))

    def translate(self, text: str, wanted: str) -> str:
        return expressions.translate(text, self.scope, lambda name: f"${name}", wanted)

    def test_translation(self) -> None:
        self.assertEqual(
            self.translate("m if side == 'L' else n", "integer"), "(($side == 'L') ? $m : $n)"
        )
        self.assertEqual(
            self.translate("min(m, n) + 1", "integer"), "(std::min($m, $n) + std::int64_t{1})"
        )
        self.assertEqual(self.translate("m / 3", "real"), "($m / 3.0)")
        self.assertEqual(self.translate("beta != 0", "truth"), "!is_zero($beta)")
        self.assertEqual(self.translate("m == 0 or not n > 1", "truth"),
                         "(($m == std::int64_t{0}) || !($n > std::int64_t{1}))")  # fmt: skip

    def test_refusals(self) -> None:
        for text, wanted in [
            ("m / 2", "integer"),
            ("m // 2", "real"),
            ("m +", "integer"),
            ("m.n", "integer"),
            ("'L'", "truth"),
            ("side < 'L'", "truth"),
            ("side == 'l'", "truth"),
            ("side == m", "truth"),
            ("beta > 0", "truth"),
            ("beta == 1", "truth"),
            ("0 < m < n", "truth"),
            ("open('x')", "integer"),
            ("max(m)", "integer"),
            ("m and n", "truth"),
            ("True", "truth"),
            ("1.5", "real"),
            ("-m", "integer"),
            ("beta", "integer"),
            ("__import__('os')", "integer"),
            ("[m][0]", "integer"),
            ("lambda: m", "integer"),
        ]:
            with self.subTest(text), self.assertRaises(expressions.ExpressionError):
                self.translate(text, wanted)


class Emitters(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = table.load([ROOT / "routines" / "blas.toml", ROOT / "routines" / "lapack.toml"])

    def test_names_of_every_family(self) -> None:
        symbols = {n.symbol: n for n in names.all_names(self.rows)}
        for expected in (
            "dgemm_",
            "dgemm_64_",
            "scipy_dgemm_",
            "scipy_dgemm_64_",
            "dgemm",
            "DGEMM",
            "DGEMM_",
            "cblas_dgemm",
            "cblas_dgemm64_",
            "cblas_dgemm_64",
            "scipy_cblas_dgemm",
            "scipy_cblas_dgemm64_",
            "LAPACKE_zgesv",
            "LAPACKE_zgesv64_",
            "LAPACKE_zgesv_64",
            "scipy_LAPACKE_zgesv",
            "scipy_LAPACKE_zgesv64_",
            "LAPACKE_zgesv_work",
            "LAPACKE_zgesv_work64_",
            "scipy_LAPACKE_zgesv_work64_",
        ):
            self.assertIn(expected, symbols)
        self.assertEqual(symbols["dgemm_"].integers, "unasked")
        self.assertEqual(symbols["scipy_dgemm_"].integers, "lp64")
        self.assertEqual(symbols["scipy_dgemm_64_"].integers, "ilp64")
        self.assertEqual(len(symbols), len(names.all_names(self.rows)))

    def test_exports_hide_all_else(self) -> None:
        text = emit_exports.emit_exports(self.rows, ["fftw_execute"])
        self.assertIn("  fftw_execute;\n", text)
        self.assertTrue(text.endswith("local:\n  *;\n};\n"))

    def test_descriptors_are_repeatable(self) -> None:
        self.assertEqual(
            emit_descriptors.emit_descriptors(self.rows),
            emit_descriptors.emit_descriptors(self.rows),
        )


if __name__ == "__main__":
    unittest.main()
