"""Builds FFTW's own test program `bench` against the system's FFTW library, in double and in float.

The source package comes through apt, but with a source list, package lists and a cache of our own
inside the build folder, so that the system's package state stays as it is. Finished programs are
kept and reused.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tarfile


class MissingError(Exception):
    """The bench program cannot be made here; the message says why."""


def run(command: list[str], cwd: pathlib.Path, log: pathlib.Path) -> None:
    """Runs a command with its output in `log`; MissingError with the end of the log if it fails."""
    with log.open("ab") as out:
        out.write(f"\n$ {shlex.join(command)}\n".encode())
        out.flush()
        try:
            code = subprocess.run(
                command, cwd=cwd, stdout=out, stderr=out, stdin=subprocess.DEVNULL, timeout=900
            ).returncode
        except FileNotFoundError:
            raise MissingError(f"{command[0]} is not installed") from None
        except subprocess.TimeoutExpired:
            raise MissingError(f"{command[0]} did not finish in 900 s, see {log}") from None
    if code != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise MissingError(f"{shlex.join(command[:3])} ... failed ({code}), see {log}:\n{tail}")


def codename() -> str:
    """The distribution's release name, which its own suites start with."""
    text = pathlib.Path("/etc/os-release").read_text()
    match = re.search(r"^VERSION_CODENAME=\"?([^\"\n]+)", text, re.MULTILINE)
    if not match:
        raise MissingError("/etc/os-release names no release (not a Debian system?)")
    return match.group(1)


def stanzas(text: str) -> list[dict[str, str]]:
    """Fields of a .sources file, one dictionary per stanza."""
    result = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        fields: dict[str, str] = {}
        for line in lines:
            if ":" in line and not line[0].isspace():
                key, value = line.split(":", 1)
                fields[key.strip().lower()] = value.strip()
        if fields:
            result.append(fields)
    return result


def source_lines(release: str) -> list[str]:
    """deb-src lines for the distribution's own suites, from wherever this system takes its
    packages.
    """
    found = []
    etc = pathlib.Path("/etc/apt")
    for path in sorted(etc.glob("sources.list.d/*.sources")):
        for fields in stanzas(path.read_text()):
            suites = [s for s in fields.get("suites", "").split() if s.startswith(release)]
            options = (
                f"[signed-by={fields['signed-by']}] "
                if fields.get("signed-by", "").startswith("/")
                else ""
            )
            for uri in fields.get("uris", "").split():
                for suite in suites:
                    found.append(
                        f"deb-src {options}{uri} {suite} {fields.get('components', 'main')}"
                    )
    for path in [etc / "sources.list", *sorted(etc.glob("sources.list.d/*.list"))]:
        text = path.read_text() if path.exists() else ""
        pattern = rf"^deb(?:-src)?\s+((?:\[[^\]]*\]\s+)?\S+\s+{release}\S*\s+.*)$"
        found += [f"deb-src {match}" for match in re.findall(pattern, text, re.MULTILINE)]
    if not found:
        raise MissingError(f"no package source of {release} is configured in /etc/apt")
    return list(dict.fromkeys(found))


def fetch(work: pathlib.Path, log: pathlib.Path) -> pathlib.Path:
    """Downloads and unpacks the source package; the folder of its sources."""
    private = work / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (private / folder).mkdir(parents=True, exist_ok=True)
    (private / "sources.list").write_text("\n".join(source_lines(codename())) + "\n")
    options = {
        "Dir::Etc::sourcelist": private / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": private / "lists",
        "Dir::Cache": private / "cache",
        # The sandbox user could not write into a build folder under a private home.
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", *(f"-o{key}={value}" for key, value in options.items())]
    run([*apt, "update"], work, log)
    run([*apt, "source", "--download-only", "fftw3"], work, log)
    archives = sorted(work.glob("fftw3_*.orig.tar.*"))
    if not archives:
        raise MissingError("the source package of fftw3 holds no .orig.tar archive")
    with tarfile.open(archives[-1]) as archive:
        archive.extractall(work, filter="data") if hasattr(
            tarfile, "data_filter"
        ) else archive.extractall(work)
    return next(path for path in sorted(work.glob("fftw-3*")) if path.is_dir())


def build(source: pathlib.Path, work: pathlib.Path, name: str, log: pathlib.Path) -> None:
    """Compiles bench from FFTW's files and links it with the system's shared library."""
    single = name == "benchf"
    folder = work / f"build_{name}"
    folder.mkdir(exist_ok=True)
    options = ["--disable-fortran", "--disable-doc", "--enable-shared", "--disable-static"]
    run([str(source / "configure"), *options, *(["--enable-float"] if single else [])], folder, log)
    run(["make", "-j2", "-C", "libbench2"], folder, log)
    run(["make", "-j2", "-C", "tests", "bench.o", "hook.o", "fftw-bench.o"], folder, log)
    library = "-lfftw3f" if single else "-lfftw3"
    objects = [f"tests/{name}.o" for name in ("bench", "hook", "fftw-bench")]
    run(
        ["cc", "-o", str(work / name), *objects, "libbench2/libbench2.a", library, "-lm"],
        folder,
        log,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=pathlib.Path, required=True, help="folder for everything made here"
    )
    work: pathlib.Path = parser.parse_args().work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.environ.pop("LD_PRELOAD", None)
    missing = [name for name in ("bench", "benchf") if not (work / name).exists()]
    if not missing:
        print(f"bench is there already ({work})")
        return 0
    log = work / "build.log"
    try:
        unpacked = [path for path in sorted(work.glob("fftw-3*")) if (path / "configure").exists()]
        source = unpacked[0] if unpacked else fetch(work, log)
        for name in missing:
            build(source, work, name, log)
    except (MissingError, OSError, tarfile.TarError) as reason:
        print(f"FFTW's bench cannot be built ({reason})", file=sys.stderr)
        return 1
    print(f"built {', '.join(missing)} in {work}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
