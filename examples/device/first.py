"""A product of two matrices on a device."""

import sys

import numpy as np

from outboard import device

a = np.arange(6.0).reshape(2, 3)
with device.open(sys.argv[1] if len(sys.argv) > 1 else None) as gpu:
    on_a = gpu.array(a)
    print((on_a @ on_a.T).numpy())
