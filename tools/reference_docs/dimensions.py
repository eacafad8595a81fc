"""Compares extents, leading dimensions and lengths of workspaces, by evaluating both sides."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import table
from reference_docs import extents, samples, statements
from reference_docs.extents import Extents
from reference_docs.prose import ProseError
from reference_docs.rows import Difference, Place
from reference_docs.samples import UnknownError, Values
from reference_docs.source_file import Documented
from reference_docs.statements import Statement

_ARRAYS = ("matrix", "vector", "index_vector", "strided", "work")
_DEPTH = 3  # depth of names that stand for expressions with further names

# A difference in one sample: the reference's text, the row's text.
Complaint = tuple[str, str]


class _Prose:
    """The documentation of one argument, evaluated."""

    def __init__(self, documented: Documented) -> None:
        self.documented = documented
        self.unreferenced = statements.unreferenced(documented.text, documented.name)
        self._definitions: dict[str, list[Statement]] = {}

    def value(self, expression: str, values: Values, depth: int = _DEPTH) -> int | str:
        """Evaluates an expression, with the names that the text defines. Raises UnknownError."""
        known = dict(values)
        for name in samples.names(expression) if depth else []:
            if name in values:
                continue
            if name not in self._definitions:
                found = statements.definitions(self.documented.text, name)
                self._definitions[name] = found
            defined = self.largest(self._definitions[name], values, depth - 1)
            if defined is not None:
                known[name] = defined
        return samples.evaluate(expression, known)

    def largest(self, found: list[Statement], values: Values, depth: int = _DEPTH) -> int | None:
        return statements.largest(found, lambda text: self.value(text, values, depth))

    def extents(self, forms: list[Extents], values: Values) -> list[int] | None:
        """Returns the extents of the form that holds; None if the text does not cover this case."""
        for form in forms:
            if form.condition == "otherwise" or self.value(form.condition, values):
                return [int(self.value(e, values)) for e in form.extents]
        return None

    def is_unreferenced(self, values: Values) -> bool:
        for condition in self.unreferenced:
            # a condition on results is no condition on the call
            with contextlib.suppress(UnknownError):
                if self.value(condition, values):
                    return True
        return False


def _example(values: Values, *expressions: str) -> str:
    names = sorted({n for e in expressions for n in samples.names(e)} & set(values))
    return ", ".join(f"{n} = {values[n]!r}" for n in names)


def _row_extents(place: Place, values: Values) -> list[int]:
    """Returns the extents as declared in Fortran, with increments; of a matrix only the columns."""
    argument = place.argument
    if argument.role == "work":
        name = f"l{argument.name}"
        return [int(values[name] if argument.query else samples.evaluate(argument.size, values))]
    counts = [int(samples.evaluate(e, values)) for e in argument.shape]
    if argument.role == "matrix":
        return [counts[1] if counts[0] > 0 else 0]
    if argument.role == "strided":
        return [1 + (counts[0] - 1) * abs(int(values[f"inc{argument.name}"]))]
    return counts


def _compare_array(place: Place, prose: _Prose, forms: list[Extents], values: Values) -> Complaint:
    row = _row_extents(place, values)
    unreferenced = prose.is_unreferenced(values)
    if unreferenced and (row[0] <= 0 or place.argument.role == "work"):
        return "", ""
    expressions = [*(place.argument.shape or [place.argument.size]), *_texts(forms)]
    if place.argument.role == "strided":
        expressions.append(f"inc{place.argument.name}")
    case = _example(values, *expressions, *prose.unreferenced)
    ours = f"{row[0]} ({' x '.join(place.argument.shape) or place.argument.size})"
    if unreferenced:
        return f"not referenced for {case}", ours
    found = prose.extents(forms, values)
    if found is None:
        return f"no dimension stated for {case}", ours
    if row[0] != found[-1]:
        return f"dimension {found[-1]} for {case}", ours
    return "", ""


def _texts(forms: list[Extents]) -> list[str]:
    return [text for form in forms for text in (form.condition, *form.extents)]


def _array_check(place: Place, documented: Documented) -> Callable[[Values], Complaint]:
    """Returns a check of an array's extents. Raises ProseError."""
    forms = extents.parse(documented)
    wanted = 2 if place.argument.role == "matrix" else 1
    if not forms:
        forms = [Extents("True", ("1",))]  # a scalar is an array of one element
    for form in forms:
        if len(form.extents) != wanted:
            raise ProseError(f"{len(form.extents)} dimension(s) where {wanted} were expected")
        if wanted == 2 and form.extents[0] != f"ld{documented.name}":
            raise ProseError(f"the leading dimension is {form.extents[0]}")
    prose = _Prose(documented)
    # The leading dimension has its own check.
    forms = [Extents(f.condition, f.extents[-1:]) for f in forms]
    return lambda values: _compare_array(place, prose, forms, values)


def _bound_check(place: Place, documented: Documented) -> Callable[[Values], Complaint]:
    """Returns a check of a leading dimension or of the length of a workspace. Raises ProseError."""
    found = statements.bounds(documented.text, documented.name)
    if not found:
        raise ProseError("no least value is stated")
    prose = _Prose(documented)
    argument = place.argument
    row = argument.size if place.part == "length" else argument.shape[0]
    texts = [text for s in found for text in (s.condition, s.value) if text != "otherwise"]

    def check(values: Values) -> Complaint:
        theirs = prose.largest(found, values)
        ours = max(1, int(samples.evaluate(row, values)))
        if theirs is not None and max(1, theirs) == ours:
            return "", ""
        said = "nothing" if theirs is None else f">= {theirs}"
        return f"{said} for {_example(values, row, *texts)}", f">= {ours} ({row})"

    return check


def _check(place: Place, documented: Documented) -> Callable[[Values], Complaint] | None:
    """Returns the check of an argument. Raises ProseError if the text cannot be read."""
    if place.part in ("ld", "length"):
        return _bound_check(place, documented)
    if not place.part and place.argument.role in _ARRAYS:
        return _array_check(place, documented)
    if extents.parse(documented):
        raise ProseError("an array")
    return None


def differences(
    routine: table.Routine, precision: str, documented: list[tuple[Place, Documented]]
) -> list[Difference]:
    """Returns at most one difference for each array, leading dimension and length."""
    drawn = list(samples.draw(routine, precision))
    found = []
    for place, text in documented:
        try:
            check = _check(place, text)
            complaints = (check(values) for values in drawn) if check else iter(())
            complaint = next((c for c in complaints if c != ("", "")), None)
        except (ProseError, UnknownError) as error:
            complaint = (f"{error}", "cannot be compared")
        if complaint:
            theirs, ours = complaint
            found.append(Difference(place.argument.name, f"{place.name}: {theirs}", ours))
    if not drawn:
        found.append(Difference("legal", "-", f"no legal call found ({routine.legal})"))
    return found
