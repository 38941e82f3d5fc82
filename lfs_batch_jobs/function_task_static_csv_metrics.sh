#!/usr/bin/env bash
#
#   bash lfs_batch_jobs/function_task_static_csv_metrics.sh [--dry-run] [EXPERIMENT ...]
#
# Writes a table, results/csv/<experiment>.csv, of the runs of each experiment named, or of all.
# --dry-run prints the commands instead.
set -eu
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
if [ -z "${PYTHON:-}" ] && [ -x .venv/bin/python ]; then
  python=.venv/bin/python
fi
run=()
if [ "${1:-}" = --dry-run ]; then
  run=(echo)
  shift
fi
case "${1:-}" in
-*)
  echo "$(basename "$0"): unknown option $1; give --dry-run or names of experiments" >&2
  exit 2
  ;;
esac
if [ "$#" -eq 0 ]; then
  set -- simple_mul function_task_static function_task_static_mul_hidden_size function_task_static_mul_input_size function_task_static_mul_overlap function_task_static_mul_range function_task_static_mul_subset
fi
for name in "$@"; do
  ${run[@]+"${run[@]}"} "$python" export/simple_function_static.py \
    --tensorboard-dir "${TENSORBOARD_DIR:-tensorboard}/$name" --csv-out "results/csv/$name.csv"
done
