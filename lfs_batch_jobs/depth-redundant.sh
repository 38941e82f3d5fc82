#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# A sum times a number, by the number of redundant inputs: depth, redundant of not published elsewhere (depth/redundant)
#
#   bash lfs_batch_jobs/depth-redundant.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/depth-redundant.sh
#   bsub < lfs_batch_jobs/depth-redundant.sh
#
# Models, and runs of each:
#   nmu: NAU, NMU, 600 runs
#   nru: NAU, NRU, 600 runs
#   nalu: NALU, 600 runs
#   inalu: iNALU, 600 runs
#   eql: EQL, 600 runs
#
#SBATCH --job-name=depth-redundant
#SBATCH --array=0-29
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
#BSUB -J "depth-redundant[1-30]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o depth-redundant_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" depth-redundant "$@"
