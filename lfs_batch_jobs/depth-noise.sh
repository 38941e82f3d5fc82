#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# A sum times a number, by the noise of the targets: depth, noise of not published elsewhere (depth/noise)
#
#   bash lfs_batch_jobs/depth-noise.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/depth-noise.sh
#   bsub < lfs_batch_jobs/depth-noise.sh
#
# Models, and runs of each:
#   nmu: NAU, NMU, 500 runs
#   nru: NAU, NRU, 500 runs
#   nalu: NALU, 500 runs
#   inalu: iNALU, 500 runs
#   eql: EQL, 500 runs
#
#SBATCH --job-name=depth-noise
#SBATCH --array=0-24
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
#BSUB -J "depth-noise[1-25]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o depth-noise_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" depth-noise "$@"
