#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Division, more distributions: Figure 6 (distributions) of arXiv:2110.05177 (nips-in2-distributions)
#
#   bash lfs_batch_jobs/single_layer_task/neurips_2021/sltr-distributions-in2.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/neurips_2021/sltr-distributions-in2.sh
#   bsub < lfs_batch_jobs/single_layer_task/neurips_2021/sltr-distributions-in2.sh
#
# Models, and runs of each:
#   realnpu: Real NPU (modified), 150 runs
#   nru: NRU, 150 runs
#   sign-nmru: NMRU, 150 runs
#
#SBATCH --job-name=sltr-distributions-in2
#SBATCH --array=0-2
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=00:40:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "sltr-distributions-in2[1-3]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:40
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o sltr-distributions-in2_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/neurips_2021/sltr-distributions-in2 "$@"
