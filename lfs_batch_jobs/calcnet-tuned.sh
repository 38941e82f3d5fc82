#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# NALU and G-NALU at equal tuning: Table 1, its claim of doi:10.1109/ICTAI.2019.00192 (calcnet/tuned)
#
#   bash lfs_batch_jobs/calcnet-tuned.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/calcnet-tuned.sh
#   bsub < lfs_batch_jobs/calcnet-tuned.sh
#
# Models, and runs of each:
#   nalu: NALU, 800 runs
#   gnalu: G-NALU, 800 runs
#
#SBATCH --job-name=calcnet-tuned
#SBATCH --array=0-15
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
#BSUB -J "calcnet-tuned[1-16]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o calcnet-tuned_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" calcnet-tuned "$@"
