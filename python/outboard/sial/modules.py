"""Reads a program and the files that it imports."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from outboard.errors import OutboardError
from outboard.sial import tree
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.parse import parse
from outboard.sial.source import Place, Source
from outboard.sial.structure import Structure


@dataclass(slots=True)
class Reader:
    """Reads files. `folders` are searched for imports behind the folder of the importing file."""

    diagnostics: Diagnostics
    folders: list[Path]
    sources: list[Source] = field(default_factory=list)
    modules: list[tree.Module] = field(default_factory=list)  # imported ones first
    _done: dict[Path, tree.Module] = field(default_factory=dict)
    _open: list[tuple[Path, Place | None]] = field(default_factory=list)

    def read(self, path: Path, name: str) -> tree.Module:
        """Returns the module of a file, after those that it imports."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise OutboardError(f"cannot read {path} ({error.strerror})", exit_code=2) from error
        return self.take(path.resolve(), name, data, None)

    def take(self, path: Path, name: str, data: bytes, importer: Place | None) -> tree.Module:
        """Parses the contents of a file."""
        source = Source(len(self.sources), name, path, _decoded(data), data)
        self.sources.append(source)
        self._check_encoding(source)
        self._open.append((path, importer))
        module = Structure(source, self.diagnostics).build(parse(source, self.diagnostics))
        self._done[path] = module
        for one in module.imports:
            imported = self._import(one, path)
            module.incomplete |= imported is None
            if imported and imported not in module.direct:
                module.direct.append(imported)
        self._open.pop()
        self.modules.append(module)
        if importer is not None:
            self._check_imported(module)
        return module

    def _check_encoding(self, source: Source) -> None:
        try:
            source.data.decode("utf-8")
        except UnicodeDecodeError as error:
            before = len(source.data[: error.start].decode("utf-8").removeprefix("\ufeff"))
            text = "a byte that is no UTF-8 (sources are UTF-8 text) store the file as UTF-8"
            self.diagnostics.add("S001", source.place(before), text)

    def _import(self, one: tree.Import, importing: Path) -> tree.Module | None:
        place, wanted = one.file.place, one.file.value
        path = self._search(wanted, importing.parent)
        if path is None:
            looked = ", ".join(str(folder) for folder in [importing.parent, *self.folders])
            text = f'"{wanted}" is not found (looked in {looked}) add --path FOLDER'
            self.diagnostics.add("S104", place, text)
            return None
        opened = [path for path, _ in self._open]
        if path in opened:
            notes = [
                Note("imported here", at) for _, at in self._open[opened.index(path) + 1 :] if at
            ]
            text = f'"{wanted}" imports itself (through the files in between) remove one import'
            self.diagnostics.add("S105", place, text, *notes)
            return None
        if path in self._done:
            return self._done[path]
        try:
            data = path.read_bytes()
        except OSError as error:
            text = f'"{wanted}" cannot be read ({error.strerror})'
            self.diagnostics.add("S104", place, text)
            return None
        return self.take(path, str(path), data, place)

    def _search(self, wanted: str, beside: Path) -> Path | None:
        if not wanted or "\0" in wanted:
            return None
        for folder in [beside, *self.folders]:
            try:
                path = (folder / wanted).resolve()
                if path.is_file():
                    return path
            except (OSError, RuntimeError):
                continue
        return None

    def _check_imported(self, module: tree.Module) -> None:
        if module.body:
            text = (
                "an imported file holds statements (it may hold declarations and procs) move them "
                "into a proc"
            )
            self.diagnostics.add("S107", module.body[0].place, text)
            module.body.clear()


def _decoded(data: bytes) -> str:
    """Returns the text with a mark in place of wrong bytes, which the encoding check reports."""
    return data.decode("utf-8", errors="replace").removeprefix("\ufeff")
