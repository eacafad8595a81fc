"""Super-instructions of plug-ins in C, C++ and Fortran, in programs that the runtime runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_sial_run import prepare, run_job, simulate

from conftest import ROOT
from needs import needs
from outboard import paths

pytestmark = pytest.mark.end_to_end
INCLUDE = ROOT / "include"
EXAMPLES = ROOT / "examples" / "sial"
COMPILERS = {".c": ("CC", "cc"), ".cpp": ("CXX", "c++"), ".f90": ("FC", "gfortran")}
JOB = """sial_job = 1
programs = ["p.sial"]
plugins = ["libplugin.so"]
[ints]
n = 3
[scalars]
half = 0.5
[segments]
ao = [2, 3, 1]
[arrays]
weights = { shape = [2, 2], data = [1.0, 2.0, 3.0, 4.0] }
[config.p]
unit = "Hartree"
"""
HEAD = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  static s[i,j]
  temp t[i,j]
  scalar x
"""


def build(folder: Path, source: Path) -> Path:
    """Compiles a plug-in as docs/sial/plugins.md says."""
    variable, usual = COMPILERS[source.suffix]
    compiler = os.environ.get(variable, usual)
    needs(compiler, package="gfortran" if source.suffix == ".f90" else "g++")
    library = folder / f"lib{source.stem}.so"
    module = [str(INCLUDE / "outboard" / "sial.f90")] if source.suffix == ".f90" else []
    words = [compiler, "-shared", "-fPIC", "-Wall", "-I", str(INCLUDE), *module, str(source)]
    done = subprocess.run(
        [*words, "-o", str(library)], capture_output=True, text=True, cwd=folder, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return library


def build_text(folder: Path, text: str, suffix: str = ".c") -> None:
    source = folder / f"plugin{suffix}"
    source.write_text(text)
    build(folder, source)


def entries(*functions: tuple[str, str, str], version: str = "OB_SIAL_VERSION") -> str:
    """Returns a plug-in in C. Each function is a name, its intents and its body."""
    text = "#include <outboard/sial.h>\n#include <stdio.h>\n#include <string.h>\n"
    for name, _, body in functions:
        text += (
            f"static int {name}(ob_sial_call* call, ob_sial_argument* a, int32_t n) {{\n{body}\n"
        )
        text += "  (void)call; (void)a; (void)n; return 0;\n}\n"
    rows = ", ".join(f'{{"{name}", "{intents}", {name}, 0}}' for name, intents, _ in functions)
    return f"""{text}static const ob_sial_entry rows[] = {{{rows}}};
static const ob_sial_table table = {{{version}, sizeof(ob_sial_entry), {len(functions)}, rows}};
const ob_sial_table* ob_sial_plugin(void) {{ return &table; }}
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_example_in_three_languages(native: paths.Native, tmp_path: Path, ranks: int) -> None:
    for name in ("hilbert.sial", "hilbert.toml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    for source in sorted((EXAMPLES / "plugins").iterdir()):
        build(tmp_path, source)
    dump = tmp_path / "state.json"
    done = run_job(native, tmp_path / "hilbert.toml", "-n", ranks, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("most = 2.00000000000000\n")
    state = json.loads((dump if ranks == 1 else tmp_path / "state.json.0").read_text())[0]
    got = np.array(state["statics"]["h"]["data"]).reshape(9, 9, order="F")
    number = np.arange(1, 10)
    hilbert = 1 / (number[:, None] + number - 1.0)
    np.testing.assert_array_equal(got, hilbert + 1.0 + 2.0)


def test_a_block_inside_a_static_is_dense_for_the_function(
    native: paths.Native, tmp_path: Path
) -> None:
    body = """
  for (int64_t i = 0; i < a[0].elements; ++i) a[0].data[i] += 100.0 * a[0].segments[0] + i;
  if (a[0].rank != 2 || a[0].strides[1] != a[0].extents[0] || a[0].first[1] < 1) return 7;
  a[0].data = 0;"""
    build_text(tmp_path, entries(("number", "u", body)))
    source = f"{HEAD}  special number u\n  do j\n    do i\n      execute number s[i,j]\n"
    job = prepare(tmp_path, f"{source}    enddo i\n  enddo j\nendsial p\n", JOB)
    dump = tmp_path / "state.json"
    done = simulate(native, job, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    state = json.loads(dump.read_text())[0]["statics"]["s"]
    starts = [0, 2, 5, 6]
    for i in range(3):
        for j in range(3):
            whole = np.array(state["data"]).reshape(6, 6, order="F")
            block = whole[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            expected = 100.0 * (i + 1) + np.arange(block.size)
            np.testing.assert_array_equal(block.ravel(order="F"), expected)


def test_what_a_function_finds(native: paths.Native, tmp_path: Path) -> None:
    body = """
  int64_t number; double value; ob_sial_argument weights; char text[200];
  double* scratch = call->scratch(call, 1000 * sizeof(double));
  if (!scratch || (uintptr_t)scratch % 64 != 0) return 2;
  memset(scratch, 0xff, 1000 * sizeof(double));
  if (call->find_int(call, "N", &number) || call->find_scalar(call, "half", &value)) return 3;
  if (call->find_array(call, "weights", &weights) || weights.rank != 2) return 4;
  if (!call->find_int(call, "none", &number) || call->find_key(call, "none")) return 5;
  snprintf(text, sizeof text, "%s line %u: %d %g %g %s %s %d", call->program, call->line,
           (int)number, value, weights.data[3], call->find_key(call, "unit"), a[1].text, n);
  call->print(call, text);
  *a[0].scalar = call->workers;"""
    build_text(tmp_path, entries(("look", "wr", body)))
    source = f'{HEAD}  special look wr\n  execute look x "a text"\n  print x\nendsial p\n'
    done = simulate(native, prepare(tmp_path, source, JOB), "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "p line 9: 3 0.5 4 Hartree a text 2"
    assert done.stdout.splitlines()[1].endswith("x = 2.00000000000000")


FAILURES = {
    "message": ('call->fail(call, "it is cold"); return 1;', "it is cold"),
    "message only": ('call->fail(call, "it is cold");', "it is cold"),
    "status": ("return 42;", "returned 42 without a message"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failures_end_the_program(native: paths.Native, tmp_path: Path, case: str) -> None:
    body, words = FAILURES[case]
    build_text(tmp_path, entries(("fails", "r", body)))
    source = f"{HEAD}  special fails r\n  do i\n  execute fails i\n  enddo i\nendsial p\n"
    done = simulate(native, prepare(tmp_path, source, JOB), "--workers", 2)
    assert done.returncode == 3
    assert f"p:10: error R08 fails: {words} [i = 1]" in done.stderr


def test_an_exception_ends_the_program(native: paths.Native, tmp_path: Path) -> None:
    text = """#include <outboard/sial.hpp>
static void fails(outboard::sial::Call&, outboard::sial::Arguments arguments) {
  arguments[0].elements();
}
OUTBOARD_SIAL_PLUGIN({"fails", "r", fails});
"""
    build_text(tmp_path, text, ".cpp")
    source = f"{HEAD}  special fails r\n  execute fails x\nendsial p\n"
    done = simulate(native, prepare(tmp_path, source, JOB))
    assert done.returncode == 3
    assert "p:9: error R08 fails: an argument is not a block" in done.stderr


def no_plugin(folder: Path) -> None:
    build_text(folder, "int nothing(void) { return 0; }\n")


def no_library(folder: Path) -> None:
    (folder / "libplugin.so").write_text("nothing")


BAD = {  # what lies there, what is said
    "missing": (lambda folder: None, "cannot be opened"),
    "no library": (no_library, "cannot be opened"),
    "no plug-in": (no_plugin, "does not export ob_sial_plugin()"),
    "version": (
        lambda folder: build_text(folder, entries(("f", "r", ""), version="99")),
        "was built for another version",
    ),
    "twice": (
        lambda folder: build_text(folder, entries(("busy_compute", "rr", ""))),
        "declares busy_compute, which is there already",
    ),
    "intents": (
        lambda folder: build_text(folder, entries(("f", "rx", ""))),
        "declares f with the intents `rx`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_plugins_that_do_not_fit(native: paths.Native, tmp_path: Path, case: str) -> None:
    make, words = BAD[case]
    make(tmp_path)
    job = prepare(tmp_path, f'{HEAD}  print "started"\nendsial p\n', JOB)
    done = simulate(native, job)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_name_that_nothing_has(native: paths.Native, tmp_path: Path) -> None:
    build_text(tmp_path, entries(("f", "r", "")))
    special = "  special f w\n  special g r\n  special unused r\n"
    body = '  print "started"\n  execute f x\n  execute g x\n'
    done = simulate(native, prepare(tmp_path, f"{HEAD}{special}{body}endsial p\n", JOB))
    assert (done.returncode, done.stdout) == (2, "")
    assert "f has the intents `r`, and the program declares `w`" in done.stderr
    assert "there is no super-instruction g" in done.stderr
    assert "unused" not in done.stderr


CHECKED = {  # intents and body of a function, its arguments, what is said
    "behind": (
        "u",
        "a[0].data[a[0].elements] = 1;",
        "s[i,j]",
        "writes outside of argument 1 (u, s)",
    ),
    "before": ("w", "a[0].data[-1] = 1;", "t[i,j]", "writes outside of argument 1 (w, t)"),
    "read": (
        "ur",
        "a[1].data[0] += 1;",
        "t[i,j] s[i,j]",
        "changes argument 2 (r, s), which it may only read [j = 1, i = 1]",
    ),
    "left": ("w", "a[0].data[0] = 1;", "t[i,j]", "leaves element 2 of argument 1 (w, t) unwritten"),
    "same": ("ur", "", "t[i,j] t[i,j]", "argument 1 (u, t) and argument 2 (r, t) are the same"),
    "whole": ("ur", "", "s s[i,j]", "argument 1 (u, s) and argument 2 (r, s) are the same"),
    "number": ("ur", "", "x x", "argument 1 (u) and argument 2 (r) are the same"),
}


@pytest.mark.parametrize("case", CHECKED)
def test_checked_calls(native: paths.Native, tmp_path: Path, case: str) -> None:
    intents, body, arguments, words = CHECKED[case]
    text = entries(("f", intents, body))
    build_text(
        tmp_path, text.replace("f, 0}", "f, OB_SIAL_OVERWRITES}") if case == "left" else text
    )
    source = f"{HEAD}  special f {intents}\n  do j\n    do i\n      t[i,j] = 1.0\n"
    source += f"      execute f {arguments}\n"
    job = prepare(tmp_path, f"{source}    enddo i\n  enddo j\nendsial p\n", JOB)
    done = simulate(native, job, "--check")
    assert done.returncode == 3, done.stderr
    assert "p:12: error R08 f: " in done.stderr and words in done.stderr, done.stderr


def test_right_calls_pass_the_checks(native: paths.Native, tmp_path: Path) -> None:
    body = "for (int64_t i = 0; i < a[0].elements; ++i) a[0].data[i] = a[1].data[i] + *a[2].scalar;"
    build_text(tmp_path, entries(("f", "wrr", body)).replace("f, 0}", "f, OB_SIAL_OVERWRITES}"))
    special = "  special f wrr\n  special swap_blocks uu\n  special fill_block_sequential wr\n"
    loop = """  do j
    do i
      execute fill_block_sequential t[i,j] 1.0
      execute f s[i,j] t[i,j] 2.0
      execute swap_blocks s[i,j] t[i,j]
    enddo i
  enddo j
"""
    job = prepare(tmp_path, f"{HEAD}{special}{loop}endsial p\n", JOB)
    states = []
    for option in ([], ["--check"]):
        done = simulate(native, job, "--dump-state", tmp_path / "state.json", *option)
        assert done.returncode == 0, done.stderr
        states.append(json.loads((tmp_path / "state.json").read_text())[0]["statics"]["s"])
    assert states[0] == states[1]
    assert sum(states[0]["data"]) == sum(n * (n + 1) / 2 for n in (4, 6, 2, 6, 9, 3, 2, 3, 1))
