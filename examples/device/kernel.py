"""y <- 2 x + y by a kernel of the program."""

import sys

import numpy as np

from outboard import device

SOURCE = """
__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

with device.open(sys.argv[1] if len(sys.argv) > 1 else None) as gpu, gpu.queue() as queue:
    x = gpu.array(np.array([1.0, 2.0, 3.0, 4.0]), queue=queue)
    y = gpu.array(np.array([10.0, 20.0, 30.0, 40.0]), queue=queue)
    axpy = gpu.module(SOURCE).kernel("axpy").bind(2.0, x, y, 4)
    axpy(queue, groups=1, group_size=64)
    print(*y.numpy(queue))
