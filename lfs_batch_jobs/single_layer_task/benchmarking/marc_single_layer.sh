#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# MC-FC layers: multiplication: multiplication of report, 2023 (benchmark_sltr_mul_mcfc)
# MC-FC layers: addition: addition of report, 2023 (benchmark_sltr_add_mcfc)
#
#   bash lfs_batch_jobs/single_layer_task/benchmarking/marc_single_layer.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/benchmarking/marc_single_layer.sh
#   bsub < lfs_batch_jobs/single_layer_task/benchmarking/marc_single_layer.sh
#
# All 4 models of 2 figures; those of one: --figure multiplication
#
# Models, and runs of each:
#   MulMCFC: MulMCFC, 225 runs
#   MulMCFCSignINALU: MulMCFC (sign: iNALU), 225 runs
#   MulMCFCSignRealNPU: MulMCFC (sign: Real NPU), 225 runs
#   MCFC: MCFC, 225 runs
#
#SBATCH --job-name=marc_single_layer
#SBATCH --array=0-3
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=04:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "marc_single_layer[1-4]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 4:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o marc_single_layer_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/benchmarking/marc_single_layer "$@"
