"""Tests the expression language of the table: accepted expressions, translations, refused ones."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "codegen"))

import expressions  # noqa: E402


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
        self.assertEqual(self.translate("-m", "integer"), "(-$m)")
        self.assertEqual(self.translate("log2(m // 2)", "integer"), "log2(($m / std::int64_t{2}))")
        self.assertEqual(self.translate("n * log2(n)", "real"), "($n * log2($n))")

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
            ("log2(m, n)", "integer"),
            ("log2(side)", "integer"),
            ("log10(m)", "integer"),
            ("+m", "integer"),
            ("-beta", "integer"),
            ("m and n", "truth"),
            ("True", "truth"),
            ("1.5", "real"),
            ("beta", "integer"),
            ("__import__('os')", "integer"),
            ("[m][0]", "integer"),
            ("lambda: m", "integer"),
        ]:
            with self.subTest(text), self.assertRaises(expressions.ExpressionError):
                self.translate(text, wanted)


if __name__ == "__main__":
    unittest.main()
