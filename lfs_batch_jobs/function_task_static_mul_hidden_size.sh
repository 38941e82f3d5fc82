#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Multiplication against the hidden size: Figure 3 (top) of arXiv:2001.05016 (function_task_static_mul_hidden_size)
#
#   bash lfs_batch_jobs/function_task_static_mul_hidden_size.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/function_task_static_mul_hidden_size.sh
#   bsub < lfs_batch_jobs/function_task_static_mul_hidden_size.sh
#
# Models, and runs of each:
#   nac-mul: NAC•, 450 runs
#   nac-sigma: NAC•,σ, 450 runs
#   nac-nmu: NAC•,NMU, 450 runs
#   nalu: NALU, 450 runs
#   nmu: NMU, 450 runs
#   gated: Gated NAU/NMU, 450 runs
#
#SBATCH --job-name=function_task_static_mul_hidden_size
#SBATCH --array=0-53
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=24:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "function_task_static_mul_hidden_size[1-54]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o function_task_static_mul_hidden_size_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" function_task_static_mul_hidden_size "$@"
