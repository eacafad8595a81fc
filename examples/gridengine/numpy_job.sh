#!/bin/sh
# A NumPy program that knows nothing of accelerators, with two of the pool's:
#   qsub numpy_job.sh                        (in a folder with products.py, as examples/slurm)
#$ -N products
#$ -l accelerator=2
#$ -cwd

# OUTBOARD_POOL and OUTBOARD_LEASE are there already (docs/gridengine.md).
outboard run --devices 2 --report -- python3 products.py
