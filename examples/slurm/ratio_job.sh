#!/bin/sh
# Accelerators that come with the job: eight compute nodes and one with an accelerator (a ratio of
# 1:8; for 1:16, --nodes=16 and --shared 0.0625). The daemon joins the pool for as long as the job
# runs, with the job's number as a label, and each task takes its part of the job's own device.
#   sbatch ratio_job.sh
#SBATCH --job-name=ratio --time=1:00:00
#SBATCH --partition=compute --nodes=8 --ntasks-per-node=1
#SBATCH hetjob
#SBATCH --partition=accel --nodes=1 --ntasks-per-node=1

export OUTBOARD_POOL=https://pool.example.org:7780
srun --het-group=1 outboard serve --key /etc/outboard/keys/node --listen 0.0.0.0:7770 \
  --pool "$OUTBOARD_POOL" --label "job=$SLURM_JOB_ID" &
daemon=$!
srun --het-group=0 outboard run --accelerators 1 --shared 0.125 --label "job=$SLURM_JOB_ID" \
  --wait 1m -- ./solver
status=$?
kill "$daemon"
wait "$daemon"
exit "$status"
