#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
# Multiplication, single modules: Figure 16 of arXiv:2101.09530 (benchmark_sltr_mul)
# Division, single modules: Figure 17 of arXiv:2101.09530 (benchmark_sltr_div)
# Addition, single modules: Figure 14 of arXiv:2101.09530 (benchmark_sltr_add)
# Subtraction, single modules: Figure 15 of arXiv:2101.09530 (benchmark_sltr_sub)
# iNALU, addition with ten inputs: Figure 18 of arXiv:2101.09530 (inalu-in10)
# NAU with ten inputs: Figure 19 of arXiv:2101.09530 (nau-failure)
# NAU with a hundred inputs: Figure 20 of arXiv:2101.09530 (nau-in100)
#
#   bash lfs_batch_jobs/single_layer_task/benchmarking/single_layer_benchmark.sh [FIRST_SEED LAST_SEED] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch lfs_batch_jobs/single_layer_task/benchmarking/single_layer_benchmark.sh
#   bsub < lfs_batch_jobs/single_layer_task/benchmarking/single_layer_benchmark.sh
#
# All 28 models of 7 figures; those of one: --figure 16
#
# Models, and runs of each:
#   mul/MNAC: NAC•, 225 runs
#   mul/NALU: NALU, 225 runs
#   NMU: NMU, 225 runs
#   mul/NPU: NPU, 225 runs
#   mul/RealNPU: Real NPU, 225 runs
#   mul/iNALU: iNALU, 225 runs
#   mul/G-NALU: G-NALU, 225 runs
#   div/MNAC: NAC•, 225 runs
#   div/NALU: NALU, 225 runs
#   div/NPU: NPU, 225 runs
#   div/RealNPU: Real NPU, 225 runs
#   div/iNALU: iNALU, 225 runs
#   div/G-NALU: G-NALU, 225 runs
#   add/NAC: NAC+, 225 runs
#   add/NALU: NALU, 225 runs
#   add/NAU: NAU, 225 runs
#   add/iNALU: iNALU, 225 runs
#   add/G-NALU: G-NALU, 225 runs
#   sub/NAC: NAC+, 225 runs
#   sub/NALU: NALU, 225 runs
#   sub/NAU: NAU, 225 runs
#   sub/iNALU: iNALU, 225 runs
#   sub/G-NALU: G-NALU, 225 runs
#   iNALU-in10: iNALU, 225 runs
#   NAU-in10-add: NAU (add), 225 runs
#   NAU-in10-sub: NAU (sub), 225 runs
#   NAU-in100-add: NAU (add), 225 runs
#   NAU-in100-sub: NAU (sub), 225 runs
#
#SBATCH --job-name=single_layer_benchmark
#SBATCH --array=0-27
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=02:00:00
#SBATCH --ignore-pbs
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x_%A_%a.out
#BSUB -J "single_layer_benchmark[1-28]"
#BSUB -n 1
#BSUB -R "span[hosts=1]"
#BSUB -R "rusage[mem=2GB]"
#BSUB -W 2:00
#BSUB -r
#BSUB -Q "75"
#BSUB -wa "TERM" -wt "2"
#BSUB -o single_layer_benchmark_%J_%I.lsf.out

set -eu
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/../../.." && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" single_layer_task/benchmarking/single_layer_benchmark "$@"
