"""Compresses the frames of a film: a singular value decomposition of each.

usage: svd_frames.py [HEIGHT]
"""

import sys

import numpy as np

height = int(sys.argv[1]) if len(sys.argv) > 1 else 400
width, frames, kept = 4 * height // 3, 12, 10
rng = np.random.default_rng(12)
energy = []
for _ in range(frames):
    frame = np.cumsum(np.cumsum(rng.standard_normal((height, width)), 0), 1)
    u, s, vt = np.linalg.svd(frame, full_matrices=False)
    energy.append(np.linalg.norm((u[:, :kept] * s[:kept]) @ vt[:kept]))
print("result", *energy)
