#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Even digits of a picture, counted by one network with eight last layers: Table 4 of arXiv:1808.00508 (nalu/table4)
#
#   bash lfs_batch_jobs/nalu-table4.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/nalu-table4.sh
#   bsub < lfs_batch_jobs/nalu-table4.sh
#
# Models, and runs of each:
#   linear-b: W x + b, 3 runs
#   linear: W x, 3 runs
#   sigmoid-b: σ(W) x + b, 3 runs
#   sigmoid: σ(W) x, 3 runs
#   tanh-b: tanh(W) x + b, 3 runs
#   tanh: tanh(W) x, 3 runs
#   nac-b: NAC + b, 3 runs
#   nac: NAC, 3 runs
#
#SBATCH --job-name=nalu-table4
#SBATCH --array=0-7
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
#BSUB -J "nalu-table4[1-8]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:30
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o nalu-table4_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" nalu-table4 "$@"
