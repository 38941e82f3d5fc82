#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Real NPU: beta of L1: Figure 1b of arXiv:2110.05177 (nips-realnpu-L1_sweep)
#
#   bash lfs_batch_jobs/single_layer_task/neurips_2021/in2-realnpu-beta-sweep.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/neurips_2021/in2-realnpu-beta-sweep.sh
#   bsub < lfs_batch_jobs/single_layer_task/neurips_2021/in2-realnpu-beta-sweep.sh
#
# Models, and runs of each:
#   1e-11_1e-9: (1e-11,1e-9), 225 runs
#   1e-9_1e-7: (1e-9,1e-7), 225 runs
#   1e-8_1e-6: (1e-8,1e-6), 225 runs
#   1e-7_1e-5: (1e-7,1e-5), 225 runs
#   1e-5_1e-3: (1e-5,1e-3), 225 runs
#   1e-3_1e-1: (1e-3,1e-1), 225 runs
#   1e-1_10: (1e-1,10), 225 runs
#
#SBATCH --job-name=in2-realnpu-beta-sweep
#SBATCH --array=0-6
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
#BSUB -J "in2-realnpu-beta-sweep[1-7]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:40
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o in2-realnpu-beta-sweep_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/neurips_2021/in2-realnpu-beta-sweep "$@"
