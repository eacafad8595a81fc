"""Copies to and from mapped buffers, over shared memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from device_places import serve, stopped
from outboard import device, paths


def test_copies_of_idle_buffers_and_their_wait_need_no_answer(
    native: paths.Native, tmp_path: Path
) -> None:
    sent = np.arange(float(1 << 17))  # 1 MiB, so that the first copy maps the buffer
    read = np.full_like(sent, np.nan)
    with (
        serve(native, "shm", tmp_path) as (name, daemon),
        device.open(name, dead_after_s=10) as gpu,
        gpu.queue() as queue,
    ):
        array = gpu.empty(sent.shape)
        queue.write(array, sent)
        queue.synchronize()
        with stopped(daemon):
            queue.write(array, 2 * sent)
            queue.synchronize()
            queue.read(read, array)
            queue.synchronize()
        np.testing.assert_array_equal(read, 2 * sent)
