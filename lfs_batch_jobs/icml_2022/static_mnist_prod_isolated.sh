#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Products of two digits: Figure 8 of arXiv:2211.05624 (static-mnist-mul-isolated)
#
#   bash lfs_batch_jobs/icml_2022/static_mnist_prod_isolated.sh [FIRST_SEED LAST_SEED [GPU]] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/icml_2022/static_mnist_prod_isolated.sh
#   bsub < lfs_batch_jobs/icml_2022/static_mnist_prod_isolated.sh
#
# Models, and runs of each:
#   mul: mul, 10 runs
#   fc: fc, 10 runs
#   nmu: nmu, 10 runs
#   snmu: snmu [1,5], 10 runs
#   batch-snmu: snmu [1,1+1/sd(x)], 10 runs
#
#SBATCH --job-name=static_mnist_prod_isolated
#SBATCH --array=0-49
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
#BSUB -J "static_mnist_prod_isolated[1-50]"
#BSUB -n 5
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=8GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o static_mnist_prod_isolated_%J_%I.lsf.out
#BSUB -gpu "num=1:mode=exclusive_process"

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" icml_2022/static_mnist_prod_isolated "$@"
