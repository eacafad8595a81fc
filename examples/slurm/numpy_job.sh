#!/bin/sh
# A NumPy program that knows nothing of accelerators, with two of the pool's:
#   sbatch numpy_job.sh                      (in this folder, which has products.py)
#SBATCH --job-name=products
#SBATCH --licenses=accelerator:2
#SBATCH --time=10:00

# OUTBOARD_POOL and OUTBOARD_LEASE are there already (docs/slurm.md).
outboard run --devices 2 --report -- python3 products.py
