"""Arrays and scalars that SIAL jobs have saved (docs/sial/jobs.md, "Saved objects")."""

from __future__ import annotations

import math
import os
import struct
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outboard.errors import OutboardError

if TYPE_CHECKING:
    import numpy as np

_HDF5_SUFFIXES = (".h5", ".hdf5")
_MAGIC, _VERSION = b"OBSIALBK", 1
_HEADER = struct.Struct("<8sIIQQ")  # magic, version, 0, count, checksum of the entries
_ENTRY = struct.Struct("<QQQII8q")  # number, offset, checksum, rank, 0, extents


@dataclass(frozen=True)
class Dimension:
    """One dimension of an array: the extents of its segments. `simple`: each number is a segment of
    extent 1."""

    extents: list[int]
    simple: bool

    def segments(self) -> list[int]:
        return [1] * self.extents[0] if self.simple else self.extents


@dataclass(frozen=True)
class Saved:
    """A saved object. A scalar has a value and no dimensions."""

    label: str
    program: str
    value: float | None
    distributed: bool
    dimensions: list[Dimension]
    files: list[Path]

    def shape(self) -> tuple[int, ...]:
        return tuple(sum(dimension.segments()) for dimension in self.dimensions)


def state_folder(job: Path) -> Path:
    """Returns the folder of what a job saves."""
    try:
        with job.open("rb") as file:
            keys = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise OutboardError(f"cannot read {job} ({error})", exit_code=2) from error
    run = keys.get("run", {})
    state = run.get("state") if isinstance(run, dict) else None
    return job.parent / str(state or f"{keys.get('name', job.stem)}.state")


def read_table(folder: Path) -> dict[str, Saved]:
    """Returns the saved objects in a folder, by label."""
    table = folder / "saved.toml"
    try:
        with table.open("rb") as file:
            keys = tomllib.load(file)
        if keys["sial_saved"] != 1:
            raise OutboardError(f"{table} was written by another version of Outboard")
        return {label: _object(label, one, folder) for label, one in keys.get("object", {}).items()}
    except FileNotFoundError as error:
        raise OutboardError(
            f"nothing is saved in {folder} (it has no saved.toml) run the job first, or name the "
            "folder with --state"
        ) from error
    except (OSError, KeyError, TypeError, AttributeError, tomllib.TOMLDecodeError) as error:
        raise OutboardError(f"{table} is damaged ({error})") from error


def _object(label: str, one: dict[str, Any], folder: Path) -> Saved:
    dimensions = [Dimension(d["extents"], d["table"] == "") for d in one.get("dimension", [])]
    return Saved(
        label,
        one["program"],
        None if dimensions else float(one["value"]),
        bool(one.get("distributed", False)),
        dimensions,
        [folder / name for name in one.get("files", [])],
    )


def describe(saved: Saved) -> str:
    """Returns one line about an object."""
    if saved.value is not None:
        return f"{saved.label}: {saved.value!r}, a scalar of {saved.program}"
    kind = "distributed" if saved.distributed else "static"
    extents = " x ".join(map(str, saved.shape()))
    return f"{saved.label}: {extents}, a {kind} array of {saved.program}"


def export(saved: Saved, to: Path) -> None:
    """Writes an object as a file of NumPy, or of HDF5 if the name ends so. It appears when it is
    complete. Blocks that were never put are zeros. An array may be larger than the memory."""
    np = _numpy()
    hdf5 = _h5py() if to.suffix in _HDF5_SUFFIXES else None
    try:
        with tempfile.TemporaryDirectory(dir=to.parent, prefix=".sial-export-") as folder:
            part = Path(folder) / "part.npy"
            if hdf5 is not None:
                with hdf5.File(part, "w") as file:
                    _write_hdf5(saved, file)
            elif saved.value is not None:
                np.save(part, np.float64(saved.value))
            elif not saved.distributed:
                part.write_bytes(saved.files[0].read_bytes())
            else:
                _write_blocks(saved, part)
            os.replace(part, to)
    except OSError as error:
        raise OutboardError(f"cannot export {saved.label} ({error})", exit_code=2) from error


def _write_hdf5(saved: Saved, file: Any) -> None:
    """Writes an object as the dataset that has its label, with the indices in NumPy's order."""
    if saved.value is not None:
        file[saved.label] = saved.value
    elif not saved.distributed:
        file[saved.label] = _numpy().load(saved.files[0])
    else:
        # In chunks, so that blocks that were never put take no space.
        whole = file.create_dataset(saved.label, saved.shape(), "<f8", chunks=True, fillvalue=0.0)
        _fill(saved, whole)


def _write_blocks(saved: Saved, part: Path) -> None:
    np = _numpy()
    whole = np.lib.format.open_memmap(
        part, mode="w+", dtype=np.float64, shape=saved.shape(), fortran_order=True
    )
    _fill(saved, whole)
    whole.flush()


def _fill(saved: Saved, whole: Any) -> None:
    """Stores all blocks of an array in their places."""
    segments = [dimension.segments() for dimension in saved.dimensions]
    starts = [[0, *accumulate(extents)] for extents in segments]
    for number, block in _blocks(saved):
        place = []
        for extents, from_ in zip(reversed(segments), reversed(starts), strict=True):
            number, segment = divmod(number, len(extents))
            place.append(slice(from_[segment], from_[segment + 1]))
        shape = tuple(one.stop - one.start for one in reversed(place))
        if number != 0 or shape != block.shape:
            raise OutboardError(f"{saved.label} is damaged (a block has another shape)")
        whole[tuple(reversed(place))] = block


def block_numbers(saved: Saved) -> list[int]:
    """Returns the numbers of the blocks of a distributed array."""
    numbers = []
    for path in saved.files:
        with path.open("rb") as file:
            numbers += [number for number, _, _, _ in _index(path, file.read)]
    return numbers


def _blocks(saved: Saved) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the number and the elements of each block."""
    import xxhash

    np = _numpy()
    for path in saved.files:
        with path.open("rb") as file:
            for number, offset, checksum, extents in _index(path, file.read):
                file.seek(offset)
                data = file.read(8 * math.prod(extents))
                if xxhash.xxh3_64_intdigest(data) != checksum:
                    raise OutboardError(f"{path} is damaged (block {number} has another checksum)")
                yield number, np.frombuffer(data, np.float64).reshape(extents, order="F")


def _index(path: Path, read: Any) -> list[tuple[int, int, int, tuple[int, ...]]]:
    import xxhash

    head = read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        raise OutboardError(f"{path} is no file of saved blocks")
    _, version, _, count, checksum = _HEADER.unpack(head)
    if version != _VERSION:
        raise OutboardError(f"{path} was written by another version of Outboard")
    if count * _ENTRY.size > path.stat().st_size:
        raise OutboardError(f"{path} is damaged (it is shorter than it was)")
    entries = read(count * _ENTRY.size)
    if xxhash.xxh3_64_intdigest(entries) != checksum:
        raise OutboardError(f"{path} is damaged (its table has another checksum)")
    return [
        (number, offset, check, tuple(extents[:rank]))
        for number, offset, check, rank, _, *extents in _ENTRY.iter_unpack(entries)
    ]


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise OutboardError(
            "files of HDF5 need h5py (it is not installed) run: pip install h5py, or name a .npy "
            "file"
        ) from error
    return h5py


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise OutboardError(
            "exporting needs NumPy (it is not installed) run: pip install 'outboard[sial]'"
        ) from error
    return numpy
