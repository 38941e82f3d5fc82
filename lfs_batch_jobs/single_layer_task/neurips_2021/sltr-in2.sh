#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Division without redundancy: Figure 3 of arXiv:2110.05177 (nips-sltr-in2)
# Real NPU: L1 penalty: Figure 1a of arXiv:2110.05177 (nips-realnpu-L1)
# Real NPU: clipping: Figure 2a of arXiv:2110.05177 (nips-realnpu-clipping)
# Real NPU: discretisation: Figure 2b of arXiv:2110.05177 (nips-realnpu-discretisation)
# Real NPU: start weights: Figure 2c of arXiv:2110.05177 (nips-realnpu-init)
# NRU: learning rates: Figure 10 of arXiv:2110.05177 (nips-in2-nru-lr)
# Real NPU: L2 penalty: Figure 14 of arXiv:2110.05177 (nips-realnpu-L2)
# Real NPU: learning rates: appendix of TMLR 2022 (nips-in2-realnpu-lr)
#
#   bash lfs_batch_jobs/single_layer_task/neurips_2021/sltr-in2.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/neurips_2021/sltr-in2.sh
#   bsub < lfs_batch_jobs/single_layer_task/neurips_2021/sltr-in2.sh
#
# All 18 models of 8 figures; those of one: --figure 3
#
# Models, and runs of each:
#   realnpu_baseline: Real NPU (baseline), 225 runs
#   realnpu_modified: Real NPU (modified), 225 runs
#   nru: NRU, 225 runs
#   sign-nmru: NMRU, 225 runs
#   L1F: L1 off, 225 runs
#   clip-G: G, 225 runs
#   clip-W: W, 225 runs
#   clip-GW: GW, 225 runs
#   G1: G, 225 runs
#   G1-W1: GW, 225 runs
#   XUC: Xavier-Uniform Constrained, 225 runs
#   nru-lr-1e-3: 1e-3, 225 runs
#   nru-lr-1e-2: 1e-2, 225 runs
#   nru-lr-1e-1: 1e-1, 225 runs
#   L2: L2, 225 runs
#   realnpu-lr-5e-1: 5e-1, 225 runs
#   realnpu-lr-5e-2: 5e-2, 225 runs
#   realnpu-lr-5e-4: 5e-4, 225 runs
#
#SBATCH --job-name=sltr-in2
#SBATCH --array=0-17
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=00:40:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "sltr-in2[1-18]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 0:40
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o sltr-in2_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/neurips_2021/sltr-in2 "$@"
