"""The types of an entry's arguments and value. Entries of one signature share their code."""

from __future__ import annotations

import dataclasses

import parameters
import table
from parameters import Parameter

# One letter for each type, as interpose/lean_entry.hpp reads them.
LETTERS = {
    "void*": "p", "std::int64_t": "l", "int": "i", "char": "c", "float": "f", "double": "d",
    "void": "v", "std::complex<float>": "C", "std::complex<double>": "Z",
}  # fmt: skip
_MEMBERS = {
    "p": "pointer", "l": "integer", "i": "integer", "c": "integer",
    "f": "single_value", "d": "double_value",
}  # fmt: skip
_TYPES = {letter: name for name, letter in LETTERS.items()}


@dataclasses.dataclass(frozen=True)
class Signature:
    """An original as C++ calls it."""

    types: str  # one letter per argument
    value: str  # one letter
    texts: int = 0  # number of hidden lengths of CHARACTER arguments, all 1
    is_info: bool = False  # the value is LAPACKE's info

    @property
    def invoke(self) -> str:
        """Returns the name of the function that calls such an original."""
        value = "info" if self.is_info else self.value
        return f"invoke_{self.types}_{value}{self.texts or ''}"

    def text(self) -> str:
        """Returns the EntryTypes of the slow path: the value, then the arguments."""
        return ("i" if self.is_info else self.value) + self.types


def of_entry(routine: table.Routine, precision: str, abi: str) -> Signature:
    """Returns the signature of one name's function."""
    fortran = abi == "fortran"
    got = parameters.fortran(routine) if fortran else parameters.c(routine, precision, abi)
    value = parameters.value_type(routine, precision, abi)
    texts = len(routine.texts) if fortran else 0
    return Signature(letters(got), LETTERS[value], texts, abi.startswith("lapacke"))


def letters(got: list[Parameter]) -> str:
    return "".join(LETTERS[p.type] for p in got)


def invoke_function(signature: Signature) -> list[str]:
    """Returns the function that calls an original with the arguments of the call. C callers of
    Fortran names may omit hidden lengths, so the caller's lengths are not read."""
    passed = []
    for index, letter in enumerate(signature.types):
        text = f"r[{index}].{_MEMBERS[letter]}"
        passed.append(f"static_cast<{_TYPES[letter]}>({text})" if letter in "ic" else text)
    passed += ["1"] * signature.texts
    types = [_TYPES[letter] for letter in signature.types] + ["std::size_t"] * signature.texts
    result = _TYPES[signature.value]
    call = f"reinterpret_cast<Function>(f)({', '.join(passed)});"
    if signature.is_info:
        body = [f"  return {call}"]
    elif result == "void":
        body = [f"  {call}", "  return 0;"]
    else:
        body = [f"  *static_cast<{result}*>(value) = {call}", "  return 0;"]
    return [
        f"[[gnu::used]] static std::int64_t {signature.invoke}(void* f, const Raw* r,"
        " [[maybe_unused]] void* value) {",
        f"  using Function = {result} (*)({', '.join(types)});",
        *body,
        "}",
    ]


def invoke_functions(used: list[Signature]) -> list[str]:
    """Returns one function per signature, in the order of first use."""
    lines = ['extern "C" {']
    for signature in dict.fromkeys(used):
        lines += ["", *invoke_function(signature)]
    return [*lines, "", '}  // extern "C"']
