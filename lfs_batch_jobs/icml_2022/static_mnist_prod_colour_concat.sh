#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Products of two digits in colour channels: Figure 9 of arXiv:2211.05624 (static-mnist-mul-colour-concat)
#
#   bash lfs_batch_jobs/icml_2022/static_mnist_prod_colour_concat.sh [FIRST_SEED LAST_SEED [GPU]] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/icml_2022/static_mnist_prod_colour_concat.sh
#   bsub < lfs_batch_jobs/icml_2022/static_mnist_prod_colour_concat.sh
#
# Models, and runs of each:
#   mul: mul, 3 runs
#   fc: fc, 3 runs
#   nmu: nmu, 3 runs
#   snmu: snmu [1,5], 3 runs
#   batch-snmu: snmu [1,1+1/sd(x)], 3 runs
#
#SBATCH --job-name=static_mnist_prod_colour_concat
#SBATCH --array=0-14
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=5
#SBATCH --mem=8G
#SBATCH --time=24:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#SBATCH --gres=gpu:1
#BSUB -J "static_mnist_prod_colour_concat[1-15]"
#BSUB -n 5
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=8GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o static_mnist_prod_colour_concat_%J_%I.lsf.out
#BSUB -gpu "num=1:mode=exclusive_process"

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" icml_2022/static_mnist_prod_colour_concat "$@"
