#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Trees of exp(a) - ln(b), found again by their depth: recovery by depth of arXiv:2603.21852 (eml/recovery)
#
#   bash lfs_batch_jobs/eml-recovery.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/eml-recovery.sh
#   bsub < lfs_batch_jobs/eml-recovery.sh
#
# Models, and runs of each:
#   bottom: random_hot start, 64 runs
#   biased: biased start, 64 runs
#   uniform: uniform start, 64 runs
#   xy: xy_biased start, 64 runs
#   slots: variables everywhere, 64 runs
#   warm: true tree plus noise, 64 runs
#
#SBATCH --job-name=eml-recovery
#SBATCH --array=0-23
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
#BSUB -J "eml-recovery[1-24]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o eml-recovery_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" eml-recovery "$@"
