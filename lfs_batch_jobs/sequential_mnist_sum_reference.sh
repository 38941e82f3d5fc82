#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Sums of digit sequences: appendix figures of sums of arXiv:2001.05016 (sequential_mnist_sum_long)
#
#   bash lfs_batch_jobs/sequential_mnist_sum_reference.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/sequential_mnist_sum_reference.sh
#   bsub < lfs_batch_jobs/sequential_mnist_sum_reference.sh
#
# Models, and runs of each:
#   reference: solved accumulator, 10 runs
#
#SBATCH --job-name=sequential_mnist_sum_reference
#SBATCH --array=0-9
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=2G
#SBATCH --time=08:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#SBATCH --gres=gpu:1
#BSUB -J "sequential_mnist_sum_reference[1-10]"
#BSUB -n 2
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 8:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o sequential_mnist_sum_reference_%J_%I.lsf.out
#BSUB -gpu "num=1:mode=exclusive_process"

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" sequential_mnist_sum_reference "$@"
