#!/usr/bin/env python3
"""Checks that release builds may compile many files of a library as one (unity build).

The files become one translation unit, so a name in an unnamed namespace of one file is visible
in the files behind it. A second one with the same name can fail to compile or, worse, be preferred
silently where another one was meant. Such a name must therefore be unique among the .cpp files of a
library with UNITY (cmake/OutboardTargets.cmake). Equal lines, such as the same alias twice, may
repeat.

The names come from Universal Ctags.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

# Kinds of Universal Ctags: enumerator, function, class, enum, struct, typedef and alias, union,
# variable.
_KINDS = "efcgstuv"
_UNNAMED = re.compile(r"__anon\w+$")


def libraries(root: Path) -> list[Path]:
    """Returns the folders below src/ whose library is a unity build."""
    lists = sorted((root / "src").rglob("CMakeLists.txt"))
    return [path.parent for path in lists if re.search(r"\bUNITY\b", path.read_text())]


def unnamed(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Yields name, file and line of everything that an unnamed namespace of `folder` declares."""
    files = sorted(str(path) for path in folder.rglob("*.cpp"))
    if not files:
        return
    tags = subprocess.run(
        [
            *("ctags", "--options=NONE", "--languages=C++", f"--kinds-C++={_KINDS}"),
            *("--output-format=json", "--fields=+sZKP", "--sort=no", "-f", "-", *files),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    ).stdout
    for line in tags.splitlines():
        tag = json.loads(line)
        inside = tag.get("scope", "")
        if tag.get("scopeKind") == "enum" and _UNNAMED.search(inside):
            inside = inside.rpartition("::")[0]  # enumerators of an enum without a name
        elif tag.get("scopeKind") != "namespace":
            continue
        if _UNNAMED.search(inside):
            yield tag["name"], Path(tag["path"]), tag["pattern"]


def check(root: Path) -> list[str]:
    """Returns the complaints about the tree at `root`."""
    complaints = []
    for folder in libraries(root):
        places: dict[str, dict[Path, set[str]]] = defaultdict(lambda: defaultdict(set))
        for name, path, line in unnamed(folder):
            if not name.startswith("__anon"):
                places[name][path].add(line)
        for name, lines in sorted(places.items()):
            if len(lines) > 1 and len(set.union(*lines.values())) > 1:
                where = ", ".join(str(path.relative_to(root)) for path in sorted(lines))
                complaints.append(
                    f"{where}: `{name}` in unnamed namespaces of one library; "
                    "give one of them another name, or share it"
                )
    return complaints


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    complaints = check(root)
    print("\n".join(complaints) or "check_unity_names: ok")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
