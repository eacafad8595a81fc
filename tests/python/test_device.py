"""Tests outboard.device with the built library: on the processor of this process, and behind a
daemon over shared memory and TCP."""

from __future__ import annotations

import asyncio
import gc
import itertools
import queue
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Outboard
from device_places import TYPES, random_array
from outboard import device, paths
from outboard.device import native as library


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [*TYPES, "int32", "uint8"])
def test_arrays_come_back(gpu: device.Device, generator: Any, dtype: str, order: str) -> None:
    host = np.asarray(generator.integers(0, 100, (7, 5)), dtype=dtype, order=order)
    array = gpu.array(host)
    expected = host.copy()
    host[...] = 1  # the write has captured it
    result = array.numpy()
    assert (array.shape, array.dtype, array.order) == (expected.shape, expected.dtype, order)
    np.testing.assert_array_equal(result, expected)
    assert result.flags.f_contiguous == (order == "F")
    np.testing.assert_array_equal(array.T.numpy(), expected.T)


def test_slices_and_lists_are_packed(gpu: device.Device) -> None:
    host = np.arange(60.0).reshape(6, 10)
    np.testing.assert_array_equal(gpu.array(host[1:5:2, ::3]).numpy(), host[1:5:2, ::3])
    np.testing.assert_array_equal(gpu.array([1, 2, 3], dtype="float32").numpy(), [1, 2, 3])
    assert gpu.empty((0, 3)).numpy().shape == (0, 3)


@pytest.mark.parametrize("dtype", TYPES)
def test_products_follow_numpy(gpu: device.Device, generator: Any, dtype: str) -> None:
    m, n, k = (int(x) for x in generator.integers(1, 40, 3))
    for order_a, order_b in itertools.product("CF", "CF"):
        a = np.asarray(random_array(generator, (m, k), dtype), order=order_a)
        b = np.asarray(random_array(generator, (k, n), dtype), order=order_b)
        on_a, on_b = gpu.array(a), gpu.array(b)
        # |error| <= 2 k eps |a||b| for each of both sides, and four products for complex numbers
        tolerance = 16 * k * np.finfo(dtype).eps
        np.testing.assert_allclose((on_a @ on_b).numpy(), a @ b, rtol=0, atol=tolerance)
        np.testing.assert_allclose((on_b.T @ on_a.T).numpy(), (a @ b).T, rtol=0, atol=tolerance)
        np.testing.assert_allclose(
            (on_a @ gpu.array(b[:, 0])).numpy(), a @ b[:, 0], rtol=0, atol=tolerance
        )
        np.testing.assert_allclose(
            (gpu.array(a[0]) @ on_b).numpy(), a[0] @ b, rtol=0, atol=tolerance
        )


def test_products_of_other_types_and_shapes_are_refused(gpu: device.Device) -> None:
    a = gpu.array(np.ones((2, 3)))
    with pytest.raises(TypeError, match="float64 and float32"):
        a @ gpu.array(np.ones((3, 2), "float32"))
    with pytest.raises(TypeError, match="int64"):
        gpu.array(np.ones((2, 2), "int64")) @ gpu.array(np.ones((2, 2), "int64"))
    with pytest.raises(ValueError, match="inner extents"):
        a @ a
    with pytest.raises(TypeError):
        a @ np.ones((3, 2))
    with pytest.raises(ValueError, match="one or two dimensions"):
        gpu.array(np.ones((2, 2, 2)))
    with pytest.raises(TypeError, match="Python objects"):
        gpu.array(np.array([object()]))


def test_queues_are_ordered_by_events(gpu: device.Device) -> None:
    host = np.arange(1000.0)
    back = np.zeros(1000)
    with gpu.queue() as writes, gpu.queue() as reads:
        array = gpu.empty((1000,))
        writes.write(array, host)
        event = writes.record()
        reads.hold(event)
        reads.read(back, array)
        report = reads.synchronize()
        event.wait(timeout=60)
    np.testing.assert_array_equal(back, host)
    assert report.compute_s == 0
    with pytest.raises(ValueError, match="does not fit"):
        gpu.own_queue.read(np.zeros(999), array)


def test_a_queue_and_its_events_can_be_awaited(gpu: device.Device, generator: Any) -> None:
    host = generator.uniform(-1, 1, (60, 60))

    async def compute() -> tuple[Any, list[int]]:
        queues = [gpu.queue() for _ in range(3)]
        ticks: list[int] = []

        async def tick() -> None:
            for i in range(3):
                ticks.append(i)
                await asyncio.sleep(0)

        arrays = [gpu.array(host * (i + 1), queue=q) for i, q in enumerate(queues)]
        events = [q.record() for q in queues]
        # Several waiters of one event and of one queue, and other work of the loop.
        await asyncio.gather(*events, *events, tick(), *queues)
        reports = await asyncio.gather(*queues)
        assert all(report.failure is None for report in reports)
        return [a.numpy() for a in arrays], ticks

    results, ticks = asyncio.run(asyncio.wait_for(compute(), 60))
    assert ticks == [0, 1, 2]
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, host * (i + 1))


def test_an_awaited_queue_raises_its_failure(gpu: device.Device) -> None:
    if gpu.facts.backend == "cuda":
        pytest.skip("cuSOLVER takes elements that are no numbers")

    async def fail() -> None:
        with gpu.queue() as q:
            on_device = gpu.array(np.full((1, 1), np.nan), queue=q)
            values, info = gpu.empty((1,)), gpu.empty((1,), "int64")
            operands = [
                device.native.flag("N"),
                device.native.flag("U"),
                device.native.integer(1),
                device.native.matrix(on_device.buffer, 1),
                device.native.matrix(values.buffer, 0),
                device.native.matrix(info.buffer, 0),
            ]
            q.call("dsyevd", operands)
            with pytest.raises(device.UnsupportedError):
                await q
            await q  # the failure is cleared

    asyncio.run(asyncio.wait_for(fail(), 60))


def test_callbacks_run_on_another_thread(gpu: device.Device) -> None:
    seen: queue.Queue[tuple[int, device.Report]] = queue.Queue()
    with gpu.queue() as q:
        gpu.array([1.0], queue=q)
        q.then(lambda report: seen.put((threading.get_ident(), report)))
        thread, report = seen.get(timeout=60)
    assert thread != threading.get_ident()
    assert report.failure is None


def test_fill_and_timed_events(gpu: device.Device) -> None:
    with gpu.queue() as q:
        for dtype, value in (("float64", 2.5), ("complex64", 1 - 2j), ("uint8", 7)):
            array = gpu.empty((5, 3), dtype)
            first = q.record(timed=True)
            q.fill(array, value)
            last = q.record(timed=True)
            q.synchronize()
            np.testing.assert_array_equal(array.numpy(), np.full((5, 3), value, dtype))
            assert last.seconds_since(first) > 0
            with pytest.raises(device.InvalidArgumentError, match="later"):
                first.seconds_since(last)


def test_failures_are_exceptions(gpu: device.Device) -> None:
    array = gpu.empty((4,))
    queue = gpu.queue()
    queue.close()
    with pytest.raises(device.InvalidArgumentError, match="NULL") as caught:
        queue.write(array, np.zeros(4))
    assert isinstance(caught.value, ValueError)
    assert (caught.value.code, caught.value.origin) == (1, "caller")
    with pytest.raises(device.UnsupportedError, match="xgemm"):
        gpu.own_queue.call("xgemm", [])
    with pytest.raises(MemoryError):
        huge = gpu.empty((1 << 47,))  # here, or where it is used
        gpu.own_queue.call(
            "dscal",
            [
                device.native.integer(1),
                device.native.scalar(1, False)[0],
                device.native.matrix(huge.buffer, 1),
            ],
        )
        gpu.own_queue.synchronize()


def test_a_closed_device_ends_its_objects(where: str) -> None:
    with device.open(where) as opened:
        array = opened.array(np.ones(3))
        assert opened.facts.backend in ("cpu", "cuda", "opencl")
        assert opened.facts.memory_bytes > 0
    with pytest.raises(device.InvalidArgumentError):
        array.numpy()


def test_the_garbage_collector_hides_no_failure(
    where: str, gpu: device.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cycle:
        pass

    with device.open(where) as other:
        cycle: Any = Cycle()
        cycle.itself, cycle.kept = cycle, [other.empty((2, 2)), device.Event(other)]
    found = weakref.ref(cycle)
    del cycle  # the collector ends the array and the event, which fails: their device is closed
    read = library.last_failure

    def collect_and_read() -> device.DeviceError:
        gc.collect()
        assert found() is None
        return read()

    monkeypatch.setattr(library, "last_failure", collect_and_read)
    with pytest.raises(device.UnsupportedError, match="xgemm"):
        gpu.own_queue.call("xgemm", [])


def test_nobody_answers() -> None:
    with pytest.raises(device.DeviceError, match=r"127\.0\.0\.1:1") as caught:
        device.open("127.0.0.1:1")
    assert caught.value.origin == "connection"


def test_a_daemon_that_dies_is_a_lost_connection(native: paths.Native, tmp_path: Path) -> None:
    command = [str(native.daemon), "--backend", "null", "--listen", f"unix:{tmp_path / 'socket'}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as daemon:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        with device.open(f"unix:{tmp_path / 'socket'}") as gpu:
            array = gpu.array(np.ones(3))
            daemon.kill()
            daemon.wait()
            with pytest.raises(device.ConnectionLostError) as first:
                array.numpy()
            with pytest.raises(ConnectionError, match="lost") as second:
                gpu.queue()
            assert str(first.value) == str(second.value)


@pytest.mark.end_to_end
def test_a_local_device_keeps_its_calls_from_the_drop_in_library(
    native: paths.Native, outboard: Outboard
) -> None:
    program = (
        "from outboard import device\n"
        "with device.open('local:cpu') as gpu:\n"
        "    a = gpu.array([[3.0]])\n"
        "    print((a @ a).numpy()[0, 0])\n"
    )
    result = outboard("run", "--mode", "remote", "--report", "--", sys.executable, "-c", program)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "9.0\n"
    assert "saw no call" in result.stderr
