#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# A sum, a product, a quotient and a root at once: the error around the training range: Table A2 and figure 6 of arXiv:2006.01681 (npu/simple)
#
#   bash lfs_batch_jobs/npu-simple.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/npu-simple.sh
#   bsub < lfs_batch_jobs/npu-simple.sh
#
# Models, and runs of each:
#   npu-code: NPU, code, 20 runs
#   realnpu-code: Real NPU, code, 20 runs
#   nmu-code: NMU, code, 20 runs
#   nalu-code: NALU, code, 20 runs
#   inalu-code: iNALU, code, 20 runs
#   dense-code: Dense, code, 20 runs
#   npu-text: NPU, text, 20 runs
#   realnpu-text: Real NPU, text, 20 runs
#   nmu-text: NMU, text, 20 runs
#   dense-text: Dense, text, 20 runs
#   npu-order: NPU, order, 20 runs
#   realnpu-order: Real NPU, order, 20 runs
#   nmu-order: NMU, order, 20 runs
#
#SBATCH --job-name=npu-simple
#SBATCH --array=0-12
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
#BSUB -J "npu-simple[1-13]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o npu-simple_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" npu-simple "$@"
