#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Two layers on sums of a hundred inputs: experiment 4 of arXiv:2003.07629 (inalu/functions)
#
#   bash lfs_batch_jobs/inalu-functions.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/inalu-functions.sh
#   bsub < lfs_batch_jobs/inalu-functions.sh
#
# Models, and runs of each:
#   nalu: NALU, 80 runs
#   nalu-v: NALU (vector gate), 80 runs
#   inalu-sw: iNALU (sw), 80 runs
#   inalu-iw: iNALU (iw), 80 runs
#
#SBATCH --job-name=inalu-functions
#SBATCH --array=0-3
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
#BSUB -J "inalu-functions[1-4]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o inalu-functions_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" inalu-functions "$@"
