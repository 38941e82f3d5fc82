#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Two sums of 100 inputs, added, multiplied, inverted and under a root: Table 2 and figure 7 of arXiv:2006.01681 (npu/large)
#
#   bash lfs_batch_jobs/npu-large.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/npu-large.sh
#   bsub < lfs_batch_jobs/npu-large.sh
#
# Models, and runs of each:
#   npu: NPU, 80 runs
#   realnpu: Real NPU, 80 runs
#   nalu: NALU, 80 runs
#   naive: NaiveNPU, 80 runs
#   nmu: NMU, 80 runs
#
#SBATCH --job-name=npu-large
#SBATCH --array=0-19
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=10:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "npu-large[1-20]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 10:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o npu-large_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" npu-large "$@"
