#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# The sum of the digits of a sequence of images: Table 2, sum of arXiv:1808.00508 (nalu/table2-sum)
#
#   bash lfs_batch_jobs/nalu-table2-sum.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/nalu-table2-sum.sh
#   bsub < lfs_batch_jobs/nalu-table2-sum.sh
#
# Models, and runs of each:
#   lstm: LSTM, 6 runs
#   gru: GRU, 6 runs
#   rnn-tanh: RNN-tanh, 6 runs
#   rnn-relu: RNN-ReLU, 6 runs
#   nac: NAC, 6 runs
#   nalu: NALU, 6 runs
#
#SBATCH --job-name=nalu-table2-sum
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
#BSUB -J "nalu-table2-sum[1-12]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:30
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o nalu-table2-sum_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" nalu-table2-sum "$@"
