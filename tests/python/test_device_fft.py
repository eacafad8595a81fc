"""Tests outboard.device.fft against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from device_places import TYPES, random_array
from outboard import device
from outboard.device import fft

SHAPES = ((1,), (30,), (31,), (4, 6), (5, 7), (1, 8), (8, 1))


def check(found: device.Array, expected: Any, elements: int) -> None:
    """Compares with the rounding errors of a transform of so many elements up to 1."""
    error = 20 * elements * np.finfo(found.dtype).eps
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=error)


@pytest.mark.parametrize("dtype", TYPES[2:])
def test_complex_transforms_follow_numpy(gpu: device.Device, generator: Any, dtype: str) -> None:
    for shape in SHAPES:
        a = random_array(generator, shape, dtype)
        on_a = gpu.array(a)
        check(fft.fft(on_a), np.fft.fft(a), a.size)
        check(fft.ifft(on_a), np.fft.ifft(a), a.size)
        for order in "CF":
            on_a = gpu.array(np.asarray(a, order=order))
            check(fft.fftn(on_a), np.fft.fftn(a), a.size)
            check(fft.ifftn(on_a), np.fft.ifftn(a), a.size)
        np.testing.assert_array_equal(on_a.numpy(), a)


@pytest.mark.parametrize("dtype", TYPES[:2])
def test_real_transforms_follow_numpy(gpu: device.Device, generator: Any, dtype: str) -> None:
    for shape in SHAPES:
        a = random_array(generator, shape, dtype)
        on_a = gpu.array(a)
        transformed = fft.rfft(on_a)
        kept = transformed.numpy()
        check(transformed, np.fft.rfft(a), a.size)
        check(fft.irfft(transformed, shape[-1]), a, a.size)
        np.testing.assert_array_equal(transformed.numpy(), kept)
        np.testing.assert_array_equal(on_a.numpy(), a)
    even = fft.irfft(fft.rfft(gpu.array(np.ones(8, dtype))))
    check(even, np.ones(8), 8)


def test_more_plans_than_a_device_keeps(gpu: device.Device) -> None:
    for n in [*range(1, 70), *range(1, 70)]:
        check(fft.fft(gpu.array(np.ones(n, "complex128"))), np.fft.fft(np.ones(n)), n)


def test_what_does_not_fit_is_refused(gpu: device.Device) -> None:
    real = gpu.array(np.ones((2, 3)))
    with pytest.raises(TypeError, match="complex64 or complex128"):
        fft.fft(real)
    with pytest.raises(TypeError, match="not empty"):
        fft.rfft(gpu.empty((0,)))
    with pytest.raises(ValueError, match="C order"):
        fft.rfft(real.T)
    with pytest.raises(ValueError, match="gives 2 or 3, not 9"):
        fft.irfft(gpu.array(np.ones(2, "complex128")), 9)
