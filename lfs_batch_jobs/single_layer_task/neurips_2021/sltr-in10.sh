#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Division with redundancy: Figure 6 (redundancy) of arXiv:2110.05177 (nips-sltr-in10)
# NPU: Figure 15 of arXiv:2110.05177 (nips-sltr-in10-npu)
# Real NPU: targets of the weight penalty: Figure 16 of arXiv:2110.05177 (nips-in10-realnpu-W-reg)
# NMRU: ablation: Figure 17 of arXiv:2110.05177 (nips-in10-nmru-ablation)
# NMRU: learning rates: Figure 18 of arXiv:2110.05177 (nips-in10-nmru-lr)
# NMRU: optimiser: Figure 19 of arXiv:2110.05177 (nips-in10-nmru-optimiser)
# NRU: magnitude and sign apart: Figure 20 of arXiv:2110.05177 (nips-in10-nru-separate-mag-sign)
# Losses: Real NPU: Figure 21 of arXiv:2110.05177 (nips-sltr-in10-losses-realnpu)
# Losses: NRU: Figure 22 of arXiv:2110.05177 (nips-sltr-in10-losses-nru)
# Losses: NMRU: Figure 23 of arXiv:2110.05177 (nips-sltr-in10-losses-nmru)
#
#   bash lfs_batch_jobs/single_layer_task/neurips_2021/sltr-in10.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/neurips_2021/sltr-in10.sh
#   bsub < lfs_batch_jobs/single_layer_task/neurips_2021/sltr-in10.sh
#
# All 21 models of 10 figures; those of one: --figure nips-sltr-in10
#
# Models, and runs of each:
#   realnpu_baseline: Real NPU (baseline), 225 runs
#   realnpu_modified: Real NPU (modified), 225 runs
#   nru: NRU, 225 runs
#   sign-nmru: NMRU, 225 runs
#   npu: NPU (no constraints), 225 runs
#   npu-clip: NPU (clip & reg), 225 runs
#   realnpu_modified_W-nau-reg: {-1,0,1}, 225 runs
#   nmru: vanilla, 225 runs
#   nmru_gnc-1: gnc, 225 runs
#   sign-nmru_gnc-F: sign, 225 runs
#   sign-nmru_gnc-1_gate-1: gnc+sign+gating, 225 runs
#   nmru-lr-1e-3: 1e-3, 225 runs
#   nmru-lr-1e-1: 1e-1, 225 runs
#   nmru-sgd: sgd, 225 runs
#   nru-sepSign: separate, 225 runs
#   realnpu_modified_pcc: PCC, 225 runs
#   realnpu_modified_mape: MAPE, 225 runs
#   nru_pcc: PCC, 225 runs
#   nru_mape: MAPE, 225 runs
#   sign-nmru_pcc: PCC, 225 runs
#   sign-nmru_mape: MAPE, 225 runs
#
#SBATCH --job-name=sltr-in10
#SBATCH --array=0-20
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
#BSUB -J "sltr-in10[1-21]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 1:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o sltr-in10_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/neurips_2021/sltr-in10 "$@"
