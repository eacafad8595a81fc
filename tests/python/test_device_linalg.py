"""Tests outboard.device.linalg against residuals in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from device_places import TYPES, random_array
from outboard import device
from outboard.device import linalg


def tolerance(dtype: str, size: int) -> float:
    """A multiple of the rounding errors of `size` operations on numbers up to `size`."""
    return float(100 * size * size * np.finfo(dtype).eps)


def positive_definite(generator: Any, n: int, dtype: str, order: str) -> Any:
    root = random_array(generator, (n, n), dtype)
    return np.asarray(root @ root.conj().T + n * np.eye(n), dtype=dtype, order=order)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", TYPES)
def test_cholesky(gpu: device.Device, generator: Any, dtype: str, order: str) -> None:
    n = int(generator.integers(1, 30))
    a = positive_definite(generator, n, dtype, order)
    read = np.array(a, order=order)
    read[np.triu_indices(n, 1)] = np.nan  # only the lower triangle counts
    on_a = gpu.array(read)
    factor, info = linalg.cholesky(on_a)
    linalg.check(info)
    l = factor.numpy()  # noqa: E741 (its name everywhere)
    assert np.array_equal(np.triu(l, 1), np.zeros((n, n)))
    np.testing.assert_allclose(l @ l.conj().T, a, rtol=0, atol=tolerance(dtype, n))
    np.testing.assert_array_equal(on_a.numpy(), read)


def test_a_matrix_that_is_not_positive_definite_is_said(gpu: device.Device) -> None:
    _, info = linalg.cholesky(gpu.array(np.diag([1.0, -1.0, 1.0])))
    with pytest.raises(np.linalg.LinAlgError, match="info = 2"):
        linalg.check(info)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", TYPES)
def test_solve(gpu: device.Device, generator: Any, dtype: str, order: str) -> None:
    n, columns = (int(x) for x in generator.integers(1, 30, 2))
    a = np.asarray(random_array(generator, (n, n), dtype) + n * np.eye(n), dtype, order=order)
    b = np.asfortranarray(random_array(generator, (n, columns), dtype))
    on_a, on_b = gpu.array(a), gpu.array(b)
    x, info = linalg.solve(on_a, on_b)
    linalg.check(info)
    np.testing.assert_allclose(a @ x.numpy(), b, rtol=0, atol=tolerance(dtype, n))
    one, info = linalg.solve(on_a, gpu.array(b[:, 0]))
    linalg.check(info)
    np.testing.assert_allclose(a @ one.numpy(), b[:, 0], rtol=0, atol=tolerance(dtype, n))
    np.testing.assert_array_equal(on_a.numpy(), a)
    np.testing.assert_array_equal(on_b.numpy(), b)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_singular_matrix_is_said(gpu: device.Device, order: str) -> None:
    _, info = linalg.solve(gpu.array(np.zeros((3, 3), order=order)), gpu.array(np.ones(3)))
    with pytest.raises(np.linalg.LinAlgError, match="info = 1"):
        linalg.check(info)


@pytest.mark.parametrize("dtype", TYPES)
def test_qr(gpu: device.Device, generator: Any, dtype: str) -> None:
    for shape in ((17, 9), (9, 17), (6, 6), (1, 4), (4, 1)):
        a = np.asfortranarray(random_array(generator, shape, dtype))
        q, r, info = linalg.qr(gpu.array(a))
        linalg.check(info)
        host_q, host_r = q.numpy(), r.numpy()
        bound = tolerance(dtype, max(shape))
        assert host_q.shape == (shape[0], min(shape)) and host_r.shape == (min(shape), shape[1])
        assert np.array_equal(np.tril(host_r, -1), np.zeros(host_r.shape))
        np.testing.assert_allclose(host_q @ host_r, a, rtol=0, atol=bound)
        identity = np.eye(min(shape))
        np.testing.assert_allclose(host_q.conj().T @ host_q, identity, rtol=0, atol=bound)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", TYPES)
def test_eigh(gpu: device.Device, generator: Any, dtype: str, order: str) -> None:
    n = int(generator.integers(2, 30))
    a = positive_definite(generator, n, dtype, order)
    on_a = gpu.array(a)
    if order == "C" and dtype.startswith("complex"):
        with pytest.raises(ValueError, match="Fortran order"):
            linalg.eigh(on_a)
        return
    values, vectors, info = linalg.eigh(on_a)
    linalg.check(info)
    w, v = values.numpy(), vectors.numpy()
    assert np.all(np.diff(w) >= 0)
    np.testing.assert_allclose(a @ v, v * w, rtol=0, atol=tolerance(dtype, n))
    np.testing.assert_allclose(v.conj().T @ v, np.eye(n), rtol=0, atol=tolerance(dtype, n))


@pytest.mark.parametrize("dtype", TYPES)
def test_svd(gpu: device.Device, generator: Any, dtype: str) -> None:
    for shape in ((17, 9), (9, 17), (6, 6)):
        a = np.asfortranarray(random_array(generator, shape, dtype))
        u, s, vh, info = linalg.svd(gpu.array(a))
        linalg.check(info)
        values = s.numpy()
        assert np.all(np.diff(values) <= 0) and np.all(values >= 0)
        bound = tolerance(dtype, max(shape))
        np.testing.assert_allclose((u.numpy() * values) @ vh.numpy(), a, rtol=0, atol=bound)


def test_what_does_not_fit_is_refused(gpu: device.Device) -> None:
    square, wide = gpu.array(np.eye(3)), gpu.array(np.ones((2, 3)))
    with pytest.raises(TypeError, match="float32, float64"):
        linalg.svd(gpu.array(np.ones((2, 2), "int64")))
    with pytest.raises(ValueError, match="square matrix"):
        linalg.cholesky(wide)
    with pytest.raises(ValueError, match="Fortran order"):
        linalg.qr(wide)
    with pytest.raises(ValueError, match="do not fit"):
        linalg.solve(square, gpu.array(np.ones(2)))
    with pytest.raises(TypeError, match="one type"):
        linalg.solve(square, gpu.array(np.ones(3, "float32")))
