#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Comparisons learned on digits: the error by the number of digits: comparisons over magnitudes of arXiv:2004.07085 (nsr/comparison)
#
#   bash lfs_batch_jobs/nsr-comparison.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/nsr-comparison.sh
#   bsub < lfs_batch_jobs/nsr-comparison.sh
#
# Models, and runs of each:
#   nsr: NSR, 60 runs
#   mlp: MLP, 60 runs
#   nalu: NALU, 60 runs
#
#SBATCH --job-name=nsr-comparison
#SBATCH --array=0-17
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=01:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "nsr-comparison[1-18]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o nsr-comparison_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" nsr-comparison "$@"
