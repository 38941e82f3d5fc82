#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# The mystery arithmetic problem: sums, differences and products of 100 inputs: Performance evaluation of article, 2020 (article/mystery)
#
#   bash lfs_batch_jobs/article-mystery.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/article-mystery.sh
#   bsub < lfs_batch_jobs/article-mystery.sh
#
# Models, and runs of each:
#   vanilla: vanilla, 50 runs
#   nac: NAC, 50 runs
#   article: NALU (article), 50 runs
#   two-nac: NALU (two NACs), 50 runs
#   shared: NALU (paper), 50 runs
#
#SBATCH --job-name=article-mystery
#SBATCH --array=0-4
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=00:30:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "article-mystery[1-5]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:30
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o article-mystery_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" article-mystery "$@"
