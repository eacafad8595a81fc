"""Kernels of Python programs, here and behind daemons, and objects that the garbage collector ends
while their work runs."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from outboard import device

SOURCE = """
__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] += a * x[i];
}
__kernel void spin(__global uint* x, ulong rounds) {
  uint state = x[0];
  for (ulong i = 0; i < rounds; ++i) state = state * 1664525u + 1013904223u;
  x[1] = state;
}
"""


@pytest.fixture
def kernels(gpu: device.Device) -> device.Module:
    if not gpu.facts.kernels:
        pytest.skip("no kernels here (is PoCL installed?)")
    return gpu.module(SOURCE)


def test_a_kernel_runs_with_the_arrays_it_has(gpu: device.Device, kernels: Any) -> None:
    x, y = np.arange(100.0), np.arange(100.0) * 7
    on_x, on_y = gpu.array(x), gpu.array(y)
    axpy = kernels.kernel("axpy").bind(3.0, on_x, on_y, 100)
    for _ in range(2):
        axpy(gpu.own_queue, 2, 64)
    np.testing.assert_array_equal(on_y.numpy(), y + 6 * x)


def test_wrong_arguments_and_sources_are_exceptions(gpu: device.Device, kernels: Any) -> None:
    axpy = kernels.kernel("axpy")
    with pytest.raises(TypeError, match="takes 4"):
        axpy.bind(1.0)
    with pytest.raises(TypeError, match="float32"):
        axpy.bind(1.0, gpu.empty((4,), "float32"), gpu.empty((4,)), 4)
    broken = gpu.module("__kernel void f(__global int* x) { x[0] = nowhere; }")
    with pytest.raises(device.BuildError, match="nowhere"):
        broken.wait()


def spinning(gpu: device.Device, kernels: Any, rounds: int = 1 << 28) -> tuple[Any, Any, Any]:
    """Returns a queue with a kernel that runs, an event behind it, and an array for a number that
    it will have read."""
    while True:
        queue = gpu.queue()
        numbers = gpu.array(np.array([1, 0], "uint32"), queue=queue)
        queue.synchronize()
        kernels.kernel("spin").bind(numbers, rounds)(queue, 1, 1)
        seen = np.zeros(2, "uint32")
        queue.read(seen, numbers)
        event = queue.record()
        queue.flush()
        try:
            event.wait(0)
        except device.DeadlineError:
            return queue, event, seen
        rounds *= 4  # a fast machine


def test_the_garbage_collector_waits_for_no_queue(gpu: device.Device, kernels: Any) -> None:
    for rounds in (1 << 28, 1 << 30, 1 << 32):  # more, should this process have stood still
        queue, event, seen = spinning(gpu, kernels, rounds)
        gone = weakref.ref(queue)
        del queue
        gc.collect()
        assert gone() is None
        try:
            event.wait(0)
        except device.DeadlineError:
            break  # the kernel still runs, with memory of a queue that is gone
    else:
        pytest.fail("the collector waited for the kernel")
    event.wait()
    state = 1
    del event
    assert seen[0] == state  # the read had its memory until the end
    # The device goes on.
    np.testing.assert_array_equal(gpu.array(np.arange(5.0)).numpy(), np.arange(5.0))


def test_objects_end_in_callbacks_and_on_other_threads(gpu: device.Device, kernels: Any) -> None:
    queue, event, _ = spinning(gpu, kernels)
    held = [queue, gpu.array(np.arange(1000.0)), gpu.module(SOURCE), device.Event(gpu)]
    done = threading.Event()

    def drop(_report: device.Report) -> None:
        held.clear()  # on the library's thread, which must not wait
        gc.collect()
        done.set()

    other = gpu.queue()
    other.then(drop)
    del queue
    assert done.wait(60)
    event.wait()


def test_a_device_that_is_forgotten_ends(where: str) -> None:
    for _ in range(3):
        forgotten = device.open(where)
        array = forgotten.array(np.arange(100.0).reshape(1, 100))
        assert (array @ array.T).numpy() == 328350
        del forgotten, array
        gc.collect()
    with device.open(where) as gpu:
        assert gpu.facts.memory_bytes > 0
