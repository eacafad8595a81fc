"""Integrals of a molecule as super-instructions, which integrals.sial calls for block after block.

make_molecule.py writes the atoms and their functions into the job, as the arrays `atoms` and
`primitives`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from gaussian_integrals import Array, Atom, Products, one_electron
from numpy.typing import NDArray

from outboard.sial_plugin import Call, super_instruction


@dataclass
class Molecule:
    """The integrals that a worker has, and those that it needs for others."""

    products: Products
    overlap: Array
    hcore: Array


@dataclass
class Kept:
    """The molecule of the job. It stays from call to call, the arrays of a call do not."""

    molecule: Molecule | None = field(default=None)


kept = Kept()


def read_atoms(atoms: Array, primitives: Array) -> list[Atom]:
    """Returns the atoms of the job's arrays. A row of `atoms` is charge and position [bohr], one of
    `primitives` is the number of its atom, the number of its shell there, angular momentum,
    exponent and coefficient."""
    found = []
    for number, (charge, x, y, z) in enumerate(atoms.tolist()):
        shells: dict[float, tuple[int, list[tuple[float, float]]]] = {}
        for atom, shell, momentum, exponent, coefficient in primitives.tolist():
            if atom == number:
                shells.setdefault(shell, (int(momentum), []))[1].append((exponent, coefficient))
        found.append(Atom(int(charge), (x, y, z), list(shells.values())))
    return found


def molecule_of(call: Call) -> Molecule:
    """Returns the molecule of the job. The first call reads it."""
    if kept.molecule is None:
        atoms = read_atoms(call.array("atoms"), call.array("primitives"))
        products = Products(atoms)
        kept.molecule = Molecule(products, *one_electron(products, atoms))
    return kept.molecule


@super_instruction("w", overwrites=True)
def overlap_block(call: Call, block: Array) -> None:
    block[...] = molecule_of(call).overlap[call.arguments[0].slices]


@super_instruction("w", overwrites=True)
def hcore_block(call: Call, block: Array) -> None:
    block[...] = molecule_of(call).hcore[call.arguments[0].slices]


@super_instruction("w", overwrites=True)
def repulsion_block(call: Call, block: Array) -> None:
    """Computes (mu nu | la si) for the functions of four segments."""
    products = molecule_of(call).products
    mu, nu, la, si = call.arguments[0].slices
    bra: NDArray[np.intp] = products.numbers[mu, nu].ravel()
    ket: NDArray[np.intp] = products.numbers[la, si].ravel()
    block[...] = products.repulsion_between(bra, ket).reshape(block.shape)
