#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Products of digit sequences with noise: Figure 10 of arXiv:2211.05624 (robust-sequential_mnist_prod_long)
#
#   bash lfs_batch_jobs/icml_2022/sequentialmnist_prod_long.sh [FIRST_SEED LAST_SEED [GPU]] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/icml_2022/sequentialmnist_prod_long.sh
#   bsub < lfs_batch_jobs/icml_2022/sequentialmnist_prod_long.sh
#
# Models, and runs of each:
#   nmu: NMU, 10 runs
#   snmu: sNMU [1,5], 10 runs
#   batch-snmu: sNMU [1,1+1/sd(X))], 10 runs
#
#SBATCH --job-name=sequentialmnist_prod_long
#SBATCH --array=0-29
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=5
#SBATCH --mem=8G
#SBATCH --time=08:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#SBATCH --gres=gpu:1
#BSUB -J "sequentialmnist_prod_long[1-30]"
#BSUB -n 5
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=8GB]"
#BSUB -W 8:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o sequentialmnist_prod_long_%J_%I.lsf.out
#BSUB -gpu "num=1:mode=exclusive_process"

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" icml_2022/sequentialmnist_prod_long "$@"
