#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Multiplication against the overlap of subsets: Figure 8 (overlap) of arXiv:2001.05016 (function_task_static_mul_overlap)
#
#   bash lfs_batch_jobs/function_task_static_mul_overlap.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/function_task_static_mul_overlap.sh
#   bsub < lfs_batch_jobs/function_task_static_mul_overlap.sh
#
# Models, and runs of each:
#   nac-mul: NAC•, 300 runs
#   nac-sigma: NAC•,σ, 300 runs
#   nac-nmu: NAC•,NMU, 300 runs
#   nalu: NALU, 300 runs
#   nmu: NMU, 300 runs
#   gated: Gated NAU/NMU, 300 runs
#
#SBATCH --job-name=function_task_static_mul_overlap
#SBATCH --array=0-35
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=14:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "function_task_static_mul_overlap[1-36]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 14:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o function_task_static_mul_overlap_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" function_task_static_mul_overlap "$@"
