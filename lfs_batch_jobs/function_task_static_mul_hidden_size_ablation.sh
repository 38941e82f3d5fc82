#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Ablation of the NMU against the hidden size: Figure 7 of arXiv:2001.05016 (function_task_static_mul_hidden_size_ablation)
#
#   bash lfs_batch_jobs/function_task_static_mul_hidden_size_ablation.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/function_task_static_mul_hidden_size_ablation.sh
#   bsub < lfs_batch_jobs/function_task_static_mul_hidden_size_ablation.sh
#
# Models, and runs of each:
#   nmu: NMU, 450 runs
#   no-sparse: NMU, no R_sparse, 450 runs
#   no-clamp: NMU, no W-clamp, 450 runs
#   neither: NMU, no R_sparse, no W-clamp, 450 runs
#
#SBATCH --job-name=function_task_static_mul_hidden_size_ablation
#SBATCH --array=0-35
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=8G
#SBATCH --time=24:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "function_task_static_mul_hidden_size_ablation[1-36]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=8GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o function_task_static_mul_hidden_size_ablation_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" function_task_static_mul_hidden_size_ablation "$@"
