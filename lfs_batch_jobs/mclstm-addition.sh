#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# The marked ones of a hundred numbers, added, on longer sequences and larger numbers: Table 1 of arXiv:2101.05186 (mclstm/addition)
#
#   bash lfs_batch_jobs/mclstm-addition.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/mclstm-addition.sh
#   bsub < lfs_batch_jobs/mclstm-addition.sh
#
# Models, and runs of each:
#   mc-lstm: MC-LSTM, 12 runs
#   lstm: LSTM, 12 runs
#   lstm-open: LSTM, open, 12 runs
#   nau: NAU, 12 runs
#   nalu: NALU, 12 runs
#
#SBATCH --job-name=mclstm-addition
#SBATCH --array=0-4
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=06:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "mclstm-addition[1-5]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 6:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o mclstm-addition_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" mclstm-addition "$@"
