#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Division by small numbers, [a] to 1/a: Figure 11 of arXiv:2110.05177 (nips-divBy0-easy)
# Division by small numbers, [a,b] to 1/a: Figure 12 of arXiv:2110.05177 (nips-divBy0-medium)
# Division by small numbers, [a,b] to a/b: Figure 13 of arXiv:2110.05177 (nips-divBy0-hard)
#
#   bash lfs_batch_jobs/single_layer_task/neurips_2021/divBy0.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/neurips_2021/divBy0.sh
#   bsub < lfs_batch_jobs/single_layer_task/neurips_2021/divBy0.sh
#
# All 9 models of 3 figures; those of one: --figure 11
#
# Models, and runs of each:
#   easy-realnpu: Real NPU, 125 runs
#   easy-nru: NRU, 125 runs
#   easy-signNMRU: NMRU, 125 runs
#   medium-realnpu: Real NPU, 125 runs
#   medium-nru: NRU, 125 runs
#   medium-signNMRU: NMRU, 125 runs
#   hard-realnpu: Real NPU, 125 runs
#   hard-nru: NRU, 125 runs
#   hard-signNMRU: NMRU, 125 runs
#
#SBATCH --job-name=divBy0
#SBATCH --array=0-8
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
#BSUB -J "divBy0[1-9]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:40
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o divBy0_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/neurips_2021/divBy0 "$@"
