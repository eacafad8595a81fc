"""Where contractions run, by the rules of a worker: docs/sial/runtime.md, Accelerators."""

from __future__ import annotations

from dataclasses import dataclass

from outboard.sial.explain.code import Code
from outboard.sial.explain.job import Options
from outboard.sial.opcodes import Op

_STATIC, _OWN = 0, (1, 2)  # storages: temps and locals are blocks of the worker
_CONTIGUOUS = 2  # a flag of arrays


@dataclass
class Place:
    """`word` is host, device or auto: the worker measures, and decides each time."""

    word: str
    reason: str


def device_of(worker: int, options: Options) -> str:
    """Returns the address of a worker's device.   @pre a device is named"""
    return options.devices[worker % len(options.devices)]


def places(code: Code, options: Options) -> dict[int, Place]:
    """Returns where each contraction runs, by instruction. It is empty without devices."""
    if not options.devices:
        return {}
    found, hinted = {}, False
    for at, one in enumerate(code.instructions):
        op = Op(one["op"])
        hinted = op is Op.GPU_ON or (hinted and op is not Op.GPU_OFF)
        if op is Op.BLOCK_CONTRACT:
            found[at] = _place(code, one, hinted, options.place)
    return found


def _place(code: Code, one: dict[str, int], hinted: bool, word: str) -> Place:
    if word == "host":
        return Place("host", "--place host")
    arrays = [code.program["selector"][one[operand]]["array"] for operand in ("a", "b", "c")]
    for position, number in enumerate(arrays):
        array = code.program["array"][number]
        name = code.program.string(array["name"])
        if array["storage"] == _STATIC or array["flags"] & _CONTIGUOUS:
            return Place("host", f"{name} is static or contiguous, so it stays on the host")
        if position == 0 and array["storage"] not in _OWN:
            return Place("host", f"{name} is no block of the worker")
    if word == "hints":
        if hinted:
            return Place("device", "between gpu_on and gpu_off")
        return Place("host", "not between gpu_on and gpu_off")
    if word == "device":
        return Place("device", "--place device")
    factor = ", where the device may take 1.25 times as long" if hinted else ""
    return Place("auto", f"where the worker expects it to end first{factor}")
