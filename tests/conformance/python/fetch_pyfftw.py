"""Fetches, once, the tests and the tutorial of the pyFFTW in its virtual environment.

They are only in the source archive. No other part of it is unpacked, because a folder `pyfftw`
beside the tests would be imported instead of the installed one.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from make_venv_with_pytest import PYFFTW


def unpack(archive: pathlib.Path, folder: pathlib.Path) -> None:
    """Makes `folder` with tests/ and tutorial.rst. The folder appears when it is complete."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
        top = next(pathlib.Path(partial).iterdir())
        wanted = pathlib.Path(partial, "wanted")
        wanted.mkdir()
        (top / "tests").rename(wanted / "tests")
        (top / "docs/source/tutorial.rst").rename(wanted / "tutorial.rst")
        shutil.rmtree(folder, ignore_errors=True)
        wanted.rename(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    venv: pathlib.Path = parser.parse_args().build.resolve() / "venvs" / "pyfftw_pytest"
    folder = venv / "sources" / PYFFTW
    if (folder / "tutorial.rst").exists():
        print(f"{folder} is there already")
        return 0
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=venv) as download:
        options = ["--quiet", "--no-deps", "--no-binary=pyfftw", "--dest", download]
        command = [str(venv / "bin" / "python"), "-m", "pip", "download", *options, PYFFTW]
        code = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=800).returncode
        archives = sorted(pathlib.Path(download).glob("*.tar.gz"))
        if code != 0 or len(archives) != 1:
            print(f"the sources of {PYFFTW} cannot be had (pip: {code})", file=sys.stderr)
            return 1
        unpack(archives[0], folder)
    print(f"unpacked {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
