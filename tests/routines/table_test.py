"""Tests the loader and the expression language of the table: accepted rows, and messages for
others."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "codegen"))

import parameters  # noqa: E402
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

# The roles that the first row does not have.
MORE = """
[[routine]]
name = "fact"
complex_name = "cfact"
precisions = "sdcz"
summary = "A := F"
arguments = [
  { name = "jobz", role = "flag", of = "job", values = "NV" },
  { name = "uplo", role = "flag", of = "uplo" },
  { name = "select", role = "callback" },
  { name = "n", role = "dim" },
  { name = "il", role = "integer" },
  { name = "a", role = "matrix", use = "consumed", written_if = "jobz == 'V'", shape = ["n", "n"
  ], triangle = "uplo", written = "full" },
  { name = "w", role = "vector", shape = ["n"], use = "out", type = "real" },
  { name = "x", role = "strided", shape = ["n"], use = "in", increment = "positive" },
  { name = "ipiv", role = "index_vector", shape = ["n"], use = "in", indices = "signed" },
  { name = "equed", role = "character", use = "out" },
  { name = "work", role = "work", size = "max(1, 3 * n)", query = true },
  { name = "rwork", role = "work", precisions = "cz", type = "real", size = '''\
    n''', returns = "1", lapacke = true },
  { name = "info", role = "info" },
]
legal = "il >= 1"
trivial = "n == 0"
flops = "n * log2(n)"
row_major = { transpose = ["a"] }
rerun = "info > 0"
local = "JOBZ = 'S'"
explained = { w = "because" }
"""

# An operation of devices.
BLOCK = """
[[routine]]
name = "turn"
precisions = "d"
summary = "X := X in another order"
arguments = [
  { name = "m", role = "dim" },
  { name = "n", role = "dim" },
  { name = "alpha", role = "scalar" },
  { name = "x", role = "vector", shape = ["product(m, n)"], use = "inout" },
]
legal = "is_permutation(n, m)"
trivial = "m == 0"
flops = "m"
"""


def load(text: str, file: str = "blas.toml") -> list[table.Routine]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "routines" / file
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        return table.load([path])


class Rows(unittest.TestCase):
    def complaint(self, old: str, new: str, good: str = GOOD, file: str = "blas.toml") -> str:
        self.assertIn(old, good)
        with self.assertRaises(table.TableError) as caught:
            load(good.replace(old, new, 1), file)
        text = str(caught.exception)
        self.assertIn(f"routines/{file}", text)
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
            ('swap = ["m n"]', 'turn = ["m"]'): "unknown key 'turn'",
            ('swap = ["m n"]', 'swap = "m n"'): "'swap' must be a list of strings",
            ('row_major = { swap = ["m n"] }', ""): "'row_major' is missing or no table",
            ('row_major = { swap = ["m n"] }', 'row_major = "stays"'): "missing or no table",
            ('name = "alpha"', 'name = "Alpha"'): "'Alpha' is not a lower-case identifier",
            ('values = "NT"', "values = 7"): "key 'values' must be a string, not 7",
            ('role = "scalar"', 'role = "scalar", use = "in"'): "unknown key 'use'",
            ('role = "dim" }', 'role = "dim", precisions = "s" }'): "precisions 's' (sd, cz",
            ('precisions = "sd"', 'precisions = "sd"\nlevel = 4'): "level 4 (BLAS rows",
            ('precisions = "sd"', 'precisions = "sd"\nefficiency = 0'): "efficiency 0 (a number",
            ('precisions = "sd"', 'precisions = "sd"\nefficiency = 2.0'): "efficiency 2.0",
            ('precisions = "sd"', 'precisions = "sd"\nnames = { q = "x" }'): "names ['q'] (keys",
            ('precisions = "sd"', 'precisions = "sd"\nnames = ["x"]'): "must be a table of strings",
            ('precisions = "sd"', 'precisions = "sd"\nbatched = 1'): "must be true or false, not 1",
            ('precisions = "sd"', 'precisions = "sd"\ncolour = 1'): "unknown key 'colour'",
            ('precisions = "sd"', 'precisions = "sd"\nlegal = "m"'): "legal: 'm': 'm' is a number",
        }
        for (old, new), expected in cases.items():
            with self.subTest(new):
                self.assertIn(expected, self.complaint(old, new))

    def test_mistakes_in_other_roles_are_named(self) -> None:
        cases = {
            (', values = "NV"', ""): "key 'values' is missing",
            ('values = "NV"', 'values = "Nv"'): "value 'v' (legal values are upper-case letters)",
            ('use = "consumed"', 'use = "inout"'): "written_if with use 'inout'",
            ("written_if = \"jobz == 'V'\"", 'written_if = "n"'): "'n' is a number, not a truth",
            ("written_if = \"jobz == 'V'\"", "written_if = \"jobz == 'S'\""): "never 'S'",
            ('triangle = "uplo", written', "written"): "written = 'full' without triangle",
            ('written = "full"', 'written = "half"'): "written 'half' is unknown",
            ('use = "out", type = "real"', 'use = "out", type = "double"'): "type 'double' is unkn",
            (
                'shape = ["n"], use = "out"',
                'shape = ["n", "n"], use = "out"',
            ): "a vector has [count]",
            ('increment = "positive"', 'increment = "odd"'): "increment 'odd' is unknown",
            ('increment = "positive"', 'type = "real"'): "unknown key 'type'",
            ('indices = "signed"', 'indices = "few"'): "indices 'few' is unknown",
            (', indices = "signed"', ""): "argument 'ipiv': key 'indices' is missing",
            ('use = "in", indices', 'use = "out", indices'): "the routine does not read them",
            ('use = "in", indices', 'use = "inout", indices'): "checked indices are only read",
            ('written = "full"', 'finite = "yes"'): "'finite' must be true or false, not 'yes'",
            ('use = "out", type = "real"', 'use = "out", finite = true'): "unknown key 'finite'",
            (
                'role = "character", use = "out"',
                'role = "character", use = "in"',
            ): "use 'in' is unk",
            ('size = "max(1, 3 * n)", ', ""): "argument 'work': key 'size' is missing",
            ('size = "max(1, 3 * n)"', 'size = "3 * q"'): "'q' is unknown",
            ('type = "real", size', 'type = "double", size'): "type 'double' is unknown",
            ("query = true", 'query = "yes"'): "key 'query' must be true or false, not 'yes'",
            ('returns = "1"', 'returns = "2"'): "returns '2' (only \"1\"",
            (", lapacke = true", ""): "returns without lapacke",
            ('rerun = "info > 0"', 'rerun = "info < 0"'): 'rerun can only be "info > 0"',
            ('legal = "il >= 1"', 'legal = "w >= 1"'): "'w' is unknown",
            (
                'explained = { w = "because" }',
                "explained = { w = 1 }",
            ): "must be a table of strings",
            ('flops = "n * log2(n)"', 'flops = "n * info"'): "'info' is unknown",
            ('name = "rwork"', 'name = "lwork"'): "two arguments have the same name",
            ('role = "callback"', 'role = "result"'): "a result must be the last argument",
        }
        for (old, new), expected in cases.items():
            with self.subTest(new or f"without {old}"):
                self.assertIn(expected, self.complaint(old, new, MORE, "lapack_more.toml"))
        self.assertIn("level 3 (BLAS rows", self.complaint(
            'name = "fact"', 'name = "fact"\nlevel = 3', MORE, "lapack.toml"))  # fmt: skip

    def test_files_belong_to_a_library(self) -> None:
        with self.assertRaisesRegex(table.TableError, "more.toml: unknown library"):
            load(MORE, "more.toml")
        with self.assertRaisesRegex(table.TableError, "blas.toml: .*unknown key 'row'"):
            load(GOOD.replace("[[routine]]", "[[row]]"))
        with self.assertRaisesRegex(table.TableError, "key 'arguments' is missing or no list"):
            load('[[routine]]\nname = "x"\nprecisions = "s"\nsummary = ""\n')

    def test_operations_of_devices_are_not_exported(self) -> None:
        (row,) = load(BLOCK, "block.toml")
        self.assertEqual((row.library, row.level, row.is_exported), ("block", 1, False))
        cases = {
            ('flops = "m"', 'flops = "m"\nlevel = 1'): "level 1 (BLAS rows",
            ('flops = "m"', 'flops = "m"\nrow_major = {}'): "row_major (no interface of C",
            ("product(m, n)", "product()"): "product takes one or more numbers",
            ("product(m, n)", "product(m, alpha)"): "'alpha' is a scalar, not a number",
            ("product(m, n)", "is_permutation(m, n)"): "is a truth, not a number",
            ("is_permutation(n, m)", "product(n, m)"): "is a number, not a truth",
            ("is_permutation(n, m)", "is_sorted(n, m)"): "only min, max, log2, product",
        }
        for (old, new), expected in cases.items():
            with self.subTest(new):
                self.assertIn(expected, self.complaint(old, new, BLOCK, "block.toml"))

    def test_a_row_may_be_two(self) -> None:
        real, complex_ = load(MORE, "lapack_more.toml")
        self.assertEqual((real.library, real.file), ("lapack", "lapack_more"))
        self.assertEqual(real.names(), {"s": "sfact", "d": "dfact"})
        self.assertEqual(complex_.names(), {"c": "ccfact", "z": "zcfact"})
        self.assertEqual(len(complex_.work), len(real.work) + 1)
        # Devices see no callbacks, and only workspaces that return something. All arguments have
        # one order.
        names_of_real = "jobz uplo n il a w x ipiv equed info".split()
        self.assertEqual([a.name for a in real.normal], names_of_real)
        self.assertEqual([a.index for a in real.normal], list(range(10)))
        self.assertEqual([a.name for a in complex_.normal], [*names_of_real[:-1], "rwork", "info"])
        self.assertEqual([a.kind for a in complex_.normal][-2:], ["vector", "info"])
        self.assertEqual(real.argument("il").kind, "dim")
        self.assertTrue(real.rerun and real.is_exported)
        self.assertTrue(real.argument("x").positive and real.argument("x").has_ld)
        # The row has no name of its own in complex precisions.
        one_name = MORE.replace('complex_name = "cfact"\n', "")
        self.assertEqual([r.key for r in load(one_name, "lapack.toml")], ["fact_sd", "fact_cz"])

    def test_what_each_convention_gets(self) -> None:
        real, complex_ = load(MORE, "lapack_more.toml")
        self.assertEqual(
            " ".join(p.name for p in parameters.fortran(complex_)),
            "jobz uplo select n il a lda w x ldx ipiv equed work lwork rwork info",
        )
        self.assertEqual(
            " ".join(f"{p.type}:{p.name}" for p in parameters.c(real, "d", "lapacke")),
            "int:layout char:jobz char:uplo void*:select std::int64_t:n std::int64_t:il void*:a"
            " std::int64_t:lda void*:w void*:x std::int64_t:ldx void*:ipiv void*:equed",
        )
        names_of_c = [p.name for p in parameters.c(complex_, "z", "lapacke")]
        self.assertEqual(names_of_c[-2:], ["equed", "rwork"])
        names_of_work = [p.name for p in parameters.c(complex_, "z", "lapacke_work")]
        self.assertEqual(names_of_work[-4:], ["equed", "work", "lwork", "rwork"])
        self.assertEqual(
            parameters.slots(complex_)[-4:], ["slot::kWork", "slot::kLength", "9", "10"]
        )

    def test_levels(self) -> None:
        (row,) = load(GOOD.replace('precisions = "sd"', 'precisions = "sd"\nlevel = 1'))
        self.assertFalse(row.is_exported or parameters.has_layout(row))
        self.assertEqual(load(GOOD)[0].level, 3)
        (named,) = load(GOOD.replace('precisions = "sd"', 'precisions = "sd"\nnames = { s = "q" }'))
        self.assertEqual(named.names(), {"s": "q", "d": "dscal"})

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
        limits = {
            ('{{ name = "d{}", role = "dim" }},\n', 20): "arguments (at most 24: kMaxArguments)",
            ('{{ name = "v{}", role = "info" }},\n', 16): "memory operands (at most ",
            ('{{ name = "w{}", role = "work", size = "m", query = true }},\n', 5): "lengths (at mo",
        }
        for (argument, count), expected in limits.items():
            more = "".join(argument.format(i) for i in range(count))
            with self.subTest(argument):
                self.assertIn(
                    expected, self.complaint('  { name = "alpha"', more + '  { name = "alpha"')
                )


if __name__ == "__main__":
    unittest.main()
