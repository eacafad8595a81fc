#!/usr/bin/env python3
"""Fetches the headers of NVIDIA's CUDA libraries, to build the cuda backend without a toolkit.

NVIDIA's wheels contain headers and libraries. Only the headers are kept (a few MB): the backend
opens the libraries at run time, and a machine without an accelerator needs none.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

# The parts of the toolkit 13.0.2 whose headers we include (cuSOLVER's headers need cuSPARSE's).
TOOLKIT = "13.0.2"
PACKAGES = {
    "nvidia-cuda-runtime": "13.0.96",
    "nvidia-cuda-crt": "13.0.88",
    "nvidia-cuda-nvrtc": "13.0.88",
    "nvidia-cusparse": "12.6.3.3",
    "nvidia-cusolver": "12.0.4.66",
    "nvidia-cufft": "12.0.0.61",
    "nvidia-cublas": "13.1.0.3",
}
# The headers without which the backend does not compile.
NEEDED = ("cuda.h", "cuda_runtime_api.h", "cublas_v2.h", "cufft.h", "cusolverDn.h", "nvrtc.h")


class FetchError(Exception):
    """The headers cannot be fetched. The message names the missing part and the reason."""


def download(package: str, version: str, folder: Path) -> Path:
    """Downloads one wheel into an empty folder, through pip."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    command += [
        "--only-binary",
        ":all:",
        "--no-cache-dir",
        "--dest",
        str(folder),
        f"{package}=={version}",
    ]
    if subprocess.run(command, check=False).returncode != 0:
        raise FetchError(
            f"pip cannot download {package} {version} (see above); is there a network?"
        )
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(
            f"pip downloaded {len(wheels)} wheels for {package} {version} instead of one"
        )
    return wheels[0]


def header_path(member: str) -> PurePosixPath | None:
    """Returns the place of a member of a wheel below include/; None if it is no header."""
    parts = PurePosixPath(member).parts
    if member.endswith("/") or "include" not in parts or ".." in parts:
        return None
    return PurePosixPath(*parts[parts.index("include") + 1 :])


def unpack_headers(wheel: Path, into: Path) -> int:
    """Copies the headers of a wheel. Returns their number."""
    count = 0
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            path = header_path(member)
            if path is None:
                continue
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            count += 1
    return count


def stamp_text() -> str:
    """Returns the unpacked versions. A later run with other versions fetches again."""
    return "".join(f"{package}=={version}\n" for package, version in PACKAGES.items())


def is_complete(folder: Path) -> bool:
    """Returns true if an earlier run unpacked the same versions."""
    stamp = folder / "versions.txt"
    return stamp.is_file() and stamp.read_text() == stamp_text()


def fetch(folder: Path) -> None:
    """Fills FOLDER/include. A build never finds an incomplete folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as work:
        include = Path(work) / "include"
        for package, version in PACKAGES.items():
            wheels = Path(work) / "wheel"
            wheels.mkdir()
            wheel = download(package, version, wheels)
            count = unpack_headers(wheel, include)
            shutil.rmtree(wheels)
            if count == 0:
                raise FetchError(f"there are no headers in {wheel.name}; has its layout changed?")
            print(f"{package} {version}: {count} headers", flush=True)
        missing = [name for name in NEEDED if not (include / name).is_file()]
        if missing:
            raise FetchError(f"no package holds {', '.join(missing)}; have the headers moved?")
        shutil.rmtree(folder / "include", ignore_errors=True)
        include.rename(folder / "include")
    (folder / "versions.txt").write_text(stamp_text())


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=f"Fetches the headers of NVIDIA's CUDA toolkit {TOOLKIT} with pip.",
        epilog="About 1.1 GB are downloaded, a package at a time, and a few MB kept. "
        "CMake looks in build/cuda.",
    )
    parser.add_argument(
        "--into", type=Path, required=True, metavar="DIR", help="headers go to DIR/include"
    )
    parser.add_argument("--force", action="store_true", help="fetch again what is there")
    return parser.parse_args()


def main() -> int:
    """Returns the exit status."""
    options = parse()
    folder: Path = options.into
    if is_complete(folder) and not options.force:
        print(f"{folder / 'include'} has the headers of CUDA {TOOLKIT}")
        return 0
    try:
        fetch(folder)
    except (FetchError, OSError, zipfile.BadZipFile) as error:
        print(f"cuda_headers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
