#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# How many of each digit a sequence of images has: Table 2, count of arXiv:1808.00508 (nalu/table2-count)
#
#   bash lfs_batch_jobs/nalu-table2-count.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/nalu-table2-count.sh
#   bsub < lfs_batch_jobs/nalu-table2-count.sh
#
# Models, and runs of each:
#   lstm: LSTM, 6 runs
#   gru: GRU, 6 runs
#   rnn-tanh: RNN-tanh, 6 runs
#   rnn-relu: RNN-ReLU, 6 runs
#   nac: NAC, 6 runs
#   nalu: NALU, 6 runs
#
#SBATCH --job-name=nalu-table2-count
#SBATCH --array=0-11
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
#BSUB -J "nalu-table2-count[1-12]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:30
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o nalu-table2-count_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" nalu-table2-count "$@"
