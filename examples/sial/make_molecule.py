#!/usr/bin/env python3
"""Writes the integrals and the job file of a molecule, for rhf.sial, mp2.sial and ccsd.sial.

With `--integrals blocks`, the job computes them: integrals.sial with gaussian_blocks.py."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click
import gaussian_integrals
import numpy as np
from gaussian_integrals import Atom, Integrals

HERE = Path(__file__).resolve().parent
BASIS_SETS = HERE / "basis_sets.toml"
BOHR = 0.52917721092  # [Angstrom], CODATA 2010
ELEMENTS = "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar".split()
PROGRAMS = ("rhf.sial", "mp2.sial", "ccsd.sial")
FIRST = "integrals.sial"  # if the job computes the integrals
PLUGIN = "gaussian_blocks.py"

Positions = list[tuple[str, tuple[float, float, float]]]
MOLECULES: dict[str, Positions] = {  # [bohr]
    "h2o": [
        ("O", (0.0, -0.143225816552, 0.0)),
        ("H", (1.638036840407, 1.136548822547, 0.0)),
        ("H", (-1.638036840407, 1.136548822547, 0.0)),
    ],
    "hf": [("H", (0.0, 0.0, 0.0)), ("F", (0.0, 0.0, 0.917 / BOHR))],
}

EXAMPLES = """\b
Examples:
  make_molecule.py h2o sto-3g water
  make_molecule.py hf 6-31g hf --segment 3 --program rhf.sial
  make_molecule.py my.xyz 6-31g mine
  outboard sial run water/job.toml
"""


def read_xyz(path: Path) -> Positions:
    """Reads atoms from a file of the XYZ format [Angstrom]."""
    atoms: Positions = []
    try:
        lines = path.read_text().splitlines()
        for line in lines[2 : 2 + int(lines[0])]:
            symbol, x, y, z = line.split()[:4]
            place = (float(x) / BOHR, float(y) / BOHR, float(z) / BOHR)
            atoms.append((symbol.capitalize(), place))
    except (ValueError, IndexError, OSError) as error:
        raise click.ClickException(
            f"{path} is no molecule ({error}); its first line is the number of atoms, and from the "
            "third on each line is an element and x, y, z in Angstrom"
        ) from error
    return atoms


def atoms_of(positions: Positions, basis: str) -> list[Atom]:
    """Returns the atoms with the shells of a basis set in basis_sets.toml."""
    shells = tomllib.loads(BASIS_SETS.read_text())[basis]
    lacking = {symbol for symbol, _ in positions} - (set(shells) & set(ELEMENTS))
    if lacking:
        raise click.ClickException(
            f"{BASIS_SETS.name} has no {basis} of {', '.join(sorted(lacking))} (it has "
            f"{', '.join(shells)}); add the shells, or install PySCF"
        )
    return [Atom(1 + ELEMENTS.index(symbol), place, shells[symbol]) for symbol, place in positions]


def own_integrals(positions: Positions, basis: str) -> tuple[Integrals, int]:
    """Computes the integrals with gaussian_integrals.py. Returns the number of electrons, too."""
    atoms = atoms_of(positions, basis)
    try:
        return gaussian_integrals.integrals(atoms), sum(atom.charge for atom in atoms)
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def later_integrals(positions: Positions, basis: str, folder: Path) -> tuple[Integrals, int]:
    """Writes the arrays that gaussian_blocks.py reads. Returns zeros in place of the integrals,
    and the number of electrons."""
    atoms = atoms_of(positions, basis)
    primitives = [
        (number, shell, momentum, exponent, coefficient)
        for number, atom in enumerate(atoms)
        for shell, (momentum, contracted) in enumerate(atom.shells)
        for exponent, coefficient in contracted
    ]
    np.save(folder / "atoms.npy", np.array([(float(a.charge), *a.position) for a in atoms]))
    np.save(folder / "primitives.npy", np.array(primitives, dtype=np.float64))
    count = sum(2 * momentum + 1 for atom in atoms for momentum, _ in atom.shells)
    empty = np.zeros((count, count))
    nuclear = gaussian_integrals.nuclear_repulsion(atoms)
    found = Integrals(empty, empty, np.zeros((count,) * 4), nuclear)
    return found, sum(atom.charge for atom in atoms)


def pyscf_integrals(positions: Positions, basis: str) -> tuple[Integrals, int]:
    """Computes the integrals with PySCF, and prints its energies. Returns the number of electrons,
    too."""
    import pyscf  # type: ignore[import-not-found,unused-ignore]
    from pyscf import cc, gto, mp, scf

    molecule = gto.M(atom=positions, basis=basis, unit="Bohr", verbose=0)
    hcore = molecule.intor("int1e_kin") + molecule.intor("int1e_nuc")
    found = Integrals(
        molecule.intor("int1e_ovlp"), hcore, molecule.intor("int2e"), molecule.energy_nuc()
    )
    field = scf.RHF(molecule)
    field.conv_tol = 1e-13
    field.kernel()
    clusters = cc.CCSD(field)
    clusters.conv_tol, clusters.conv_tol_normt = 1e-11, 1e-9
    click.echo(f"PySCF {pyscf.__version__}: RHF {field.e_tot:.12f}")
    click.echo(f"  MP2 correlation {mp.MP2(field).kernel()[0]:.10f}")
    click.echo(f"  CCSD correlation {clusters.kernel()[0]:.10f}")
    return found, molecule.nelectron


def segments(elements: int, most: int) -> list[int]:
    """Divides elements into as few segments of at most `most` as possible, of about equal size."""
    count = -(-elements // most)
    return [elements * (k + 1) // count - elements * k // count for k in range(count)]


def job_text(found: Integrals, occupied: int, size: int, programs: Sequence[str]) -> str:
    """Returns the job file. The segments of molecular orbitals do not mix occupied and others."""
    functions = len(found.overlap)
    ao = segments(functions, size)
    occ, virt = segments(occupied, size), segments(functions - occupied, size)
    more = [f"plugins = ['{PLUGIN}']"] if FIRST in programs else []
    more_arrays = ["atoms", "primitives"] if FIRST in programs else []
    arrays = [
        f'{name} = {{ file = "{name}.npy" }}'
        for name in ("overlap", "hcore", "repulsion", *more_arrays)
    ]
    head = "\n".join([f"programs = {list(programs)}", *more])
    return f"""sial_job = 1
{head}

[ints]                # numbers of segments
norb = {len(ao)}
bocc = 1
eocc = {len(occ)}
bvirt = {len(occ) + 1}
evirt = {len(occ) + len(virt)}

[scalars]
nuclear = {found.nuclear!r}
threshold = 1.0e-9
ccsd_threshold = 1.0e-8

[segments]
ao = {ao}
mo = {occ + virt}

[arrays]
""" + "".join(f"{line}\n" for line in arrays)


@click.command(epilog=EXAMPLES)
@click.argument("molecule")
@click.argument("basis", type=click.Choice(["sto-3g", "6-31g"]))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--segment", "size", type=click.IntRange(1), default=4, show_default=True,
              help="Most orbitals in a segment.")  # fmt: skip
@click.option("--program", "programs", multiple=True, default=PROGRAMS, show_default=True,
              type=click.Choice(PROGRAMS), help="A program of the job, in order.")  # fmt: skip
@click.option("--integrals", "source", type=click.Choice(["auto", "own", "pyscf", "blocks"]),
              default="auto",
              help="Who computes the integrals: by default PySCF if it is installed; `blocks`: the "
              "job itself, by super-instructions in Python.")  # fmt: skip
def main(
    molecule: str, basis: str, folder: Path, size: int, programs: Sequence[str], source: str
) -> None:
    """Writes the job of MOLECULE in BASIS to FOLDER, which `outboard sial run` takes.

    MOLECULE is h2o, hf, or a file of the XYZ format."""
    known = MOLECULES.get(molecule.lower())
    if known is None and not Path(molecule).is_file():
        raise click.ClickException(
            f"there is no molecule {molecule} (neither {', '.join(MOLECULES)} nor a file); "
            "name a file of the XYZ format"
        )
    positions = known if known is not None else read_xyz(Path(molecule))
    folder.mkdir(parents=True, exist_ok=True)
    if source == "blocks":
        found, electrons = later_integrals(positions, basis, folder)
        programs = (FIRST, *programs)
        for name in (PLUGIN, "gaussian_integrals.py"):
            shutil.copy(HERE / name, folder)
    elif source == "pyscf" or (source == "auto" and find_spec("pyscf") is not None):
        found, electrons = pyscf_integrals(positions, basis)
    else:
        found, electrons = own_integrals(positions, basis)
    if electrons % 2 != 0 or electrons // 2 >= len(found.overlap):
        raise click.ClickException(
            f"{electrons} electrons in {len(found.overlap)} orbitals (the programs need pairs of "
            "electrons, and orbitals without electrons); change the molecule or the basis"
        )
    np.save(folder / "overlap.npy", found.overlap)
    np.save(folder / "hcore.npy", found.hcore)
    np.save(folder / "repulsion.npy", found.two_electron)
    for source_file in sorted(HERE.glob("*.sial")):
        if source_file.name in {*programs, "transform.sial"}:
            shutil.copy(source_file, folder)
    (folder / "job.toml").write_text(job_text(found, electrons // 2, size, programs))
    click.echo(f"wrote {folder / 'job.toml'}: {len(found.overlap)} orbitals, {electrons} electrons")


if __name__ == "__main__":
    main()
