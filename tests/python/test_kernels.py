"""Tests kernels of outboard.device with the built library, on the processor of this process through
PoCL."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outboard import device, paths

AXPY = """
__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

KEEP = """
typedef struct { int number; } item;
__kernel void keep(char a, ushort b, float c, float4 v, __global T* out, OB_LOCAL_ARG(int, tile),
                   __global const item* items) {
  OB_LOCAL_BIND(int, tile);
  tile[0] = a;
  out[0] = tile[0] + b + c;
  out[1] = v.x + v.y * 10 + v.z * 100 + v.w * 1000;
  out[2] = items[1].number;
}
"""


@pytest.fixture(scope="module")
def generator() -> Any:
    seed = int(os.environ.get("OUTBOARD_TEST_SEED", secrets.randbits(32)))
    print(f"seed: OUTBOARD_TEST_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture(params=["cpu", "opencl"])
def gpu(request: pytest.FixtureRequest, native: paths.Native) -> Iterator[device.Device]:
    assert (native.root / "lib" / "liboutboard.so.1").exists(), "the device API is not built"
    try:
        opened = device.open(f"local:{request.param}")
    except device.DeviceError as error:
        pytest.skip(f"no such device here ({error})")
    with opened:
        if not opened.facts.kernels:
            pytest.skip("no kernels here (is pocl-opencl-icd installed?)")
        yield opened


def test_a_bound_kernel_runs_often(gpu: device.Device, generator: Any) -> None:
    n = int(generator.integers(1, 5000))
    x, y = (generator.integers(-100, 100, n).astype("float64") for _ in range(2))
    with gpu.queue() as queue:
        on_x, on_y = gpu.array(x, queue=queue), gpu.array(y, queue=queue)
        run = gpu.module(AXPY).kernel("axpy").bind(3, on_x, on_y, n)
        for _ in range(5):
            run(queue, (n + 31) // 32, 32)
        assert np.array_equal(on_y.numpy(queue), y + 15 * x)
        assert queue.synchronize().compute_s > 0


def test_numbers_vectors_and_structs_arrive(gpu: device.Device) -> None:
    module = gpu.module(KEEP, "-D T=double")
    kernel = module.kernel("keep")
    out = gpu.array(np.full(3, np.nan))
    items = gpu.array(np.array([7, -8], dtype="int32"))
    run = kernel.bind(-5, 65535, 0.5, (1, 2, 3, 4), out, device.LocalMemory(64), items)
    run(gpu.own_queue, (1, 1), (1, 1, 1))
    assert list(out.numpy()) == [65530.5, 4321.0, -8.0]
    assert [(p.kind, p.type, p.nbytes) for p in kernel.parameters] == [
        ("scalar", "char", 1),
        ("scalar", "ushort", 2),
        ("scalar", "float", 4),
        ("scalar", "float4", 16),
        ("buffer", "double*", 8),
        ("local", "int*", 4),
        ("buffer", "item*", 0),
    ]


def test_a_module_that_does_not_compile_has_a_log(gpu: device.Device) -> None:
    module = gpu.module("__kernel void f() {\n  nowhere = 1;\n}\n")
    with pytest.raises(device.BuildError, match="nowhere") as caught:
        module.kernel("f").bind()
    assert caught.value.origin == "compiler"
    assert ":2:" in module.log
    with pytest.raises(device.InvalidArgumentError, match="-D NAME"):
        gpu.module(AXPY, "-I/etc")
    with pytest.raises(ValueError, match="portable"):
        gpu.module(AXPY, kind="fortran")


def test_wrong_arguments_are_refused(gpu: device.Device) -> None:
    kernel = gpu.module(AXPY).kernel("axpy")
    x, y = gpu.array(np.ones(8)), gpu.array(np.ones(8))
    single = gpu.array(np.ones(8, dtype="float32"))
    with pytest.raises(TypeError, match="takes 4: double a"):
        kernel.bind(1.0, x, y)
    with pytest.raises(TypeError, match="float32"):
        kernel.bind(1.0, single, y, 8)
    with pytest.raises(TypeError, match="ulong"):
        kernel.bind(1.0, x, y, -1)
    with pytest.raises(TypeError, match="pass an array"):
        kernel.bind(1.0, np.ones(8), y, 8)
    with pytest.raises(device.InvalidArgumentError, match="is a number"):
        kernel.bind(x, x, y, 8)
    with pytest.raises(device.InvalidArgumentError, match="axpy"):
        gpu.module(AXPY).kernel("other").bind()
    run = kernel.bind(1.0, x, y, 8)
    with pytest.raises(device.InvalidArgumentError, match="nothing"):
        run(gpu.own_queue, 0, 8)
    with pytest.raises(ValueError, match="one to three"):
        run(gpu.own_queue, (1, 1, 1, 1), 8)
    assert np.array_equal(y.numpy(), np.ones(8))


def test_those_of_the_null_device_do_nothing(native: paths.Native) -> None:
    with device.open("local:null") as null:
        assert null.facts.kernels
        x, y = null.array(np.arange(8.0)), null.array(np.ones(8))
        null.module(AXPY).kernel("axpy").bind(2.0, x, y, 8)(null.own_queue, 1, 8)
        with pytest.raises(TypeError, match="takes 4"):
            null.module(AXPY).kernel("axpy").bind(2.0, x, y)
        null.own_queue.synchronize()


def test_the_example_runs(gpu: device.Device) -> None:
    program = Path(__file__).parents[2] / "examples" / "device" / "kernel.py"
    name = f"local:{gpu.facts.backend}"
    done = subprocess.run(
        [sys.executable, str(program), name], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "12.0 24.0 36.0 48.0\n"), done.stderr
