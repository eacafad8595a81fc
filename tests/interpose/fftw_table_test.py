"""routines/fftw.toml and its emitter: what is exported, and what each mistake in a row is told."""

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
    def test_every_name_in_both_precisions(self) -> None:
        table = fftw_table.load([ROOT / "routines" / "fftw.toml"])
        names = "plan_dft plan_dft_1d plan_dft_2d plan_dft_3d plan_many_dft execute execute_dft"
        expected = {p + n for p in ("fftw_", "fftwf_") for n in names.split()}
        for prefix in ("fftw_", "fftwf_"):
            expected |= {prefix + "destroy_plan", prefix + "cleanup"}
        self.assertLessEqual(expected, set(table.symbols()))
        for symbol in table.symbols():
            self.assertFalse(symbol.startswith("fftwl_"), "long double stays native")

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
            maker("n0 in out flags", kind="r2r"), "kind 'r2r' is unknown (known: c2c, r2c, c2r)"
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
        self.rejected(maker(arguments, abi="fortran"), "form guru has no Fortran rule yet")

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


if __name__ == "__main__":
    unittest.main()
