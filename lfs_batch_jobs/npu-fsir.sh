#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# A fractional SIR model as a neural differential equation: error and weights that count: Figure 4, left of arXiv:2006.01681 (npu/fsir)
#
#   bash lfs_batch_jobs/npu-fsir.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/npu-fsir.sh
#   bsub < lfs_batch_jobs/npu-fsir.sh
#
# Models, and runs of each:
#   npu: NPU, 100 runs
#   realnpu: Real NPU, 100 runs
#   dense: Dense, 100 runs
#
#SBATCH --job-name=npu-fsir
#SBATCH --array=0-14
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=02:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "npu-fsir[1-15]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 2:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o npu-fsir_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" npu-fsir "$@"
