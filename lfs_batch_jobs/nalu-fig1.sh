#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Identity by a scalar autoencoder: the error beyond the range of training: Figure 1 of arXiv:1808.00508 (nalu/fig1)
#
#   bash lfs_batch_jobs/nalu-fig1.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/nalu-fig1.sh
#   bsub < lfs_batch_jobs/nalu-fig1.sh
#
# Models, and runs of each:
#   hardtanh: Hardtanh, 100 runs
#   sigmoid: Sigmoid, 100 runs
#   relu6: ReLU6, 100 runs
#   tanh: Tanh, 100 runs
#   tanhshrink: Tanhshrink, 100 runs
#   hardshrink: Hardshrink, 100 runs
#   leakyrelu: LeakyReLU, 100 runs
#   softshrink: Softshrink, 100 runs
#   softsign: Softsign, 100 runs
#   threshold: Threshold, 100 runs
#   relu: ReLU, 100 runs
#   prelu: PReLU, 100 runs
#   softplus: Softplus, 100 runs
#   elu: ELU, 100 runs
#   selu: SELU, 100 runs
#   linear: linear, 100 runs
#   nac: NAC, 100 runs
#   nalu: NALU, 100 runs
#
#SBATCH --job-name=nalu-fig1
#SBATCH --array=0-17
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=00:15:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "nalu-fig1[1-18]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:15
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o nalu-fig1_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" nalu-fig1 "$@"
