#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Six operations by NAC, NALU and their golden-ratio forms: Table 1 of doi:10.1109/ICTAI.2019.00192 (calcnet/static)
#
#   bash lfs_batch_jobs/calcnet-static.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/calcnet-static.sh
#   bsub < lfs_batch_jobs/calcnet-static.sh
#
# Models, and runs of each:
#   nac: NAC, 48 runs
#   gnac: G-NAC, 48 runs
#   nalu: NALU, 48 runs
#   nalu-abs: NALU, |x|, 48 runs
#   gnalu: G-NALU, 48 runs
#   gnalu-abs: G-NALU, |x|, 48 runs
#
#SBATCH --job-name=calcnet-static
#SBATCH --array=0-35
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
#BSUB -J "calcnet-static[1-36]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o calcnet-static_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" calcnet-static "$@"
