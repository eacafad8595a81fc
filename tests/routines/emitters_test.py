"""Tests the texts that are emitted from the table: names, version scripts, descriptors."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "codegen"))

import emit_descriptors  # noqa: E402
import emit_exports  # noqa: E402
import names  # noqa: E402
import table  # noqa: E402


class Emitters(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = table.load(sorted((ROOT / "routines").glob("[bl]*.toml")))

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
            "cblas_zdotc_sub",
            "cblas_zdotc_sub64_",
            "cblas_ddot",
            "cblas_izamax",
            "zdotc_",
        ):
            self.assertIn(expected, symbols)
        self.assertEqual(symbols["dgemm_"].integers, "unasked")
        self.assertEqual(symbols["scipy_dgemm_"].integers, "lp64")
        self.assertEqual(symbols["scipy_dgemm_64_"].integers, "ilp64")
        self.assertEqual(len(symbols), len(names.all_names(self.rows)))

    def test_exports_hide_all_else(self) -> None:
        text = emit_exports.emit_exports(self.rows, ["fftw_execute"], False)
        self.assertIn("  fftw_execute;\n", text)
        self.assertIn("  dgemm_;\n", text)
        self.assertTrue(text.endswith("local:\n  *;\n};\n"))
        everything = emit_exports.emit_exports(self.rows, [], True)
        for name in ("ddot_", "cblas_zdotc_sub", "scipy_dgemv_64_"):
            self.assertNotIn(f"  {name};\n", text)
            self.assertIn(f"  {name};\n", everything)

    def test_descriptors_are_repeatable(self) -> None:
        self.assertEqual(
            emit_descriptors.emit_descriptors(self.rows),
            emit_descriptors.emit_descriptors(self.rows),
        )


if __name__ == "__main__":
    unittest.main()
