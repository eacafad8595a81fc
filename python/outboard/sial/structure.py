"""Nests the lines of a file: loops, conditions, sections, procs, and the program around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.diagnostics import Diagnostics, Note
from outboard.sial.lines import Line, Parsed, Unreadable
from outboard.sial.source import Place, Source
from outboard.sial.tokens import DECLARATION_WORDS

_ENDS = {
    "endsial": "sial",
    "endproc": "proc",
    "enddo": "do",
    "endpardo": "pardo",
    "endsection": "section",
    "endif": "if",
    "gpu_off": "gpu_on",
}
_END_OF = {beginning: end for end, beginning in _ENDS.items()}
_DEEPEST = 64


@dataclass(slots=True)
class _Frame:
    """A beginning whose end has not come. `names` is None if they could not be read."""

    word: str
    place: Place
    body: list[tree.Statement]
    names: list[str] | None
    parent: str | None = None
    node: tree.Statement | None = None
    header: bool = False  # where lines may follow
    otherwise: bool = False  # else was seen
    unreadable: int = 0  # lines inside that may have been beginnings

    @property
    def text(self) -> str:
        names = " " + ", ".join(self.names) if self.names else ""
        return f"{self.word}{names}" + (f" in {self.parent}" if self.parent else "")


@dataclass(slots=True)
class Structure:
    """Builds the module of one file."""

    source: Source
    diagnostics: Diagnostics
    module: tree.Module = field(init=False)
    _frames: list[_Frame] = field(default_factory=list)
    _lines: list[Parsed] = field(default_factory=list)
    _at: int = 0  # number of the present line
    _ended: bool = False
    _unended_procs: set[str] = field(default_factory=set)

    def build(self, lines: list[Parsed]) -> tree.Module:
        """Returns the module that `lines` make."""
        self.module = tree.Module(self.source.number)
        self._lines = lines
        for self._at, line in enumerate(lines):
            self._take(line)
        last = self.source.place(len(self.source.text.rstrip()))
        if not self._frames and not self._ended and not self.diagnostics.errors:
            self._add(
                "S003", last, "the file holds no program (it is empty) begin with `sial name`"
            )
        for frame in reversed(self._frames):
            self._not_ended(frame, "the end of the file")
        return self.module

    def _add(self, code: str, place: Place, text: str, *notes: Note) -> None:
        self.diagnostics.add(code, place, text, *notes)

    def _take(self, line: Parsed) -> None:
        word = line.word if isinstance(line, Line | Unreadable) else ""
        if self._ended:
            self._after_end(line)
        elif not self._frames and word not in ("sial", "import"):
            self._before_begin(line)
        elif word in _ENDS:
            self._end(line)
        elif word == "where":
            self._where(line)
        elif word == "else":
            self._else(line)
        elif isinstance(line, tree.Declaration) or word in ("sial", "import", *DECLARATION_WORDS):
            self._declare(line)
        else:
            self._statement(line)

    # --- outside of the program ----------------------------------------------------------------

    def _after_end(self, line: Parsed) -> None:
        if self._ended and not isinstance(line, Unreadable):
            place = line.name.place if isinstance(line, tree.Declaration) else line.place
            text = "a line behind `endsial` (the program ends there) remove it"
            self._add("S003", place, text)
        self._ended = True

    def _before_begin(self, line: Parsed) -> None:
        if not isinstance(line, Unreadable):
            place = line.name.place if isinstance(line, tree.Declaration) else line.place
            text = "a line before `sial` (only imports stand there) begin with `sial name`"
            self._add("S003", place, text)
        # The rest is read as if the program had begun, so that its mistakes are reported, too.
        self._frames.append(_Frame("sial", self.source.place(0), self.module.body, None))
        self._take(line)

    # --- declarations --------------------------------------------------------------------------

    def _declare(self, line: Parsed) -> None:
        if isinstance(line, Line):
            self._beginning(line)
            return
        if isinstance(line, tree.Declaration):
            self._check_position(line.name.place, "a declaration")
            self.module.declarations.append(line)
            return
        assert isinstance(line, Unreadable)
        if line.word == "sial":
            if not self._frames:
                self._frames.append(_Frame("sial", line.place, self.module.body, None))
        elif line.word == "proc":
            self._open_proc(line.place, line.name)
        elif line.word != "import" and line.name:
            self.module.declarations.append(tree.UnknownDeclaration(line.name, broken=True))

    def _check_position(self, place: Place, what: str) -> None:
        if self._frames[-1].word == "proc" or len(self._frames) > 1:
            why = f"it stands inside `{self._frames[-1].text}`"
        elif self.module.body or self._frames[0].unreadable:
            why = "it stands behind a statement"
        else:
            return
        text = f"{what} in the wrong place ({why}) move it to the declarations at the beginning"
        self._add("S005", place, text)

    def _beginning(self, line: Line) -> None:
        if line.word == "import":
            if self._frames:
                self._add(
                    "S003",
                    line.place,
                    "an import inside of the program (imports stand before `sial`) move it there",
                )
            elif line.text:
                self.module.imports.append(tree.Import(line.text))
        elif line.word == "sial":
            if self._frames:
                self._add(
                    "S003", line.place, "a second `sial` (a file holds one program) remove it"
                )
                return
            self.module.program = line.names[0]
            names = [line.names[0].text]
            self._frames.append(_Frame("sial", line.place, self.module.body, names))
        else:
            self._open_proc(line.place, line.names[0])

    def _open_proc(self, place: Place, name: tree.Name | None) -> None:
        while len(self._frames) > 1:
            frame = self._frames.pop()
            self._not_ended(frame, "the next proc")
            if frame.word == "proc" and frame.names:
                self._unended_procs.update(frame.names)
        if self.module.body:
            text = (
                "a proc behind a statement (procs are declarations) move it before the statements"
            )
            self._add("S005", place, text)
        body: list[tree.Statement] = []
        names = [name.text] if name else None
        if name:
            self.module.declarations.append(tree.ProcDeclaration(name, body))
        self._frames.append(_Frame("proc", place, body, names))

    # --- statements ----------------------------------------------------------------------------

    def _statement(self, line: Parsed) -> None:
        frame = self._frames[-1]
        frame.header = False
        if isinstance(line, tree.Statement):
            frame.body.append(line)
            return
        assert isinstance(line, Line | Unreadable)
        if line.word not in _END_OF:
            frame.unreadable += 1
            return
        self._open(line)

    def _open(self, line: Line | Unreadable) -> None:
        if len(self._frames) == _DEEPEST:
            text = f"more than {_DEEPEST} nested statements (the compiler has this limit) use procs"
            self._add("S004", line.place, text)
        names = [one.text for one in line.names] if isinstance(line, Line) else None
        frame = _Frame(line.word, line.place, [], names)
        node: tree.Statement
        match line.word:
            case "do" | "pardo":
                node = tree.Loop(line.place, line.word, [], body=frame.body)
                frame.header = True
                if isinstance(line, Line):
                    node.indices, node.parent, node.schedule = line.names, line.parent, line.text
                    frame.parent = line.parent.text if line.parent else None
            case "if":
                relation = line.relation if isinstance(line, Line) else None
                node = tree.If(line.place, relation, then=frame.body)
            case "section":
                node = tree.Section(line.place, body=frame.body)
            case _:
                node = tree.GpuRegion(line.place, body=frame.body)
        node.broken = isinstance(line, Unreadable)
        frame.node = node
        # The error is reported, so lines that are nested deeper are not looked at.
        if len(self._frames) < _DEEPEST:
            self._frames[-1].body.append(node)
        self._frames.append(frame)

    def _where(self, line: Parsed) -> None:
        frame = self._frames[-1]
        if not frame.header or not isinstance(frame.node, tree.Loop):
            assert isinstance(line, Line | Unreadable)
            text = (
                "`where` does not follow the header of a loop (it restricts the loop) move it "
                "below `do` or `pardo`, or use `if`"
            )
            self._add("S007", line.place, text)
        elif isinstance(line, Line) and line.relation:
            frame.node.where.append(tree.Where(line.place, line.relation))

    def _else(self, line: Parsed) -> None:
        assert isinstance(line, Line | Unreadable)
        frame = self._frames[-1]
        if frame.word != "if" or frame.otherwise:
            if frame.unreadable:
                return
            where = f"inside `{frame.text}`" if frame.word != "if" else "behind another one"
            text = f"`else` without `if` (it stands {where}) remove it or end what is open"
            self._add("S006", line.place, text)
            return
        assert isinstance(frame.node, tree.If)
        frame.otherwise = True
        frame.body = frame.node.otherwise

    # --- ends ----------------------------------------------------------------------------------

    def _end(self, line: Parsed) -> None:
        assert isinstance(line, Line | Unreadable)
        word = _ENDS[line.word]
        match = next((one for one in reversed(self._frames) if one.word == word), None)
        if match is not None and isinstance(line, Line):
            match = self._likelier(line, match)
        if match is None or (
            word in ("do", "pardo", "if", "section", "gpu_on")
            and self._better_unmatched(line, match)
        ):
            self._unmatched(line, word)
            return
        while self._frames[-1] is not match:
            self._not_ended(self._frames.pop(), f"`{line.word}`")
        self._frames.pop()
        self._ended = word == "sial"
        if isinstance(line, Line) and match.names is not None:
            self._compare(line, match)

    def _likelier(self, line: Line, match: _Frame) -> _Frame:
        """Returns the beginning that an end with other names belongs to.

        In `do i`, `do j`, `enddo i`, an end is missing, or its name is wrong. The name is wrong if
        the next end has the name of the outer loop again."""
        names = [one.text for one in line.names]
        if match.names is None or names == match.names or not names:
            return match
        outer = [one for one in self._frames if one.word == match.word and one.names == names]
        if not outer or self._next_end(line.word) == names:
            return match
        return outer[-1]

    def _next_end(self, end: str) -> list[str] | None:
        """Returns the names of the next `end` outside of what begins behind the present line."""
        depth = 0
        for one in self._lines[self._at + 1 :]:
            word = one.word if isinstance(one, Line | Unreadable) else ""
            if word in ("proc", "endproc", "endsial"):
                return None
            if word == _ENDS[end]:
                depth += 1
            elif word == end and depth:
                depth -= 1
            elif word == end:
                return [name.text for name in one.names] if isinstance(one, Line) else None
        return None

    def _better_unmatched(self, line: Line | Unreadable, match: _Frame) -> bool:
        """True if the beginning of this end is likelier missing than the ends of inner frames."""
        if match is self._frames[-1]:
            return False
        if any(one.unreadable for one in self._frames[self._frames.index(match) + 1 :]):
            return True
        same = isinstance(line, Line) and [one.text for one in line.names] == match.names
        inner = self._frames[-1].word in ("proc",)
        return inner or (not same and bool(match.names))

    def _unmatched(self, line: Line | Unreadable, word: str) -> None:
        frame = self._frames[-1]
        if frame.unreadable:  # its beginning may be a line that could not be read
            frame.unreadable -= 1
            return
        if isinstance(line, Line) and word == "proc" and line.names:
            name = line.names[0].text
            if name in self._unended_procs:
                self._unended_procs.discard(name)
                return
        text = f"`{line.word}` without `{word}` (what is open here is `{frame.text}`) remove it"
        self._add("S006", line.place, text, Note(f"`{frame.text}` begins here", frame.place))

    def _compare(self, line: Line, frame: _Frame) -> None:
        names = [one.text for one in line.names]
        parent = line.parent.text if line.parent else None
        if (names, parent) == (frame.names, frame.parent) or frame.word in (
            "if",
            "section",
            "gpu_on",
        ):
            return
        wanted = f"{line.word} " + frame.text.split(" ", 1)[-1]
        self._add(
            "S006",
            line.names[0].place if line.names else line.place,
            f"the end differs from its beginning (that is `{frame.text}`) write `{wanted}`",
            Note("it begins here", frame.place),
        )

    def _not_ended(self, frame: _Frame, before: str) -> None:
        end = frame.text.replace(frame.word, _END_OF[frame.word], 1)
        text = f"`{frame.text}` is not ended (before {before}) write `{end}`"
        self._add("S006", frame.place, text)
