"""Tests routines/fftw.toml and its emitter: the exported names, and the message for each
mistake."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "codegen"))

import emit_fftw  # noqa: E402
import fftw_table  # noqa: E402

LIBRARY = '[[library]]\nprefix = "fftw_"\nfortran_prefix = "dfftw_"\nprecision = "z"\n'


def row(**keys: str) -> str:
    return "[[routine]]\n" + "".join(f'{key} = "{value}"\n' for key, value in keys.items())


def maker(arguments: str, kind: str = "c2c", **keys: str) -> str:
    return row(name="plan_x", action="plan", kind=kind, arguments=arguments, **keys)


class Exports(unittest.TestCase):
    def test_every_maker_and_execute_in_both_precisions(self) -> None:
        """Checks the names of fftw3.h (and f77 forms of them) that make, execute or free plans."""
        table = fftw_table.load([ROOT / "routines" / "fftw.toml"])
        kinds = ("dft", "dft_r2c", "dft_c2r", "r2r")
        names = {f"plan_{k}{d}" for k in kinds for d in ("", "_1d", "_2d", "_3d")}
        names |= {f"plan_many_{k}" for k in kinds} | {f"execute_{k}" for k in kinds}
        names |= {f"plan_guru_{k}" for k in kinds} | {"execute", "destroy_plan", "cleanup"}
        names |= {f"plan_guru_split_{k}" for k in kinds[:3]}
        names |= {f"execute_split_{k}" for k in kinds[:3]}
        only_c = {n.replace("guru", "guru64") for n in names if "guru" in n}
        self.assertEqual((len(names), len(only_c)), (37, 7))
        expected = {p + n for p in ("fftw_", "fftwf_") for n in names | only_c}
        for prefix in ("dfftw_", "sfftw_"):
            expected |= {prefix + n + end for n in names for end in ("_", "__")}
        self.assertEqual(expected, set(table.symbols()))

    def test_makers_come_with_their_executes(self) -> None:
        table = fftw_table.load([ROOT / "routines" / "fftw.toml"])
        for abi in fftw_table.ABIS:
            rows = [r for r in table.routines if r.abi == abi]
            made = {(r.kind, r.split) for r in rows if r.action == "plan"}
            executed = {(r.kind, r.split) for r in rows if r.action == "execute_new"}
            self.assertEqual(made, executed)
            self.assertLessEqual({"execute", "destroy"}, {r.action for r in rows})

    def test_files_agree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", str(ROOT / "codegen" / "emit_fftw.py")]
            command += ["--output-dir", folder, str(ROOT / "routines" / "fftw.toml")]
            subprocess.run(command, check=True)
            exports = (Path(folder) / "fftw_exports.txt").read_text(encoding="utf-8").split()
            entries = (Path(folder) / "fftw_entries.cpp").read_text(encoding="utf-8")
        self.assertEqual(entries.count('extern "C"'), len(exports))
        for symbol in exports:
            self.assertIn(f" {symbol}(", entries)

    def test_fortran_names_have_both_endings(self) -> None:
        table = fftw_table.parse(
            LIBRARY + row(name="execute", action="execute", abi="fortran", arguments="plan")
        )
        self.assertEqual(table.symbols(), ["dfftw_execute_", "dfftw_execute__"])


class Mistakes(unittest.TestCase):
    def rejected(self, text: str, message: str) -> None:
        with self.assertRaises(fftw_table.TableError) as caught:
            fftw_table.join([fftw_table.parse(LIBRARY + text)])
        self.assertIn(message, str(caught.exception))

    def test_no_toml(self) -> None:
        self.rejected("[[routine", "not TOML")

    def test_unknown_key(self) -> None:
        self.rejected(
            row(name="execute", action="execute", arguments="plan", flop="1"), "unknown key 'flop'"
        )

    def test_unknown_top_level_key(self) -> None:
        self.rejected("[[routines]]\n", "unknown key 'routines'")

    def test_missing_key(self) -> None:
        self.rejected(row(action="execute", arguments="plan"), "key 'name' is missing")

    def test_wrong_type(self) -> None:
        self.rejected(
            '[[routine]]\nname = 3\naction = "execute"\narguments = "plan"\n', "must be a string"
        )

    def test_no_c_name(self) -> None:
        self.rejected(row(name="x;y", action="execute", arguments="plan"), "is no C name")

    def test_unknown_action(self) -> None:
        self.rejected(
            row(name="x", action="run", arguments="plan"), "action 'run' is unknown (known: plan,"
        )

    def test_unknown_kind(self) -> None:
        self.rejected(
            maker("n0 in out flags", kind="c2x"),
            "kind 'c2x' is unknown (known: c2c, r2c, c2r, r2r)",
        )

    def test_kind_where_the_plan_says_it(self) -> None:
        self.rejected(
            row(name="x", action="execute", kind="c2c", arguments="plan"), "takes no kind"
        )

    def test_unknown_argument(self) -> None:
        self.rejected(maker("n0 in out sign flag"), "argument 'flag' is unknown")

    def test_argument_twice(self) -> None:
        self.rejected(maker("n0 in in out sign flags"), "named twice")

    def test_missing_argument(self) -> None:
        self.rejected(maker("n0 in out flags"), "a c2c maker needs the argument 'sign'")

    def test_unknown_form(self) -> None:
        self.rejected(maker("rank n howmany in out sign flags"), "are no known form")

    def test_fortran_guru(self) -> None:
        arguments = "plan rank dims howmany_rank howmany_dims in out sign flags"
        self.rejected(maker(arguments, abi="fortran"), "form guru is not used with abi fortran")
        arguments = "rank n is os howmany_rank h_n h_is h_os in out sign flags"
        self.rejected(maker(arguments), "form guru_parts is not used with abi c")

    def test_kinds_of_real_transforms(self) -> None:
        self.rejected(maker("n0 n1 in out kind0 flags", kind="r2r"), "are no known form")
        self.rejected(maker("rank n in out kind0 flags", kind="r2r"), "are no known form")
        self.rejected(maker("n0 in out kind0 sign flags"), "are no known form")

    def test_split_arrays(self) -> None:
        dims = "rank dims howmany_rank howmany_dims"
        self.rejected(maker(dims + " ri ii ro flags"), "a c2c maker needs the argument 'io'")
        self.rejected(maker(dims + " ri ii ro io sign flags"), "are no known form")
        self.rejected(maker(dims + " ri ii ro io flags", kind="r2c"), "needs the argument 'in'")
        self.rejected(
            row(name="x", action="execute_new", kind="c2r", arguments="plan ri out"),
            "must be 'plan ri ii out'",
        )

    def test_wrong_arguments_of_execute(self) -> None:
        self.rejected(
            row(name="x", action="execute_new", kind="c2c", arguments="plan out in"),
            "must be 'plan in out'",
        )

    def test_symbol_twice(self) -> None:
        self.rejected(2 * maker("n0 in out sign flags"), "symbol 'fftw_plan_x' comes from two rows")

    def test_command_line_says_it_and_fails(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            bad = Path(folder) / "bad.toml"
            bad.write_text(maker("n0"), encoding="utf-8")
            command = [
                sys.executable,
                "-B",
                str(ROOT / "codegen" / "emit_fftw.py"),
                "--output-dir",
                folder,
                str(bad),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("bad.toml: routine 1 (plan_x)", done.stderr)
            self.assertFalse((Path(folder) / "fftw_entries.cpp").exists())


class Emission(unittest.TestCase):
    def test_lengths_keep_fftws_order_in_fortran(self) -> None:
        table = fftw_table.parse(LIBRARY + maker("plan n1 n0 in out sign flags", abi="fortran"))
        text = emit_fftw.emit(table)
        self.assertIn("dfftw_plan_x_(void** plan, const int* n1_f, const int* n0_f,", text)
        self.assertIn("const int lengths[] = {n0, n1};", text)

    def emitted(self, text: str) -> str:
        return emit_fftw.emit(fftw_table.parse(LIBRARY + text))

    def test_split_arrays_reach_their_places(self) -> None:
        dims = "rank dims howmany_rank howmany_dims"
        for kind, arrays, expected in (
            ("c2c", "ri ii ro io", "-1, flags, {ri, ro, ii, io}, true}"),
            ("r2c", "in ro io", "-1, flags, {in, ro, nullptr, io}, true}"),
            ("c2r", "ri ii out", "1, flags, {ri, out, ii, nullptr}, true}"),
        ):
            self.assertIn(expected, self.emitted(maker(f"{dims} {arrays} flags", kind=kind)))

    def test_kinds_keep_the_order_of_their_lengths(self) -> None:
        row = maker("plan n1 n0 in out kind1 kind0 flags", kind="r2r", abi="fortran")
        self.assertIn("const int kind[] = {kind0, kind1};", self.emitted(row))
        self.assertIn("lengths), kind);", self.emitted(row))


if __name__ == "__main__":
    unittest.main()
