#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# NMU and sNMU on the arithmetic data set: Figure 7 of arXiv:2211.05624 (fts-2021-final)
# Noise ranges on the arithmetic data set: Figure 5 of arXiv:2211.05624 (fts-snmu-noise-ranges)
#
#   bash lfs_batch_jobs/icml_2022/arithmetic_dataset.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/icml_2022/arithmetic_dataset.sh
#   bsub < lfs_batch_jobs/icml_2022/arithmetic_dataset.sh
#
# All 3 models of 2 figures; those of one: --figure 7
#
# Models, and runs of each:
#   nau-nmu: NMU, 180 runs
#   nau-Nnmu: sNMU, 180 runs
#   batch_sNMU: [1,1+1/sd(x)], 180 runs
#
#SBATCH --job-name=arithmetic_dataset
#SBATCH --array=0-11
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=24:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "arithmetic_dataset[1-12]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o arithmetic_dataset_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" icml_2022/arithmetic_dataset "$@"
