"""Integrals over contracted Gaussian functions of s and p type.

Each product of two primitive functions is expanded in Hermite Gaussians, whose integrals are
derivatives of Boys' function. NumPy computes all products at once.

Source: McMurchie and Davidson, J. Comput. Phys. 26, 218 (1978); Helgaker, Jorgensen, Olsen:
Molecular Electronic-Structure Theory (2000), chapter 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Powers = tuple[int, int, int]
Shell = tuple[int, Sequence[tuple[float, float]]]  # angular momentum; exponents and coefficients

PAIR_POWER = 2  # highest power of a product of two p functions
HERMITE: list[Powers] = [
    (t, u, v) for t, u, v in product(range(PAIR_POWER + 1), repeat=3) if t + u + v <= PAIR_POWER
]
ROWS = 128  # products that are combined with all others at once: bounds the memory


@dataclass(frozen=True)
class Atom:
    """An atom with its charge, position [bohr] and shells."""

    charge: int
    position: tuple[float, float, float]
    shells: Sequence[Shell]


@dataclass(frozen=True)
class Integrals:
    """Integrals of a molecule [Hartree]: (ij|kl) is two_electron[i, j, k, l]."""

    overlap: Array
    hcore: Array
    two_electron: Array
    nuclear: float


def boys(order: int, t: Array) -> list[Array]:
    """Returns F_m(t) = integral of x^2m exp(-t x^2) over x in [0, 1], for m = 0 .. order."""
    large = 35.0  # from here on, erfc(sqrt(t)) is below the rounding error of 1
    small, safe = np.minimum(t, large), np.maximum(t, large)
    term = np.full_like(t, 1.0 / (2 * order + 1))
    series = term.copy()
    for k in range(1, 160):  # for t = 35, the later terms are below 1e-17 of the sum
        term = term * 2 * small / (2 * order + 2 * k + 1)
        series += term
    down = [series * np.exp(-small)]
    for m in range(order, 0, -1):
        down.append((2 * small * down[-1] + np.exp(-small)) / (2 * m - 1))
    up = [0.5 * np.sqrt(np.pi / safe)]
    for m in range(order):
        up.append(((2 * m + 1) * up[-1] - np.exp(-safe)) / (2 * safe))
    return [np.where(t < large, low, high) for low, high in zip(down[::-1], up, strict=True)]


def hermite_integrals(order: int, exponent: Array, distance: Array) -> Callable[[Powers], Array]:
    """Returns a function of powers (t, u, v), t + u + v <= order. Its value is the derivative of
    F_0(exponent distance^2) by the components of the distance, t, u and v times."""
    base = boys(order, exponent * np.sum(distance**2, axis=0))

    @cache
    def derivative(n: int, powers: Powers) -> Array:
        axis = next((d for d in range(3) if powers[d] > 0), None)
        if axis is None:
            return np.asarray((-2 * exponent) ** n * base[n])
        below = lowered(powers, axis)
        value = distance[axis] * derivative(n + 1, below)
        if below[axis] > 0:
            value = value + below[axis] * derivative(n + 1, lowered(below, axis))
        return np.asarray(value)

    return lambda powers: derivative(0, powers)


def lowered(powers: Powers, axis: int) -> Powers:
    """Returns the powers with one less along an axis."""
    x, y, z = (power - (d == axis) for d, power in enumerate(powers))
    return x, y, z


class Products:
    """All products of two primitives (x - X)^l exp(-a r^2), the second not before the first."""

    def __init__(self, atoms: Sequence[Atom]) -> None:
        owners, exponents, coefficients, centres, powers = [], [], [], [], []
        self.functions = 0
        for atom in atoms:
            for momentum, primitives in atom.shells:
                for axis in range(2 * momentum + 1):
                    for exponent, coefficient in primitives:
                        norm = (2 * exponent / np.pi) ** 0.75 * (4 * exponent) ** (momentum / 2)
                        owners.append(self.functions)
                        exponents.append(exponent)
                        coefficients.append(coefficient * norm)
                        centres.append(atom.position)
                        powers.append([momentum * (d == axis) for d in range(3)])
                    self.functions += 1
        i, j = np.triu_indices(len(owners))
        a, b = np.array(exponents)[i], np.array(exponents)[j]
        first, second = np.array(centres).T[:, i], np.array(centres).T[:, j]
        self.exponent = a + b
        self.exponent_second = b
        self.centre = (a * first + b * second) / self.exponent
        self.shifts = (self.centre - first, self.centre - second)
        self.start = np.exp(-a * b / self.exponent * (first - second) ** 2)
        self.powers = (np.array(powers).T[:, i], np.array(powers).T[:, j])
        self._combine(np.array(owners), np.array(coefficients), i, j)

    def _combine(
        self, owners: NDArray[np.intp], factors: Array, i: NDArray[np.intp], j: NDArray[np.intp]
    ) -> None:
        """Makes the matrix that turns numbers of products into those of pairs of normalized
        contracted functions, the second not before the first."""
        self.pairs = np.triu_indices(self.functions)
        numbers = np.zeros((self.functions, self.functions), dtype=np.intp)
        numbers[self.pairs] = np.arange(len(self.pairs[0]))
        self.numbers = np.maximum(numbers, numbers.T)  # of the pair of two functions
        twice = (owners[i] == owners[j]) & (i != j)  # the converse product is not in the list
        self.contraction = np.zeros((len(self.pairs[0]), len(i)))
        self.contraction[numbers[owners[i], owners[j]], np.arange(len(i))] = (
            factors[i] * factors[j] * np.where(twice, 2, 1)
        )
        norms = 1 / np.sqrt((self.contraction @ self.overlap((0, 0, 0)))[np.diag(numbers)])
        self.contraction *= (norms[self.pairs[0]] * norms[self.pairs[1]])[:, None]

    def expansion(self, axis: int, extra: int = 0) -> Array:
        """Returns the coefficients of Hermite Gaussians along an axis: order, product. The power
        of the second function is raised by `extra`."""
        e = np.zeros((PAIR_POWER + 3, len(self.exponent)))
        e[0] = self.start[axis]
        added = (0, extra)
        for power, shift, more in zip(self.powers, self.shifts, added, strict=True):
            for step in range(1 + more):
                raised = shift[axis] * e
                raised[1:] += e[:-1] / (2 * self.exponent)
                raised[:-1] += np.arange(1, len(e))[:, None] * e[1:]
                e = np.where(power[axis] + more > step, raised, e)
        return e

    def hermite(self) -> list[Array]:
        """Returns the coefficients of the Hermite Gaussians with the powers in HERMITE."""
        x, y, z = (self.expansion(axis) for axis in range(3))
        return [x[t] * y[u] * z[v] for t, u, v in HERMITE]

    def overlap(self, extra: Powers) -> Array:
        """Returns the overlaps of the products, with powers of the second function raised."""
        parts = [self.expansion(axis, extra[axis])[0] for axis in range(3)]
        return np.asarray(np.prod(parts, axis=0) * (np.pi / self.exponent) ** 1.5)

    def kinetic(self) -> Array:
        """Returns the integrals of -1/2 nabla^2, from the second derivative of a primitive of
        power l <= 1: 4 b^2 x^2 - 2 b (2 l + 1) times the primitive."""
        b, powers = self.exponent_second, self.powers[1]
        value = b * np.sum(2 * powers + 1, axis=0) * self.overlap((0, 0, 0))
        for extra in ((2, 0, 0), (0, 2, 0), (0, 0, 2)):
            value = value - 2 * b**2 * self.overlap(extra)
        return np.asarray(value)

    def attraction(self, atoms: Sequence[Atom]) -> Array:
        """Returns the integrals of the attraction by all nuclei."""
        coefficients = self.hermite()
        value = np.zeros_like(self.exponent)
        for atom in atoms:
            distance = self.centre - np.array(atom.position)[:, None]
            integrals = hermite_integrals(PAIR_POWER, self.exponent, distance)
            for powers, e in zip(HERMITE, coefficients, strict=True):
                value -= atom.charge * 2 * np.pi / self.exponent * e * integrals(powers)
        return np.asarray(value)

    def repulsion(self) -> Array:
        """Returns the repulsion of all pairs of contracted functions."""
        every = np.arange(len(self.contraction))
        return self.repulsion_between(every, every)

    def repulsion_between(self, bra: NDArray[np.intp], ket: NDArray[np.intp]) -> Array:
        """Returns the repulsion of some pairs with others, given by their numbers."""
        coefficients = self.hermite()
        total: Array = np.zeros((len(bra), len(ket)))
        (every,) = np.nonzero(self.contraction[bra].any(axis=0))  # the products of these pairs
        (columns,) = np.nonzero(self.contraction[ket].any(axis=0))
        for first in range(0, len(every), ROWS):
            rows = every[first : first + ROWS]
            p, q = self.exponent[rows, None], self.exponent[None, columns]
            distance = self.centre[:, rows, None] - self.centre[:, None, columns]
            integrals = hermite_integrals(2 * PAIR_POWER, p * q / (p + q), distance)
            value = np.zeros_like(p * q)
            for (left, e1), (right, e2) in product(
                zip(HERMITE, coefficients, strict=True), repeat=2
            ):
                powers = (left[0] + right[0], left[1] + right[1], left[2] + right[2])
                sign = (-1) ** sum(right)
                value += sign * e1[rows, None] * e2[None, columns] * integrals(powers)
            value *= 2 * np.pi**2.5 / (p * q * np.sqrt(p + q))
            total += (
                self.contraction[np.ix_(bra, rows)]
                @ value
                @ self.contraction[np.ix_(ket, columns)].T
            )
        return np.asarray(total)

    def unpack(self, packed: Array) -> Array:
        """Turns pairs of functions along the first axis into two axes of functions."""
        full = np.zeros((self.functions, self.functions, *packed.shape[1:]))
        i, j = self.pairs
        full[i, j] = packed
        full[j, i] = packed
        return full


def nuclear_repulsion(atoms: Sequence[Atom]) -> float:
    """Returns the energy of the nuclei [Hartree]."""
    return sum(
        one.charge * other.charge / float(np.linalg.norm(np.subtract(one.position, other.position)))
        for number, one in enumerate(atoms)
        for other in atoms[:number]
    )


def one_electron(products: Products, atoms: Sequence[Atom]) -> tuple[Array, Array]:
    """Returns the overlap, and the energy of one electron in the field of the nuclei."""
    hcore = products.contraction @ (products.kinetic() + products.attraction(atoms))
    overlap = products.contraction @ products.overlap((0, 0, 0))
    return products.unpack(overlap), products.unpack(hcore)


def integrals(atoms: Sequence[Atom]) -> Integrals:
    """Computes all integrals of a molecule. Raises ValueError if a shell is neither s nor p."""
    if any(momentum not in (0, 1) for atom in atoms for momentum, _ in atom.shells):
        raise ValueError("a shell is neither s nor p (only those are implemented); use PySCF")
    products = Products(atoms)
    overlap, hcore = one_electron(products, atoms)
    repulsion = products.unpack(products.unpack(products.repulsion()).transpose(2, 0, 1))
    return Integrals(overlap, hcore, repulsion, nuclear_repulsion(atoms))
