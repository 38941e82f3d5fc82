#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Six operations on sums over ten steps, tested on 1,000, relative to untrained LSTMs: Table 1, recurrent of arXiv:1808.00508 (nalu/table1-recurrent)
#
#   bash lfs_batch_jobs/nalu-table1-recurrent.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/nalu-table1-recurrent.sh
#   bsub < lfs_batch_jobs/nalu-table1-recurrent.sh
#
# Models, and runs of each:
#   lstm: LSTM, 60 runs
#   relu: ReLU, 60 runs
#   nac: NAC, 60 runs
#   nalu: NALU, 60 runs
#
#SBATCH --job-name=nalu-table1-recurrent
#SBATCH --array=0-23
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
#BSUB -J "nalu-table1-recurrent[1-24]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:30
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o nalu-table1-recurrent_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" nalu-table1-recurrent "$@"
