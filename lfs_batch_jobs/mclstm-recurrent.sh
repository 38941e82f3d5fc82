#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Sums over sequences, added, subtracted and multiplied: Table 2 of arXiv:2101.05186 (mclstm/recurrent)
#
#   bash lfs_batch_jobs/mclstm-recurrent.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/mclstm-recurrent.sh
#   bsub < lfs_batch_jobs/mclstm-recurrent.sh
#
# Models, and runs of each:
#   mc-lstm: MC-LSTM, 30 runs
#   lstm: LSTM, 30 runs
#   nau: NAU, NMU, 30 runs
#   nac: NAC, 30 runs
#   nalu: NALU, 30 runs
#
#SBATCH --job-name=mclstm-recurrent
#SBATCH --array=0-14
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=12:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "mclstm-recurrent[1-15]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 12:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o mclstm-recurrent_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" mclstm-recurrent "$@"
