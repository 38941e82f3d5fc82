#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Mixed signs with redundancy: appendix of TMLR 2022 (in10-mixedSigns)
#
#   bash lfs_batch_jobs/single_layer_task/neurips_2021/in10-mixed-signs.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/neurips_2021/in10-mixed-signs.sh
#   bsub < lfs_batch_jobs/single_layer_task/neurips_2021/in10-mixed-signs.sh
#
# Models, and runs of each:
#   realnpu_mod: Real NPU (modified), 125 runs
#   nru: NRU, 125 runs
#   nmru: NMRU, 125 runs
#
#SBATCH --job-name=in10-mixed-signs
#SBATCH --array=0-2
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
#BSUB -J "in10-mixed-signs[1-3]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o in10-mixed-signs_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/neurips_2021/in10-mixed-signs "$@"
