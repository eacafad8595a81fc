"""Tests `outboard doctor -- COMMAND` with real programs whose calls are caught, or are not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Outboard, clean_environment
from outboard import paths
from outboard.doctor import elf, interposition, program, trial
from outboard.doctor.finding import Finding, Level

pytestmark = pytest.mark.end_to_end

# Computes a product of zeros, by the name that the macro DGEMM gives.
CALLER = """
#include <stdlib.h>
#include <unistd.h>
void DGEMM(const char*, const char*, const int*, const int*, const int*, const double*,
           const double*, const int*, const double*, const int*, const double*, double*,
           const int*);
void work(void) {
  int n = 200;
  double one = 1, *a = calloc(n * n, 8), *b = calloc(n * n, 8), *c = calloc(n * n, 8);
  DGEMM("N", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &n);
  free(a); free(b); free(c);
}
"""
MAIN = "void work(void); int main(void) { work(); return 0; }"
SLOW_MAIN = "#include <unistd.h>\nint main(void) { usleep(700000); return 0; }"
# Looks dgemm_ up in the BLAS itself.
BY_HANDLE = """
#include <dlfcn.h>
int main(void) { return dlsym(dlopen("libopenblas.so.0", RTLD_NOW), "dgemm_") == 0; }
"""
DEEP = """
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int n, char** v) {
  void* h = dlopen(v[1], RTLD_NOW | RTLD_DEEPBIND);
  ((void (*)(void))dlsym(h, "work"))();
  return 0;
}
"""
LATER = DEEP.replace(" | RTLD_DEEPBIND", "")
# A BLAS of its own, with the usual name or another one.
OWN_BLAS = "void DGEMM(void) {}"


class Compiler(NamedTuple):
    folder: Path

    def __call__(self, name: str, source: str, *options: str, dgemm: str = "dgemm_") -> Path:
        compiler = shutil.which("cc")
        assert compiler is not None, "the tests need a C compiler"
        file = self.folder / f"{name}.c"
        file.write_text(source)
        output = self.folder / name
        command = [compiler, f"-DDGEMM={dgemm}", str(file), "-o", str(output), *options]
        subprocess.run(command, check=True)
        return output


@pytest.fixture
def compile(tmp_path: Path) -> Compiler:
    return Compiler(tmp_path)


class Doctor(NamedTuple):
    library: Path

    def __call__(self, *command: str | Path, seconds: float = 30) -> list[Finding]:
        environment = clean_environment()
        environment.pop("PYTHONPATH")
        found, _ = interposition.check(
            [str(word) for word in command], self.library, seconds, environment
        )
        for one in found:
            print(one)
        return found


@pytest.fixture
def doctor(native: paths.Native) -> Doctor:
    return Doctor(native.preload)


def of(found: list[Finding], check: str) -> Finding:
    """Returns the worst finding with this name."""
    order = [Level.OK, Level.NOTE, Level.PROBLEM]
    return max((f for f in found if f.check == check), key=lambda f: order.index(f.level))


def problems(found: list[Finding]) -> list[str]:
    return [f.check for f in found if f.level is Level.PROBLEM]


# --- caught --------------------------------------------------------------------------------------


def test_a_linked_program(doctor: Doctor, compile: Compiler) -> None:
    found = doctor(compile("linked", CALLER + MAIN, "-lblas"))
    assert problems(found) == []
    assert of(found, "linked").text == "binds one name to the library: dgemm_"
    assert of(found, "calls").text == "1 passed through, 1 of them could go out: dgemm 1"


def test_a_module_opened_later(doctor: Doctor, compile: Compiler) -> None:
    module = compile("module.so", CALLER, "-shared", "-fPIC", "-lblas")
    found = doctor(compile("opens", LATER), module)
    assert problems(found) == []
    assert "dgemm_" in of(found, "module.so").text
    assert of(found, "calls").level is Level.OK


def test_a_private_copy_with_other_names(doctor: Doctor) -> None:
    """NumPy's wheel contains an OpenBLAS with affixed names, which is found by RPATH."""
    code = "import numpy; a = numpy.ones((150, 150)); a @ a.T; a @ a; numpy.fft.fft(a)"
    found = doctor(sys.executable, "-c", code)
    assert problems(found) == []
    assert "scipy_cblas_" in of(found, "_multiarray_umath.so").text
    (wheel,) = (f for f in found if "numpy.libs" in f.text)
    assert "BLAS with names scipy_...64_, 64-bit integers" in wheel.text
    assert "dgemm 1" in of(found, "calls").text
    assert of(found, "_pocketfft_umath.so").level is Level.NOTE
    assert "pyFFTW" in of(found, "_pocketfft_umath.so").advice


def test_modules_that_pass_routines_on_under_their_own_names(doctor: Doctor) -> None:
    """SciPy's modules contain small dgemm_ of their own, which call scipy_dgemm_."""
    code = "import numpy, scipy.linalg.blas as b; a = numpy.ones((99, 99)); b.dgemm(1, a, a)"
    found = doctor(sys.executable, "-c", code)
    assert problems(found) == []
    assert of(found, "_fblas.so").level is Level.OK
    assert of(found, "calls").text.endswith(": dgemm 1")


def test_a_script(doctor: Doctor, compile: Compiler, tmp_path: Path) -> None:
    linked = compile("linked", CALLER + MAIN, "-lblas")
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env sh\n{linked}\n{linked}\n")
    script.chmod(0o755)
    found = doctor(script)
    assert problems(found) == []
    assert of(found, "calls").text == "2 passed through, 2 of them could go out: dgemm 2"


@pytest.mark.slow
def test_octave(doctor: Doctor) -> None:
    found = doctor("octave", "--no-gui", "--eval", "a = ones(150); a * a; fft(a);")
    assert problems(found) == []
    assert "fftw_execute_dft_r2c" in next(f.text for f in found if "liboctave" in f.check)
    assert all(f"{name} 1" in of(found, "calls").text for name in ("dgemm", "fftw r2c"))


# --- not caught ----------------------------------------------------------------------------------


def test_a_blas_linked_into_the_program(doctor: Doctor, compile: Compiler) -> None:
    library = compile("blas.o", OWN_BLAS, "-c")
    found = doctor(compile("static-blas", CALLER + MAIN, str(library)))
    assert problems(found) == ["static-blas"]
    assert (
        "has one routine linked into it, called without the loader: dgemm_"
        in of(found, "static-blas").text
    )
    assert "shared" in of(found, "static-blas").advice
    found = doctor(compile("exports-blas", CALLER + MAIN, str(library), "-rdynamic"))
    assert problems(found) == ["exports-blas"]


def test_a_blas_linked_into_a_module(doctor: Doctor, compile: Compiler) -> None:
    library = compile("blas.o", OWN_BLAS, "-c", "-fPIC", "-fvisibility=hidden")
    module = compile("module.so", CALLER, str(library), "-shared", "-fPIC")
    found = doctor(compile("opens", LATER), module)
    assert problems(found) == ["module.so"]


def test_a_stripped_one(doctor: Doctor, compile: Compiler) -> None:
    text = 'const char* version(void) { return "OpenBLAS 0.3.99 TEST"; }'
    found = doctor(compile("stripped", MAIN + "void work(void) {}" + text, "-s"))
    assert of(found, "stripped").level is Level.NOTE
    assert "OpenBLAS" in of(found, "stripped").text


def test_a_static_program(doctor: Doctor, compile: Compiler) -> None:
    for option in ("-static", "-static-pie"):
        found = doctor(compile(f"linked{option}", "int main(void) { return 0; }", option))
        assert problems(found) == [f"linked{option}"]
        assert "statically linked" in of(found, f"linked{option}").text


def test_names_with_an_unknown_affix(doctor: Doctor, compile: Compiler) -> None:
    library = compile("libown.so", OWN_BLAS, "-shared", "-fPIC", dgemm="my_dgemm_64_")
    options = [str(library), f"-Wl,-rpath,{library.parent}"]
    found = doctor(compile("affixed", CALLER + MAIN, *options, dgemm="my_dgemm_64_"))
    assert problems(found) == ["affixed"]
    assert "my_dgemm_64_" in of(found, "affixed").text


def test_a_name_looked_up_in_the_library(doctor: Doctor, compile: Compiler) -> None:
    found = doctor(compile("asks", BY_HANDLE))
    (check,) = problems(found)
    assert "openblas" in check
    assert of(found, check).text.startswith("dgemm_: looked up in this library itself")


def test_deep_binding(doctor: Doctor, compile: Compiler) -> None:
    module = compile("module.so", CALLER, "-shared", "-fPIC", "-lblas")
    found = doctor(compile("deep", DEEP), module)
    assert problems(found) == ["module.so"]
    assert "RTLD_DEEPBIND" in of(found, "module.so").advice


def test_a_child_without_our_variables(doctor: Doctor, compile: Compiler) -> None:
    slow = compile("slow", SLOW_MAIN)
    for command in (["env", "-i", slow], ["sh", "-c", f"env -u LD_PRELOAD {slow}; true"]):
        found = doctor(*command)
        assert problems(found) == ["slow"]
        assert "took LD_PRELOAD out of its environment" in of(found, "slow").text


def test_a_static_child(doctor: Doctor, compile: Compiler) -> None:
    slow = compile("slow", SLOW_MAIN, "-static")
    found = doctor("sh", "-c", f"{slow}; true")
    assert problems(found) == ["slow"]
    assert "statically linked" in of(found, "slow").text


def test_privileges(doctor: Doctor, compile: Compiler) -> None:
    if os.getuid() != 0:  # only root can give programs away; su(1) belongs to root already
        assert "setuid" in of(doctor("su"), "su").text
        return
    path = compile("setuid", CALLER + MAIN, "-lblas")
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    assert "setuid" in of(doctor(path), "setuid").text
    path.chmod(0o2755)
    assert "setgid" in of(doctor(path), "setuid").text
    path.chmod(0o755)
    # struct vfs_cap_data, revision 2, with CAP_NET_RAW permitted: linux/capability.h.
    capability = bytes.fromhex("0100000200200000000000000000000000000000")
    os.setxattr(path, "security.capability", capability)
    assert "file capabilities" in of(doctor(path), "setuid").text


def test_another_processor(doctor: Doctor, compile: Compiler) -> None:
    path = compile("other", MAIN + "void work(void) {}")
    content = bytearray(path.read_bytes())
    content[18:20] = (243).to_bytes(2, "little")  # e_machine: EM_RISCV
    path.unlink()
    path.write_bytes(content)
    path.chmod(0o755)
    found = doctor(path)
    assert problems(found) == ["other"]
    assert "another processor (riscv, 64 bits)" in of(found, "other").text


# --- the run itself ------------------------------------------------------------------------------


def test_no_such_command(doctor: Doctor) -> None:
    (found,) = doctor("no-such-command")
    assert (found.check, found.level) == ("command", Level.PROBLEM)


def test_a_file_that_is_no_program(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"\x7fEL")
    (tmp_path / "data").chmod(0o755)
    (found,) = doctor(tmp_path / "data")
    assert "is no program" in found.text


def test_a_command_without_routines(doctor: Doctor) -> None:
    found = doctor("true")
    assert [(f.check, f.level) for f in found] == [("calls", Level.NOTE)]
    assert "no library of such routines was opened" in found[0].text


def test_a_command_that_fails(doctor: Doctor) -> None:
    found = doctor("sh", "-c", "echo why it failed >&2; exit 7")
    assert of(found, "run").text == "the command ended with status 7: why it failed"


def test_a_command_that_goes_on(doctor: Doctor, compile: Compiler, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"trap '' TERM; echo $$ > {pid}; while :; do sleep 0.1; done"
    found = doctor("sh", "-c", script, seconds=0.5)
    assert "was stopped after" in of(found, "run").text
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_command_that_binds_and_does_not_call(doctor: Doctor, compile: Compiler) -> None:
    source = CALLER + "int main(int n, char** v) { if (n > 1) work(); return 0; }"
    found = doctor(compile("idle", source, "-lblas", "-Wl,-z,now"))
    assert problems(found) == []
    assert "did not call them" in of(found, "calls").text


def test_a_library_in_a_folder_with_a_blank(
    native: paths.Native, compile: Compiler, tmp_path: Path
) -> None:
    """LD_PRELOAD cannot hold such a path."""
    folder = tmp_path / "with blank"
    folder.mkdir()
    shutil.copy(native.preload, folder)
    found = Doctor(folder / native.preload.name)(compile("linked", CALLER + MAIN, "-lblas"))
    assert problems(found) == []
    assert of(found, "calls").level is Level.OK


def test_the_command_line(
    outboard: Outboard, native: paths.Native, compile: Compiler, tmp_path: Path
) -> None:
    environment = clean_environment(OUTBOARD_NATIVE_DIR=str(native.root))
    command = str(compile("static", "int main(void) { return 0; }", "-static"))
    result = outboard("doctor", "--json", "f.json", "--", command, environment=environment)
    assert result.returncode == 1
    findings = json.loads((tmp_path / "f.json").read_text())["findings"]
    (found,) = (f for f in findings if f["group"] == f"Command: {command}")
    assert (found["check"], found["level"]) == ("static", "problem")


# --- parts ---------------------------------------------------------------------------------------


def test_reads_what_the_loader_prints() -> None:
    lines = [
        "      7:\tcalling init: /opt/a b/libx.so\n",
        "      7:\tbinding file /opt/a b/libx.so [0] to /opt/liby.so [0]: normal symbol `dgemm_'\n",
        "      7:\tbinding file prog [0] to /opt/liby.so [0]: protected symbol `dgemm_' [V_1]\n",
        "      7:\tbinding file prog [0] to /opt/liby.so [0]: normal symbol `other'\n",
        # two threads at once
        "      7:\tbinding file prog [0] to /opt/libz.so [0]: normal symbol `other'"
        "      7:\tbinding file /opt/libz.so [0] to /opt/liby.so [0]: normal symbol `dgemm_'\n",
        "\n",
        "      7:\tinitialize program: prog\n",
    ]
    objects, bindings, programs = trial._parse(iter(lines), frozenset({"dgemm_"}))
    assert objects == {Path("/opt/a b/libx.so")}
    assert programs == {Path("prog")}
    assert bindings == {
        trial.Binding("/opt/a b/libx.so", "/opt/liby.so", "dgemm_"),
        trial.Binding("prog", "/opt/liby.so", "dgemm_"),
        trial.Binding("/opt/libz.so", "/opt/liby.so", "dgemm_"),
    }


@pytest.mark.parametrize(
    ("name", "routine"),
    [
        ("dgemm_", "dgemm"),
        ("scipy_cblas_dgemm64_", "dgemm"),
        ("LAPACKE_dgesv_64", "dgesv"),
        ("dgesv_64_", "dgesv"),
        ("fftw_execute", "fftw_execute"),
    ],
)
def test_base_of_a_name(name: str, routine: str) -> None:
    assert interposition.base(name) == routine


def test_interpreters_of_scripts(tmp_path: Path) -> None:
    for name, line in (
        ("a", "#!/bin/sh -e"),
        ("b", "#!/usr/bin/env -S sh -e"),
        ("c", f"#!{tmp_path}/a"),
    ):
        (tmp_path / name).write_text(line + "\n")
        (tmp_path / name).chmod(0o755)
        assert program.executable(str(tmp_path / name)) in (Path("/bin/sh"), Path("/usr/bin/sh"))


def test_what_is_no_elf_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    (tmp_path / "b").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(20))
    assert [elf.read(tmp_path / name) for name in "abc"] == [None, None, None]
    assert list(elf.marks(tmp_path / "none")) == []
