"""Builds the declarations, statements and lines from the rules of grammar.lark."""

from __future__ import annotations

from typing import Any

from lark import Token

from outboard.sial import tree
from outboard.sial.build_expressions import ExpressionBuilder
from outboard.sial.lines import Line


def _ids(parts: list[Any]) -> list[Token]:
    return [one for one in parts if isinstance(one, Token) and one.type == "ID"]


class Builder(ExpressionBuilder):
    """The callbacks of the parser."""

    # --- declarations --------------------------------------------------------------------------

    def variable(self, parts: list[Any]) -> tree.Declaration:
        kind, name, *rest = parts
        initial = rest[-1] if rest else None
        return tree.Variable(self.declared(name), str(kind), initial)

    def array(self, parts: list[Any]) -> tree.Declaration:
        return tree.ArrayDeclaration(self.declared(parts[1]), str(parts[0]), parts[2])

    def old_array(self, parts: list[Any]) -> tree.Declaration:
        self.older(parts[1], f"`{parts[1]}(..)`", f"`{parts[1]}[..]`")
        return self.array(parts)

    def index(self, parts: list[Any]) -> tree.Declaration:
        names = _ids(parts)
        table = str(names[1]) if len(names) > 1 else None
        lower, upper = parts[-2:]
        return tree.IndexDeclaration(self.declared(names[0]), str(parts[0]), table, lower, upper)

    def old_index(self, parts: list[Any]) -> tree.Declaration:
        self.older(parts[1], "a range with a comma", "`lower:upper`")
        return self.index(parts)

    def modified(self, parts: list[Any]) -> tree.Declaration:
        parts[1].modifier = self.make_name(parts[0])
        return parts[1]  # type: ignore[no-any-return]

    def subindex(self, parts: list[Any]) -> tree.Declaration:
        name, parent = _ids(parts)
        return tree.SubindexDeclaration(self.declared(name), self.make_name(parent))

    def special(self, parts: list[Token]) -> tree.Declaration:
        intents = self.make_name(parts[2]) if len(parts) > 2 else None
        return tree.SpecialDeclaration(self.declared(parts[1]), intents)

    # --- statements ----------------------------------------------------------------------------

    def call(self, parts: list[Token]) -> tree.Statement:
        return tree.Call(self.place(parts[0]), self.make_name(parts[1]))

    def simple(self, parts: list[Token]) -> tree.Statement:
        return tree.Simple(self.place(parts[0]), str(parts[0]))

    def barrier(self, parts: list[Token]) -> tree.Statement:
        if len(parts) > 1:
            self._no_counterpart(parts[1], f"`{parts[0]}` takes no name", f"`{parts[0]}` alone")
        return self.simple(parts)

    def _no_counterpart(self, token: Token, problem: str, write: str) -> None:
        self.diagnostics.add(
            "S008",
            self.place(token),
            f"{problem} (the older form has no counterpart) write {write}",
        )

    def assign(self, parts: list[Any]) -> tree.Statement:
        target, operator, value = parts
        return tree.Assign(target.place, target, str(operator), value)

    def put(self, parts: list[Any]) -> tree.Statement:
        word, target, operator, value = parts
        return tree.Put(self.place(word), str(word), target, str(operator), value)

    def get(self, parts: list[Any]) -> tree.Statement:
        word, target, *names = parts
        if names:
            what = f"`{word}` takes one block"
            self._no_counterpart(names[0], what, "the block alone")
        return tree.Get(self.place(word), str(word), target)

    def whole_array(self, parts: list[Any]) -> tree.Statement:
        word, target = parts
        if isinstance(target, tree.Reference):
            name = target.name
            self.diagnostics.add(
                "S008",
                self.place(word),
                f"`{word}` takes a whole array (the older form with a selector has no "
                f"counterpart) write `{word} {name.text}`",
            )
            return tree.WholeArray(self.place(word), str(word), name, broken=True)
        return tree.WholeArray(self.place(word), str(word), target.name)

    def allocate(self, parts: list[Any]) -> tree.Statement:
        word, target = parts[0], parts[-1]
        return tree.Allocate(self.place(word), str(word), len(parts) > 2, target)

    def collective(self, parts: list[Any]) -> tree.Statement:
        word, name, operator, value = parts
        return tree.Collective(self.place(word), self.make_name(name), str(operator), value)

    def assert_same(self, parts: list[Any]) -> tree.Statement:
        return tree.AssertSame(self.place(parts[0]), self.make_name(parts[1]))

    def broadcast(self, parts: list[Any]) -> tree.Statement:
        word, worker, name = parts
        return tree.Broadcast(self.place(word), worker, self.make_name(name))

    def print(self, parts: list[Any]) -> tree.Statement:
        return tree.Print(self.place(parts[0]), str(parts[0]), parts[1])

    def old_print(self, parts: list[Any]) -> tree.Statement:
        self.older(parts[0], f"`{parts[0]}`", "`println`")
        return tree.Print(self.place(parts[0]), "println", parts[1])

    def execute(self, parts: list[Any]) -> tree.Statement:
        word, name, *arguments = parts
        return tree.Execute(self.place(word), self.make_name(name), arguments)

    def persist(self, parts: list[Any]) -> tree.Statement:
        word, name, label = parts
        text = self.text([label])
        return tree.Persist(self.place(word), str(word), self.make_name(name), text)

    def gpu_hint(self, parts: list[Any]) -> tree.Statement:
        return tree.GpuHint(self.place(parts[0]), str(parts[0]), parts[1])

    # --- lines that structure.py nests ---------------------------------------------------------

    def _line(self, parts: list[Any]) -> Line:
        line = Line(str(parts[0]), self.place(parts[0]))
        for part in parts[1:]:
            if isinstance(part, tree.Relation):
                line.relation = part
            elif isinstance(part, list):
                line.names = part
            elif part.type == "ID":
                line.names.append(self.make_name(part))
            elif part.type == "TEXT":
                line.text = self.text([part])
        return line

    import_line = sial_line = endsial_line = endproc_line = pardo_line = endpardo_line = _line
    where_line = section_line = endsection_line = if_line = else_line = endif_line = _line
    gpu_on_line = gpu_off_line = do_line = _line

    def proc_line(self, parts: list[Token]) -> Line:
        return Line(str(parts[0]), self.place(parts[0]), [self.declared(parts[1])])

    def do_in_line(self, parts: list[Token]) -> Line:
        word, index, _, parent = parts
        place = self.place(word)
        return Line(str(word), place, [self.make_name(index)], parent=self.make_name(parent))

    def enddo_line(self, parts: list[Token]) -> Line:
        names = [self.make_name(one) for one in _ids(parts)]
        parent = names.pop() if len(names) > 1 else None
        return Line(str(parts[0]), self.place(parts[0]), names, parent=parent)
