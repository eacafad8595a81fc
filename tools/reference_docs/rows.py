"""Makes Fortran's argument list for a row of the table."""

from __future__ import annotations

import dataclasses

import table
from arguments import Argument


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference. `argument` is the row's name for it, or the reference's if the row has none."""

    argument: str
    reference: str
    row: str


@dataclasses.dataclass(frozen=True)
class Place:
    """One position in Fortran's argument list."""

    name: str
    argument: Argument
    part: str = ""  # ld, inc or length: a parameter that follows an argument and is none of the row


def places(routine: table.Routine) -> list[Place]:
    """Returns Fortran's argument list. The value of a function is not in it."""
    result = []
    for argument in routine.arguments:
        if argument.role == "result":
            continue
        result.append(Place(argument.name, argument))
        if argument.role == "matrix":
            result.append(Place(f"ld{argument.name}", argument, "ld"))
        elif argument.role == "strided":
            result.append(Place(f"inc{argument.name}", argument, "inc"))
        elif argument.query:
            result.append(Place(f"l{argument.name}", argument, "length"))
    return result
