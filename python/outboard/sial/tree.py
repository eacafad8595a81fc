"""The syntax tree. The phases behind the parser fill the fields that have defaults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from outboard.sial.source import Place
from outboard.sial.symbols import Array, Index, Special, Symbol


@dataclass(slots=True, eq=False)
class Name:
    """A name that the source mentions. The phase names.py looks `symbol` up."""

    text: str
    place: Place
    symbol: Symbol | None = None


# --- expressions -------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Expression:
    place: Place
    depth: int = field(default=1, kw_only=True)
    grouped: bool = field(default=False, kw_only=True)  # it stands in parentheses


@dataclass(slots=True, eq=False)
class IntNumber(Expression):
    value: int


@dataclass(slots=True, eq=False)
class RealNumber(Expression):
    value: float


@dataclass(slots=True, eq=False)
class Text(Expression):
    value: str


@dataclass(slots=True, eq=False)
class NameUse(Expression):
    name: Name


@dataclass(slots=True, eq=False)
class Item:
    """One position between brackets: `i`, `(index) i`, `*`, `expression`, `expression:upper`."""

    place: Place
    index: Name | None = None
    cast: bool = False
    star: bool = False
    lower: Expression | None = None
    upper: Expression | None = None

    @property
    def selected(self) -> Index:
        """The index, after the names were found."""
        assert self.index is not None and isinstance(self.index.symbol, Index)
        return self.index.symbol


@dataclass(slots=True, eq=False)
class Reference(Expression):
    """A block `a[i,j]`, the selector of an allocate `a[i,*]`, or a region `a[1:2,3:4]`."""

    name: Name
    items: list[Item]
    parentheses: bool = False  # the older spelling `a(i,j)`
    slice: bool = False  # it selects a part of a block by subindices
    wrong: bool = False  # a mistake was reported, so nothing else is said about it

    @property
    def region(self) -> bool:
        return self.items[0].upper is not None

    @property
    def array(self) -> Array:
        """The array, after the names were found."""
        assert isinstance(self.name.symbol, Array)
        return self.name.symbol


@dataclass(slots=True, eq=False)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression
    operator_place: Place


@dataclass(slots=True, eq=False)
class Negate(Expression):
    operand: Expression


@dataclass(slots=True, eq=False)
class SquareRoot(Expression):
    operand: Expression


@dataclass(slots=True, eq=False)
class Cast(Expression):
    to: str  # int, scalar, index
    operand: Expression


@dataclass(slots=True, eq=False)
class Relation:
    place: Place
    operator: str
    left: Expression
    right: Expression
    ints: bool = False


@dataclass(slots=True, eq=False)
class Form:
    """The form of a statement that computes. `kind` is the operation of byte code, and `blocks` are
    the operands on the right."""

    kind: str
    value: Expression | None = None
    blocks: list[Reference] = field(default_factory=list)


# --- declarations ------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Declaration:
    name: Name
    broken: bool = field(default=False, kw_only=True)


@dataclass(slots=True, eq=False)
class Variable(Declaration):
    kind: str  # int, scalar
    initial: Expression | None
    modifier: Name | None = None


@dataclass(slots=True, eq=False)
class ArrayDeclaration(Declaration):
    storage: str
    indices: list[Name]
    modifier: Name | None = None


@dataclass(slots=True, eq=False)
class IndexDeclaration(Declaration):
    kind: str  # aoindex .. laindex, index
    table: str | None
    lower: Expression | Name
    upper: Expression | Name
    modifier: Name | None = None


@dataclass(slots=True, eq=False)
class SubindexDeclaration(Declaration):
    parent: Name


@dataclass(slots=True, eq=False)
class SpecialDeclaration(Declaration):
    intents: Name | None


@dataclass(slots=True, eq=False)
class ProcDeclaration(Declaration):
    body: list[Statement]


@dataclass(slots=True, eq=False)
class Proc(Symbol):
    """The object that a ProcDeclaration declares."""

    body: list[Statement] = field(default_factory=list)

    sort = "a proc"


@dataclass(slots=True, eq=False)
class UnknownDeclaration(Declaration):
    """A declaration that could not be parsed. Its name is known, so its uses are no mistakes."""


# --- statements --------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Statement:
    place: Place
    broken: bool = field(default=False, kw_only=True)  # a mistake was reported


@dataclass(slots=True, eq=False)
class Loop(Statement):
    """`do i`, `do ii in i`, `pardo i, j`."""

    word: str
    indices: list[Name]
    parent: Name | None = None
    schedule: Text | None = None
    where: list[Where] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)

    @property
    def symbols(self) -> list[Index]:
        return [name.symbol for name in self.indices if isinstance(name.symbol, Index)]


@dataclass(slots=True, eq=False)
class Where(Statement):
    relation: Relation


@dataclass(slots=True, eq=False)
class Section(Statement):
    body: list[Statement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class GpuRegion(Statement):
    body: list[Statement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class If(Statement):
    relation: Relation | None
    then: list[Statement] = field(default_factory=list)
    otherwise: list[Statement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Call(Statement):
    name: Name

    @property
    def proc(self) -> Proc | None:
        return self.name.symbol if isinstance(self.name.symbol, Proc) else None


@dataclass(slots=True, eq=False)
class Simple(Statement):
    """return, stop, exit, cycle, sip_barrier, server_barrier."""

    word: str


@dataclass(slots=True, eq=False)
class Assign(Statement):
    target: NameUse | Reference
    operator: str
    value: Expression
    form: Form | None = None


@dataclass(slots=True, eq=False)
class Release(Statement):
    """The block of a temp is not used again. The optimiser adds this; there is no such word."""

    target: Reference


@dataclass(slots=True, eq=False)
class Put(Statement):
    word: str
    target: Reference
    operator: str
    value: Expression
    form: Form | None = None


@dataclass(slots=True, eq=False)
class Get(Statement):
    word: str
    target: Reference


@dataclass(slots=True, eq=False)
class WholeArray(Statement):
    """create, delete, destroy."""

    word: str
    name: Name


@dataclass(slots=True, eq=False)
class Allocate(Statement):
    """allocate, deallocate. The target is a bare name or a selector, or a region if contiguous."""

    word: str
    contiguous: bool
    target: NameUse | Reference


@dataclass(slots=True, eq=False)
class Collective(Statement):
    name: Name
    operator: str
    value: Expression


@dataclass(slots=True, eq=False)
class AssertSame(Statement):
    name: Name


@dataclass(slots=True, eq=False)
class Broadcast(Statement):
    worker: Expression
    name: Name


@dataclass(slots=True, eq=False)
class Print(Statement):
    word: str
    value: Expression


@dataclass(slots=True, eq=False)
class Execute(Statement):
    name: Name
    arguments: list[Expression]

    @property
    def special(self) -> Special | None:
        return self.name.symbol if isinstance(self.name.symbol, Special) else None


@dataclass(slots=True, eq=False)
class Persist(Statement):
    """set_persistent, restore_persistent."""

    word: str
    name: Name
    label: Text


@dataclass(slots=True, eq=False)
class GpuHint(Statement):
    """gpu_allocate, gpu_free, gpu_put, gpu_get, which have no effect."""

    word: str
    argument: Expression


@dataclass(slots=True, eq=False)
class Import:
    file: Text


@dataclass(slots=True, eq=False)
class Module:
    """One file. `program` is None if its first line could not be read."""

    source: int
    program: Name | None = None
    imports: list[Import] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    direct: list[Module] = field(default_factory=list)  # the modules that it imports
    incomplete: bool = False  # an import is missing, so names may be declared there


def bodies(statement: Statement) -> list[list[Statement]]:
    """Returns the lists of statements inside `statement`."""
    match statement:
        case Loop() | Section() | GpuRegion():
            return [statement.body]
        case If():
            return [statement.then, statement.otherwise]
    return []


def walk(body: list[Statement]) -> Iterator[Statement]:
    """Yields all statements of `body`, outer ones first, in the order of the source."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from walk(inner)
