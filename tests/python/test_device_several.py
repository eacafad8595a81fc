"""Tests outboard.device.several and the leases, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from device_places import TYPES, random_array
from outboard import device
from outboard.device import several


@pytest.mark.parametrize("dtype", TYPES)
def test_all_routines(gpu: device.Device, generator: Any, dtype: str) -> None:
    n = int(generator.integers(2, 60))
    tolerance = float(100 * n * n * np.finfo(dtype).eps)
    a = random_array(generator, (n, n), dtype)
    definite = a @ a.conj().T + n * np.eye(n, dtype=dtype)
    with device.open("local:cpu") as other:
        devices = [gpu, other]
        product = several.matmul(devices, a, a[:, :-1])
        np.testing.assert_allclose(product, a @ a[:, :-1], rtol=0, atol=tolerance)
        factor, info = several.cholesky(devices, definite)
        assert info == 0
        np.testing.assert_allclose(factor @ factor.conj().T, definite, rtol=0, atol=tolerance)
        factors, pivots, info = several.lu(devices, a)
        assert info == 0
        rows = a.copy()
        for row, pivot in enumerate(pivots):
            rows[[row, pivot - 1]] = rows[[pivot - 1, row]]
        lower = np.tril(factors, -1) + np.eye(n)
        np.testing.assert_allclose(lower @ np.triu(factors), rows, rtol=0, atol=tolerance)
        r, tau = several.qr(devices, a)
        assert tau.shape == (n,)
        upper = np.triu(r)
        gram = a.conj().T @ a
        np.testing.assert_allclose(upper.conj().T @ upper, gram, rtol=0, atol=n * tolerance)


def test_mistakes_are_refused(gpu: device.Device) -> None:
    with pytest.raises(device.InvalidArgumentError, match="given twice"):
        several.matmul([gpu, gpu], np.eye(2), np.eye(2))
    with pytest.raises(TypeError, match="astype"):
        several.cholesky([gpu], np.eye(2, dtype=int))
    with pytest.raises(ValueError, match="no product"):
        several.matmul([gpu], np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="square"):
        several.cholesky([gpu], np.zeros((2, 3)))


def test_leases_need_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OUTBOARD_POOL", raising=False)
    with pytest.raises(device.InvalidArgumentError, match="OUTBOARD_POOL"):
        device.Lease(device.Request(count=2, kind="gpu", wait_s=1.5))
    with pytest.raises(device.InvalidArgumentError, match="count"):
        device.Lease(device.Request(count=0))
