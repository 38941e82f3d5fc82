#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Noise ranges on the arithmetic data set: Figure 5 of arXiv:2211.05624 (fts-snmu-noise-ranges)
#
#   bash lfs_batch_jobs/icml_2022/arithmetic_dataset_noise_ranges.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/icml_2022/arithmetic_dataset_noise_ranges.sh
#   bsub < lfs_batch_jobs/icml_2022/arithmetic_dataset_noise_ranges.sh
#
# Models, and runs of each:
#   0.01-0.05: [0.01,0.05], 225 runs
#   0.1-0.5: [0.1,0.5], 225 runs
#   1-2: [1,2], 225 runs
#   5-10: [5,10], 225 runs
#   10-20: [10,20], 225 runs
#
#SBATCH --job-name=arithmetic_dataset_noise_ranges
#SBATCH --array=0-24
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
#BSUB -J "arithmetic_dataset_noise_ranges[1-25]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o arithmetic_dataset_noise_ranges_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" icml_2022/arithmetic_dataset_noise_ranges "$@"
