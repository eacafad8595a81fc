"""Makes a virtual environment with given packages inside the build folder, once."""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

PACKAGES = {
    # The last NumPy and SciPy with the older families: dgemm64_ (ILP64) and plain dgemm_ (LP64).
    "numpy1": ["numpy==1.26.4", "scipy==1.11.4"],
    # These have scipy_dgemm64_ (ILP64) and scipy_dgemm_ (LP64).
    "numpy2": ["numpy>=2.3,<3", "scipy>=1.16,<2"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--name", choices=sorted(PACKAGES), required=True)
    arguments = parser.parse_args()
    folder = arguments.build.resolve() / "venvs" / arguments.name
    stamp = folder / "complete.json"
    wanted = PACKAGES[arguments.name]
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        print(f"{folder} is there already")
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    install = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary=:all:",
        *wanted,
    ]
    for command in ([sys.executable, "-m", "venv", str(folder)], install):
        code = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=800).returncode
        if code != 0:
            print(
                f"cannot make {folder} ({' '.join(command[:4])} ... failed with {code})",
                file=sys.stderr,
            )
            return 1
    stamp.write_text(json.dumps(wanted))
    print(f"made {folder} with {', '.join(wanted)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
