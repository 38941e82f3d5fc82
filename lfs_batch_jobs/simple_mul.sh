#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# The four-input function (x1+x2)(x1+x2+x3+x4): Table 1 of arXiv:2001.05016 (simple_mul)
#
#   bash lfs_batch_jobs/simple_mul.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/simple_mul.sh
#   bsub < lfs_batch_jobs/simple_mul.sh
#
# Models, and runs of each:
#   nac-mul: NAC•, 100 runs
#   nac-sigma: NAC•,σ, 100 runs
#   nalu: NALU, 100 runs
#   nmu: NMU, 100 runs
#   gated: Gated NAU/NMU, 100 runs
#
#SBATCH --job-name=simple_mul
#SBATCH --array=0-4
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=2G
#SBATCH --time=00:20:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "simple_mul[1-5]"
#BSUB -n 2
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:20
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o simple_mul_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" simple_mul "$@"
