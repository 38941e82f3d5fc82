#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# The arithmetic data set, every unit and operation: Table 6 of arXiv:2001.05016 (function_task_static_all)
#
#   bash lfs_batch_jobs/function_task_static.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/function_task_static.sh
#   bsub < lfs_batch_jobs/function_task_static.sh
#
# Models, and runs of each:
#   linear: Linear, 600 runs
#   relu: ReLU, 600 runs
#   relu6: ReLU6, 600 runs
#   nac-add: NAC+, 600 runs
#   nac-mul: NAC•, 600 runs
#   nac-sigma: NAC•,σ, 600 runs
#   nac-nmu: NAC•,NMU, 600 runs
#   nalu: NALU, 600 runs
#   nau: NAU, 600 runs
#   nmu: NMU, 600 runs
#   gated: Gated NAU/NMU, 600 runs
#
#SBATCH --job-name=function_task_static
#SBATCH --array=0-131
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
#BSUB -J "function_task_static[1-132]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 12:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o function_task_static_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" function_task_static "$@"
