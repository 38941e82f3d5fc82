#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# The gate of the NALU after an adding layer: Figure 9 of arXiv:2001.05016, Table 5 of arXiv:2001.05016 (function_task_static_nalu)
#
#   bash lfs_batch_jobs/function_task_static_nalu.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/function_task_static_nalu.sh
#   bsub < lfs_batch_jobs/function_task_static_nalu.sh
#
# Models, and runs of each:
#   nalu-shared: NALU (shared), 200 runs
#   nalu-separate: NALU (separate), 200 runs
#   gated: Gated NAU/NMU, 200 runs
#
#SBATCH --job-name=function_task_static_nalu
#SBATCH --array=0-11
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=12:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "function_task_static_nalu[1-12]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 12:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o function_task_static_nalu_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" function_task_static_nalu "$@"
