"""Compiles a program: runs all phases over its files."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from outboard.sial import tree
from outboard.sial.binding import check_binding
from outboard.sial.bytecode import write
from outboard.sial.calls import CallGraph, call_graph
from outboard.sial.diagnostics import Diagnostics
from outboard.sial.emit import StatementWriter
from outboard.sial.emit_expressions import ExpressionWriter
from outboard.sial.flow import warn_flow
from outboard.sial.fuse import fuse
from outboard.sial.modules import Reader
from outboard.sial.names import resolve
from outboard.sial.narrow import note_narrowing
from outboard.sial.notes import Notes
from outboard.sial.opcodes import Op
from outboard.sial.parallel import check_parallel
from outboard.sial.pools import Pools
from outboard.sial.records import Program
from outboard.sial.release import release
from outboard.sial.scope import Scope
from outboard.sial.source import Source
from outboard.sial.statements import check
from outboard.sial.symbols import Array, Index, Int, Scalar, Special, Symbol
from outboard.sial.tree import Proc
from outboard.sial.warnings import warn

# Of optimisation. 0: none; 1: results keep their bits; 2: results are equal up to rounding.
LEVELS = (0, 1, 2)
DEFAULT_LEVEL = 2


@dataclass(frozen=True, slots=True)
class Options:
    """`folders` are searched for imports. `level` is one of LEVELS."""

    folders: tuple[Path, ...] = ()
    level: int = DEFAULT_LEVEL
    strict: bool = False
    check_only: bool = False
    compiler: str = "outboard"


@dataclass(frozen=True, slots=True)
class Result:
    """The diagnostics, and the byte code if there was no error and it was asked for."""

    diagnostics: Diagnostics
    sources: list[Source]
    code: bytes | None
    program: Program | None = None

    def render(self) -> str:
        return self.diagnostics.render(self.sources)


def compile_file(path: Path, name: str, options: Options) -> Result:
    """Compiles the program in the file `path`, which messages call `name`."""
    diagnostics = Diagnostics(strict=options.strict)
    reader = Reader(diagnostics, list(options.folders))
    reader.read(path, name)
    return _compile(reader, diagnostics, options)


def compile_text(text: str, name: str, options: Options) -> Result:
    """Compiles a text as if it were a file in the present folder."""
    diagnostics = Diagnostics(strict=options.strict)
    reader = Reader(diagnostics, list(options.folders))
    reader.take(Path(name).resolve(), name, text.encode(), None)
    return _compile(reader, diagnostics, options)


def _compile(reader: Reader, diagnostics: Diagnostics, options: Options) -> Result:
    main = reader.modules[-1]
    scopes = resolve(reader.modules, diagnostics)
    for module in reader.modules:
        for body in _bodies(module):
            check(body, diagnostics)
    procs = [
        one for scope in scopes.values() for one in scope.own.values() if isinstance(one, Proc)
    ]
    graph = call_graph(main.body, procs, diagnostics)
    check_binding(graph, diagnostics)
    check_parallel(graph, diagnostics)
    if not diagnostics.errors:
        # Behind an error, most of them would follow from it.
        warn(graph, scopes[main.source], diagnostics)
        warn_flow(graph, diagnostics)
    if diagnostics.errors or options.check_only or main.program is None:
        return Result(diagnostics, reader.sources, None)
    program = _emit(main, graph, scopes, reader.sources, diagnostics, options)
    if diagnostics.errors:
        return Result(diagnostics, reader.sources, None)
    return Result(diagnostics, reader.sources, write(program), program)


def _bodies(module: tree.Module) -> list[list[tree.Statement]]:
    procs = [one for one in module.declarations if isinstance(one, tree.ProcDeclaration)]
    return [*(one.body for one in procs), module.body]


def _emit(
    main: tree.Module,
    graph: CallGraph,
    scopes: dict[int, Scope],
    sources: list[Source],
    diagnostics: Diagnostics,
    options: Options,
) -> Program:
    assert main.program
    program = Program()
    pools = Pools(program, _qualified(scopes))
    program["program"].append(
        {
            "name": pools.string(main.program.text),
            "compiler": pools.string(options.compiler),
            "optimisation": options.level,
        }
    )
    for source in sources:
        digest = hashlib.sha256(source.data).digest()
        program["source"].append({"name": pools.string(source.name), "sha256": digest})
    notes = Notes()
    _optimise(graph, options.level, notes)
    if options.level == 0:
        _add_declared(pools, scopes)
    writer = ExpressionWriter(pools, diagnostics, notes if options.level > 0 else None)
    procs = {proc: number for number, proc in enumerate(graph.procs, start=1)}
    statements = StatementWriter(writer, procs)
    for body in graph.order:
        first = len(program["code"])
        statements.body(body.statements)
        place = body.proc.place if body.proc else main.program.place
        writer.add(Op.RETURN if body.proc else Op.HALT, place)
        name = pools.name(body.proc) if body.proc else pools.string(main.program.text)
        end = len(program["code"])
        program["proc"].append({"name": name, "first": first, "end": end})
    if options.level > 0:
        _note_dropped(pools, scopes[main.source], notes)
    for text in notes.strings():
        pools.string(text)
    return program


def _optimise(graph: CallGraph, level: int, notes: Notes) -> None:
    """Changes the bodies that run."""
    if level > 1:
        fuse(graph, notes)
    if level > 0:
        note_narrowing(graph, notes)
        release(graph, notes)


def _note_dropped(pools: Pools, scope: Scope, notes: Notes) -> None:
    """Notes the declarations of the main file that nothing in the byte code uses."""
    for symbol in scope.own.values():
        if isinstance(symbol, Int | Scalar | Index | Array | Special) and symbol not in pools:
            notes.add(symbol.place, f"dead declaration: {symbol.name} is left out")


def _add_declared(pools: Pools, scopes: dict[int, Scope]) -> None:
    """Adds all declared objects, used or not."""
    for scope in scopes.values():
        for symbol in scope.own.values():
            match symbol:
                case Int() | Scalar():
                    pools.variable(symbol)
                case Index():
                    pools.index(symbol)
                case Array():
                    pools.array(symbol)
                case Special():
                    pools.super_instruction(symbol)


def _qualified(scopes: dict[int, Scope]) -> dict[Symbol, str]:
    """Returns the full names of imported objects whose plain names are not unique."""
    symbols = {one for scope in scopes.values() for one in scope.own.values()}
    count = Counter(one.name for one in symbols)
    return {
        one: f"{one.program}.{one.name}"
        for one in symbols
        if count[one.name] > 1 and one.imported and not isinstance(one, Special)
    }
