"""Compares the coverage page with the TOML tables, the version script and the C++ sources."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TABLES = sorted((ROOT / "routines").glob("blas*.toml")) + sorted(
    (ROOT / "routines").glob("lapack*.toml")
)
FFTW = ROOT / "routines" / "fftw.toml"
sys.path.insert(0, str(ROOT / "codegen"))

import backends  # noqa: E402
import emit_exports  # noqa: E402
import fftw_table  # noqa: E402
import table  # noqa: E402


def emitted(backends: Path = ROOT / "src" / "backend", fftw: Path = FFTW) -> str:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "docs" / "coverage.md"
        subprocess.run(
            [sys.executable, "-B", ROOT / "codegen" / "emit_coverage.py", "--output", page,
             "--fftw", fftw, "--backends", backends, *TABLES],
            check=True, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        return page.read_text(encoding="utf-8")


def cells_of(line: str) -> list[str]:
    return [c.strip() for c in line.replace("\\|", "\0").strip("|").split("|")]


def grids(text: str) -> dict[str, list[dict[str, str]]]:
    """Returns heading -> the rows of its tables."""
    result: dict[str, list[dict[str, str]]] = {}
    for section in text.split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        head: list[str] = []
        rows = result.setdefault(section.splitlines()[0], [])
        for before, line in zip(["", *lines], lines, strict=False):
            if set(line) <= set("| -") and before:
                head = cells_of(before)
                rows[:] = [r for r in rows if list(r.values()) != head]
            else:
                rows.append(dict(zip(head or cells_of(line), cells_of(line), strict=False)))
    return result


def raw_rows() -> list[dict[str, Any]]:
    return [r for path in TABLES for r in tomllib.loads(path.read_text("utf-8"))["routine"]]


def version_script(*, everything: bool) -> set[str]:
    """Returns the names of the drop-in library's linker script."""
    text = emit_exports.emit_exports(table.load(TABLES), [], everything)
    return set(re.findall(r"^  (\w+);$", text, re.MULTILINE))


class CoveragePage(unittest.TestCase):
    text: str
    sections: dict[str, list[dict[str, str]]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.text = emitted()
        cls.sections = grids(cls.text)

    def dense(self) -> list[dict[str, str]]:
        return [row for rows in self.sections.values() for row in rows if "routine" in row]

    def line_of(self, base: str) -> dict[str, str]:
        (row,) = [r for r in self.dense() if base in r["routine"].split()]
        return row

    def test_every_routine_stands_there_once(self) -> None:
        shown = [row[p] for row in self.dense() for p in "sdcz" if row[p]]
        wanted = [name for r in table.load(TABLES) for name in r.names().values()]
        self.assertEqual(sorted(shown), sorted(wanted))
        self.assertEqual(len(self.dense()), len(raw_rows()), "a row of a file is a line")

    def test_lines_say_what_the_rows_say(self) -> None:
        for row in raw_rows():
            with self.subTest(row["name"]):
                line = self.line_of(row["name"])
                stays = line["stays local if"].split("; ")
                self.assertEqual(line["computes"].replace("\0", "|"), row["summary"])
                self.assertEqual("row-major" in stays, row["row_major"] == "local")
                self.assertEqual("`info > 0` (runs again)" in stays, "rerun" in row)
                self.assertIn(row.get("local", ""), line["stays local if"])
                # Constants (rotg: 1 == 0) are no conditions.
                always = re.search("[a-z]", row["trivial"]) is None
                self.assertEqual(f"`{row['trivial']}`" in stays, not always)
                is_exported = row.get("level", 3) == 3
                self.assertEqual(line["Fortran"], "LP64 ILP64" if is_exported else "tests")
                c = line.get("CBLAS") or line["LAPACKE"]
                self.assertEqual(c.endswith("batches"), row.get("batched", False))

    def test_patterns_are_the_names_of_the_version_script(self) -> None:
        made: dict[bool, set[str]] = {True: set(), False: set()}
        for line in self.dense():
            c = "CBLAS" if "CBLAS" in line else "LAPACKE"
            for name in (line[p] for p in "sdcz" if line[p]):
                for row in self.sections["Names"]:
                    listed = set(row["routines"].removeprefix("all but ").split())
                    here = (name in listed) != row["routines"].startswith("all")
                    if row["interface"] not in ("Fortran", c) or not here:
                        continue
                    patterns = row["names"].replace("`", "").split()
                    for pattern in patterns:
                        self.assertRegex(pattern, "<name>|<NAME>")
                    made[line["Fortran"] != "tests"] |= {
                        p.replace("<name>", name).replace("<NAME>", name.upper()) for p in patterns
                    }
        self.assertEqual(made[True], version_script(everything=False))
        self.assertEqual(made[True] | made[False], version_script(everything=True))

    def test_summary_counts(self) -> None:
        *files, fftw, total = (
            [int(v) for v in list(row.values())[1:]] for row in self.sections["Summary"]
        )
        symbols = fftw_table.load([FFTW]).symbols()
        self.assertEqual(sum(f[2] for f in files), len(version_script(everything=False)))
        self.assertEqual(fftw[2], len(symbols))
        self.assertEqual(total, [sum(column) for column in zip(*files, fftw, strict=True)])
        self.assertEqual(len(files), len(TABLES))

    def test_fftw(self) -> None:
        shown = [
            name.strip("`")
            for row in self.sections["FFTW"]
            for key, cell in row.items()
            if key.startswith("fftw")
            for name in cell.split()
        ]
        self.assertEqual(sorted(shown), sorted(fftw_table.load([FFTW]).symbols()))
        self.assertNotIn("Kinds without a row", self.text)

    def test_headers_of_the_files(self) -> None:
        for path in TABLES:
            first = path.read_text("utf-8").splitlines()[0].removeprefix("# ").split(".")[0]
            self.assertIn(first, self.sections)
        self.assertNotIn("SCHEMA.md", self.text)


class Backends(unittest.TestCase):
    def test_columns_are_the_folders(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cpu", "null", "abacus"):
                (Path(folder) / name).mkdir()
                (Path(folder) / name / "CMakeLists.txt").touch()
            (Path(folder) / "leftover").mkdir()
            sections = grids(emitted(Path(folder)))
        (line,) = [r for rows in sections.values() for r in rows if r.get("routine") == "gemm"]
        columns = list(line)
        between = columns[columns.index("CBLAS") + 1 : columns.index("computes")]
        self.assertEqual(between, ["abacus", "cpu"])
        self.assertEqual((line["abacus"], line["cpu"]), ("?", "yes"))

    def test_every_backend_of_ours_is_described(self) -> None:
        self.assertNotIn("not described", emitted(), "describe it in codegen/backends.py")

    def test_substitutes_are_those_of_the_cpu_backend(self) -> None:
        files = ("backend/cpu/substitutes.cpp", "device/blocked_gemmt.cpp")
        source = "".join((ROOT / "src" / file).read_text("utf-8") for file in files)
        replaced = set(re.findall(r'routine\.base [!=]= "(\w+)"', source))
        lines = {
            row["routine"]: row["cpu"]
            for rows in grids(emitted()).values()
            for row in rows
            if "routine" in row
        }
        self.assertTrue(replaced)
        self.assertEqual({name for name, cell in lines.items() if cell != "yes"}, replaced)

    def test_cuda_runs_what_its_column_says(self) -> None:
        folder = ROOT / "src" / "backend" / "cuda"
        solver = (folder / "solver_rows.hpp").read_text("utf-8")
        real_names = {
            "heev": "syev", "heevd": "syevd", "hegv": "sygv", "hegvd": "sygvd",
            "hetrd": "sytrd", "ungqr": "orgqr", "unmqr": "ormqr",
        }  # fmt: skip
        found = set(re.findall(r"X\(p##(\w+),", solver))
        found |= set(re.findall(r'\{"(\w+)", \w+', (folder / "lapack.cpp").read_text("utf-8")))
        self.assertEqual({real_names.get(name, name) for name in found}, set(backends.CUDA_LAPACK))
        blas = (folder / "blas_rows.hpp").read_text("utf-8")
        functions = set(re.findall(r"X\(p##(\w+),", blas)) | set(re.findall(r"X\((\w+),", blas))
        rows = [r for r in table.load(TABLES) if r.library == "blas"]
        for row in rows:
            names = {row.name, *row.names().values()}
            alone = row.name not in backends.CUDA_BLAS
            self.assertEqual(bool(names & functions), alone, row.name)

    def test_opencl_runs_what_its_column_says(self) -> None:
        source = ROOT / "src" / "backend" / "opencl" / "blas_rows.hpp"
        text = source.read_text("utf-8")
        functions = set(re.findall(r"X\(p##(\w+),", text)) | set(re.findall(r"X\((\w+),", text))
        for row in table.load(TABLES):
            there = bool({row.name, *row.names().values()} & functions)
            if row.library == "blas" and row.level == 3:
                self.assertTrue(there or row.name in backends.OPENCL_BLAS3, row.name)
            else:
                self.assertFalse(there, row.name)

    def test_a_broken_table_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "fftw.toml"
            broken.write_text('[[routine]]\nname = "plan"\n')
            with self.assertRaises(subprocess.CalledProcessError) as caught:
                emitted(fftw=broken)
        self.assertIn("fftw.toml: routine 1 (plan): key 'action'", caught.exception.stderr)


if __name__ == "__main__":
    unittest.main()
