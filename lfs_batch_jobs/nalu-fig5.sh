#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Tracking time in a grid world: arriving at a given step, beyond those of training: Figure 5 of arXiv:1808.00508 (nalu/fig5)
#
#   bash lfs_batch_jobs/nalu-fig5.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/nalu-fig5.sh
#   bsub < lfs_batch_jobs/nalu-fig5.sh
#
# Models, and runs of each:
#   lstm: LSTM, 3 runs
#   nac-feedforward: NAC, feed-forward, 3 runs
#   nac: NAC, recurrent, 3 runs
#   nalu: NALU, recurrent, 3 runs
#
#SBATCH --job-name=nalu-fig5
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
#BSUB -J "nalu-fig5[1-4]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o nalu-fig5_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" nalu-fig5 "$@"
