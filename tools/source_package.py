"""Fetches the source package of a Debian package through apt.

apt gets a source list, package lists and a cache of its own inside the folder of the caller, so
that the system's package state does not change. Fetched files are kept and found again.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path


class MissingError(Exception):
    """A needed part is not available here. The message gives the reason."""


def run(command: list[str], cwd: Path, log: Path) -> None:
    """Runs a command with its output in `log`. If it fails, raises MissingError with the end of the
    log."""
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


def codename(os_release: Path = Path("/etc/os-release")) -> str:
    """Returns the distribution's release name, with which its own suites start."""
    text = os_release.read_text(encoding="utf-8")
    match = re.search(r"^VERSION_CODENAME=\"?([^\"\n]+)", text, re.MULTILINE)
    if not match:
        raise MissingError(f"{os_release} names no release (not a Debian system?)")
    return match.group(1)


def stanzas(text: str) -> list[dict[str, str]]:
    """Returns the fields of a .sources file, one dictionary per stanza."""
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


def source_lines(release: str, etc: Path = Path("/etc/apt")) -> list[str]:
    """Returns deb-src lines for the distribution's own suites, from the servers that this system
    uses.
    """
    found = []
    for path in sorted(etc.glob("sources.list.d/*.sources")):
        for fields in stanzas(path.read_text(encoding="utf-8")):
            suites = [s for s in fields.get("suites", "").split() if s.startswith(release)]
            signed_by = fields.get("signed-by", "")
            options = f"[signed-by={signed_by}] " if signed_by.startswith("/") else ""
            components = fields.get("components", "main")
            for uri in fields.get("uris", "").split():
                found += [f"deb-src {options}{uri} {suite} {components}" for suite in suites]
    for path in [etc / "sources.list", *sorted(etc.glob("sources.list.d/*.list"))]:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        pattern = rf"^deb(?:-src)?\s+((?:\[[^\]]*\]\s+)?\S+\s+{release}\S*\s+.*)$"
        found += [f"deb-src {match}" for match in re.findall(pattern, text, re.MULTILINE)]
    if not found:
        raise MissingError(f"no package source of {release} is configured in {etc}")
    return list(dict.fromkeys(found))


def _download(package: str, work: Path, log: Path) -> Path:
    """Returns the archive of the original sources."""
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
    run([*apt, "source", "--download-only", package], work, log)
    archives = sorted(work.glob(f"{package}_*.orig.tar.*"))
    if not archives:
        raise MissingError(f"the source package of {package} holds no .orig.tar archive")
    return archives[-1]


def unpack(archive: Path, folder: Path) -> Path:
    """Unpacks into `folder`, which appears only when it is complete. Returns the content of the
    archive, or the only folder in it."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(partial, filter="data")
        else:
            tar.extractall(partial)
    partial.rename(folder)
    return top(folder)


def top(folder: Path) -> Path:
    inside = sorted(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def source(package: str, work: Path, log: Path) -> Path:
    """Returns the folder with the unpacked sources of `package`. Fetches them into `work` unless
    they exist there."""
    folder = work / f"{package}-source"
    if folder.is_dir():
        return top(folder)
    work.mkdir(parents=True, exist_ok=True)
    try:
        return unpack(_download(package, work, log), folder)
    except (OSError, tarfile.TarError) as error:
        raise MissingError(f"the source package of {package} cannot be unpacked: {error}") from None
