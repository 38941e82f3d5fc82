#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Multiplication, single modules: Figure 2 of arXiv:2211.05624 (robust-benchmark_sltr_mul)
# Surfaces of MLPs and the NMU: Figure 1 of arXiv:2211.05624 (surface-mul)
# sNMU with noise by batch, single module: no figure (robust-batch-snmu)
#
#   bash lfs_batch_jobs/icml_2022/single_module.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/icml_2022/single_module.sh
#   bsub < lfs_batch_jobs/icml_2022/single_module.sh
#
# All 11 models of 3 figures; those of one: --figure 2
#
# Models, and runs of each:
#   MNAC: NAC•, 225 runs
#   NALU: NALU, 225 runs
#   NMU: NMU, 225 runs
#   NPU: NPU, 225 runs
#   RealNPU: Real NPU, 225 runs
#   iNALU: iNALU, 225 runs
#   G-NALU: G-NALU, 225 runs
#   sNMU: sNMU [1,5], 225 runs
#   ReLU-h1: MLP (1), 25 runs
#   ReLU-h100: MLP (100), 25 runs
#   batch-sNMU: sNMU [1,1+1/sd(x)], 225 runs
#
#SBATCH --job-name=single_module
#SBATCH --array=0-10
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
#BSUB -J "single_module[1-11]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 24:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o single_module_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" icml_2022/single_module "$@"
