"""Super-instructions in Python, in programs that the runtime runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_sial_chemistry import REFERENCES, energies, make
from test_sial_run import prepare, run_job

from conftest import clean_environment
from needs import needs
from outboard import paths
from outboard.sial.compiler import Options, compile_file
from outboard.sial_plugin import Argument, Declaration, super_instruction

pytestmark = pytest.mark.end_to_end
JOB = """sial_job = 1
programs = ["p.sial"]
plugins = ["blocks.py"]
[ints]
n = 3
[scalars]
half = 0.5
[segments]
ao = [2, 3, 1]
[arrays]
weights = { shape = [2, 3], data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] }
[config.p]
unit = "Hartree"
"""
HEAD = """sial p
  predefined int n
  aoindex i = 1:n
  aoindex j = 1:n
  static s[i,j]
  static other[i,j]
  temp t[i,j]
  scalar x
  int k
"""
IMPORT = "import numpy as np\nfrom outboard.sial_plugin import Call, super_instruction\n"


@pytest.fixture(autouse=True)
def embedded(native: paths.Native) -> None:
    """Skips where this build has no library for the Python that runs the tests."""
    name = f"outboard-sial-python{sys.version_info.major}.{sys.version_info.minor}.so"
    if not (native.root / "lib" / name).exists():
        pytest.skip(f"{name} is not built (it needs pybind11 and the headers of Python)")


def simulate(
    native: paths.Native, job: Path, *options: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    program = native.daemon.parent / "outboard-sial"
    variables = clean_environment(**{"OUTBOARD_SIAL_PYTHON": sys.executable, **environment})
    return subprocess.run(
        [str(program), str(job), *map(str, options)],
        env=variables, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def write(folder: Path, plugin: str, special: str, body: str) -> Path:
    (folder / "blocks.py").write_text(IMPORT + plugin)
    return prepare(folder, f"{HEAD}{special}{body}endsial p\n", JOB)


def statics(dump: Path) -> dict[str, np.ndarray]:
    found = json.loads(dump.read_text())[0]["statics"]
    return {
        name: np.array(one["data"]).reshape(one["shape"], order="F") for name, one in found.items()
    }


VIEWS = """
@super_instruction("ur")
def number(call, block, source):
    assert not block.flags.owndata and not source.flags.writeable
    assert block.strides[0] == 8 and block.strides[1] in (8 * 6, 8 * block.shape[0])
    where = call.arguments[0]
    assert where.slices == call.arguments[1].slices and where.shape == block.shape
    assert source.base is not None and (where.name, where.intent) == ("s", "u")
    rows, columns = where.slices
    block += source + 100 * np.arange(6)[rows, None] + np.arange(6)[None, columns]
    block[0, 0] += 1e4 * where.segments[0] + 1e5 * where.segments[1]
"""


def test_arguments_are_views(native: paths.Native, tmp_path: Path) -> None:
    job = write(
        tmp_path,
        VIEWS,
        "  special number ur\n",
        "  s = 1.0\n  other = 2.0\n  do i\n    do j\n      execute number s[i,j] other[i,j]\n"
        "    enddo j\n  enddo i\n",
    )
    dump = tmp_path / "state.json"
    done = simulate(native, job, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    expected = 3 + 100.0 * np.arange(6)[:, None] + np.arange(6)
    for i, row in enumerate([0, 2, 5], start=1):
        for j, column in enumerate([0, 2, 5], start=1):
            expected[row, column] += 1e4 * i + 1e5 * j
    np.testing.assert_array_equal(statics(dump)["s"], expected)


CONTEXT = """
@super_instruction("wwurrr", name="look")
def looks_around(call: Call, x, k, whole, text, index, real):
    assert isinstance(index, int) and isinstance(real, float)
    x[()] = call.scalar("HALF") + real
    k[...] = call.integer("n") + index
    assert whole.shape == (6, 6) and whole.flags.f_contiguous
    whole[:, 0] = 7
    weights = call.array("weights")
    assert weights.shape == (2, 3) and weights[1, 0] == 2 and not weights.flags.writeable
    call.print(text, call.program, call.line, call.workers, call.key("unit"), call.key("a", "b"))
    for missing in (call.integer, call.scalar, call.array, call.key):
        try:
            missing("nothing")
        except LookupError as error:
            assert "add it to the job file" in str(error)
        else:
            raise AssertionError("found nothing")
"""


def test_the_context(native: paths.Native, tmp_path: Path) -> None:
    job = write(
        tmp_path,
        CONTEXT,
        "  special look wwurrr\n",
        '  do i\n    execute look x k s "a text" i 2.0\n  enddo i\n  print x\n  print k\n',
    )
    dump = tmp_path / "state.json"
    done = simulate(native, job, "--workers", 2, "--dump-state", dump)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["a text p 12 2 Hartree b"] * 3
    assert [line.split()[-1] for line in lines[3:]] == ["2.50000000000000", "6"]
    np.testing.assert_array_equal(statics(dump)["s"], [[7, 0, 0, 0, 0, 0]] * 6)


FAILURES = {  # body of a function with a block, the message
    "exception": ("    raise ValueError('too cold')", "ValueError: too cold (blocks.py:5)"),
    "helper": ("    np.linalg.inv(x[:, :1])", "LinAlgError: "),
    "its line": ("    y = x\n    return np.linalg.inv(y[:, :1])", "(blocks.py:6)"),
    "read-only": ("    x[0, 0] = 1", "ValueError: assignment destination is read-only"),
    "exit": ("    raise SystemExit(0)", "SystemExit: 0 (blocks.py:5)"),
    "result": ("    return x + 1", "returned ndarray (results are lost)"),
    "kept view": ("    global kept; kept = x[1:]", "keeps an array after it has returned"),
    "kept array": ("    global kept; kept = call.array('weights')", "keeps an array after"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failures_end_the_program(native: paths.Native, tmp_path: Path, case: str) -> None:
    body, words = FAILURES[case]
    plugin = f"@super_instruction('r')\ndef fails(call, x):\n{body}\n"
    job = write(tmp_path, plugin, "  special fails r\n", "  execute fails s\n")
    done = simulate(native, job, "--workers", 2)
    assert done.returncode == 3
    assert "p:11: error R08 fails: " in done.stderr
    assert words in done.stderr


def test_arrays_that_only_lost_objects_keep(native: paths.Native, tmp_path: Path) -> None:
    """Objects that refer to each other live until Python looks for them."""
    plugin = "@super_instruction('r')\ndef f(call, x):\n    a = [x]\n    a.append(a)\n"
    done = simulate(native, write(tmp_path, plugin, "  special f r\n", "  execute f s\n"))
    assert done.returncode == 0, done.stderr


def test_a_call_ends_with_its_function(native: paths.Native, tmp_path: Path) -> None:
    plugin = (
        "kept = []\n@super_instruction('')\ndef f(call):\n    kept.append(call)\n"
        "    kept[0].print('here')\n"
    )
    body = "  execute f\n  execute f\n"
    done = simulate(native, write(tmp_path, plugin, "  special f\n", body))
    assert (done.returncode, done.stdout) == (3, "here\n")
    assert "the call has returned; its context is void (blocks.py:7)" in done.stderr


GOOD = "@super_instruction('r')\ndef f(call, x):\n    pass\n"
BAD = {  # text of the plug-in, the message
    "parameters": (GOOD.replace("call, x", "x"), "f has the intents 'r', so its function is"),
    "their line": (GOOD.replace("call, x", "x"), "(blocks.py:3)"),
    "intents": (GOOD.replace("'r'", "'rx'"), "the intents 'rx' are not r, w and u"),
    "name": (GOOD.replace("f(", "F("), "'F' is no name of a super-instruction"),
    "nothing": ("x = 1\n", "declares no super-instruction"),
    "module": ("import no_such_module\n", "No module named 'no_such_module' (blocks.py:3)"),
    "syntax": ("def f(:\n", "SyntaxError: invalid syntax (blocks.py:3)"),
    "twice": (GOOD + GOOD.replace("f(", "g(").replace("'r'", "'r', name='f'"), "is there already"),
    "program": (GOOD.replace("'r'", "'u'"), "f has the intents `u`, and the program declares `r`"),
}


@pytest.mark.parametrize("case", BAD)
def test_plugins_that_do_not_fit(native: paths.Native, tmp_path: Path, case: str) -> None:
    text, words = BAD[case]
    body = '  print "started"\n  execute f x\n'
    done = simulate(native, write(tmp_path, text, "  special f r\n", body))
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_two_plugins_and_their_modules(native: paths.Native, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def twice(x):\n    x *= 2\n")
    (tmp_path / "more.py").write_text(
        f"{IMPORT}from blocks import f\n@super_instruction('u')\ndef g(call, x):\n    f(call, x)\n"
    )
    plugin = "from helper import twice\n@super_instruction('u')\ndef f(call, x):\n    twice(x)\n"
    special = "  special f u\n  special g u\n"
    job = write(tmp_path, plugin, special, "  s = 3.0\n  execute f s\n  execute g s\n")
    job.write_text(JOB.replace('["blocks.py"]', '["blocks.py", "more.py"]'))
    done = simulate(native, job, "--dump-state", tmp_path / "state.json")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(statics(tmp_path / "state.json")["s"], np.full((6, 6), 12.0))


def environment_of(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    home = Path(os.path.realpath(sys.executable)).parent
    (folder / "pyvenv.cfg").write_text(f"home = {home}\nversion = {version}\n")
    return folder


def test_environments_that_do_not_fit(native: paths.Native, tmp_path: Path) -> None:
    job = write(tmp_path, GOOD, "  special f r\n", "  execute f x\n")
    other = environment_of(tmp_path / "other", "3.99.1")
    done = simulate(native, job, OUTBOARD_SIAL_PYTHON="", VIRTUAL_ENV=str(other))
    assert done.returncode == 2
    assert f"{other}/bin/python3 (that is Python 3.99, and this installation" in done.stderr
    empty = environment_of(tmp_path / "empty", ".".join(map(str, sys.version_info[:3])))
    done = simulate(native, job, OUTBOARD_SIAL_PYTHON=str(empty / "bin" / "python3"))
    assert done.returncode == 2
    assert "No module named 'numpy'; the environment is" in done.stderr
    assert str(empty) in done.stderr


def test_an_installation_without_python(native: paths.Native, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "outboard-sial"
    shutil.copy(native.daemon.parent / "outboard-sial", program)
    job = write(tmp_path, GOOD, "  special f r\n", "  execute f x\n")
    done = subprocess.run([program, str(job)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "this installation cannot run Python" in done.stderr
    assert "install python3-dev and pybind11-dev" in done.stderr


def prepare_molecule(folder: Path) -> Path:
    made = make(
        folder, "h2o", "sto-3g", "job", "--segment", 3, "--integrals", "blocks",
        "--program", "rhf.sial",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    for name in ("integrals.sial", "rhf.sial"):
        source = folder / "job" / name
        result = compile_file(source, str(source), Options())
        assert result.render() == "", "the examples have no warnings"
        assert result.code is not None
        source.with_suffix(".sialc").write_bytes(result.code)
    return folder / "job" / "job.toml"


def check_energy(output: str) -> None:
    expected = REFERENCES["h2o", "sto-3g"].scf
    assert energies(output)["scf_energy"] == pytest.approx(expected, abs=1e-10)


def test_integrals_in_python(native: paths.Native, tmp_path: Path) -> None:
    job = prepare_molecule(tmp_path)
    assert not np.any(np.load(tmp_path / "job" / "repulsion.npy"))
    done = simulate(native, job, "--workers", 3, "--servers", 2, "--seed", 5)
    assert done.returncode == 0, done.stderr
    check_energy(done.stdout)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_integrals_over_mpi(native: paths.Native, tmp_path: Path, mpi: str) -> None:
    needs(f"mpiexec.{mpi}")
    done = run_job(native, prepare_molecule(tmp_path), "-n", 3, "--mpi", mpi)
    assert done.returncode == 0, done.stderr
    check_energy(done.stdout)


def test_functions_work_without_a_job() -> None:
    @super_instruction("wr", overwrites=True)
    def double(call: object, block: np.ndarray, source: np.ndarray) -> None:
        block[...] = 2 * source

    block = np.zeros(3)
    double(None, block, np.arange(3.0))
    np.testing.assert_array_equal(block, [0, 2, 4])
    assert vars(double)["super_instruction"] == Declaration("double", "wr", True)
    argument = Argument("r", "a", (2, 1), (3, 1), (2, 5))
    assert argument.slices == (slice(2, 4), slice(0, 5))
