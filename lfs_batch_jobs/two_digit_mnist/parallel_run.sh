#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Division of digit pairs: MNIST division figure of TMLR 2022 (div-1digit_conv-Adam-s3Init)
#
#   bash lfs_batch_jobs/two_digit_mnist/parallel_run.sh [FIRST_SEED LAST_SEED [GPU]] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/two_digit_mnist/parallel_run.sh
#   bsub < lfs_batch_jobs/two_digit_mnist/parallel_run.sh
#
# Models, and runs of each:
#   div: DIV, 10 runs
#   mlp: MLP, 10 runs
#   nru: NRU, 10 runs
#   realnpu-mod: Real NPU (mod), 10 runs
#   nmru-sign: NMRU, 10 runs
#
#SBATCH --job-name=parallel_run
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
#BSUB -J "parallel_run[1-50]"
#BSUB -n 5
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=8GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o parallel_run_%J_%I.lsf.out
#BSUB -gpu "num=1:mode=exclusive_process"

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" two_digit_mnist/parallel_run "$@"
