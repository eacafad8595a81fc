"""Tests the exchange of elements between arrays of a device and other packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from device_places import random_array
from outboard import device


class Exporter:
    """An array of another package, of which only DLPack is known."""

    def __init__(self, elements: Any) -> None:
        self._elements = elements

    def __dlpack__(self, **options: Any) -> Any:
        return self._elements.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._elements.__dlpack_device__()


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_taken_by_dlpack(gpu: device.Device, generator: Any, order: str) -> None:
    host = np.asarray(random_array(generator, (4, 6), "complex64"), order=order)
    np.testing.assert_array_equal(gpu.array(Exporter(host)).numpy(), host)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_given_by_dlpack_as_copies(
    gpu: device.Device, generator: Any, order: str
) -> None:
    host = np.asarray(random_array(generator, (4, 6), "float64"), order=order)
    array = gpu.array(host)
    kind, _ = array.__dlpack_device__()
    assert kind == 12  # kDLExtDev

    class OnProcessor(Exporter):
        """Asks for the elements on the processor, as np.from_dlpack(..., device="cpu") does."""

        def __dlpack__(self, **options: Any) -> Any:
            return super().__dlpack__(**{**options, "dl_device": (1, 0), "copy": True})

        def __dlpack_device__(self) -> Any:
            return 1, 0

    taken = np.from_dlpack(OnProcessor(array))
    np.testing.assert_array_equal(taken, host)


def test_elements_do_not_leave_a_device_unasked(gpu: device.Device) -> None:
    array = gpu.array(np.ones(3))
    with pytest.raises(BufferError, match="device='cpu'"):
        array.__dlpack__()
    with pytest.raises(BufferError, match="allow a copy"):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(ValueError, match="only copies"):
        array.__array__(copy=False)


def test_numpy_takes_arrays_as_copies(gpu: device.Device, generator: Any) -> None:
    host = random_array(generator, (3, 2), "float32")
    array = gpu.array(host)
    taken = np.asarray(array)
    np.testing.assert_array_equal(taken, host)
    assert np.asarray(array, dtype="float64").dtype == "float64"
    taken[...] = 0
    np.testing.assert_array_equal(array.numpy(), host)


def test_copies_have_memory_of_their_own(gpu: device.Device, generator: Any) -> None:
    host = np.asarray(random_array(generator, (3, 5), "complex128"), order="F")
    array = gpu.array(host)
    copy = array.copy()
    gpu.own_queue.write(array, np.zeros((3, 5)))
    assert copy.order == "F"
    np.testing.assert_array_equal(copy.numpy(), host)
