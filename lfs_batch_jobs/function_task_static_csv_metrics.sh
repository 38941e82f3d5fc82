#!/usr/bin/env bash
#
# A table, results/csv/<experiment>.csv, of the runs of each experiment; names as arguments, or all.
set -eu
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
if [ -z "${PYTHON:-}" ] && [ -x .venv/bin/python ]; then
  python=.venv/bin/python
fi
if [ "$#" -eq 0 ]; then
  set -- simple_mul function_task_static function_task_static_mul_hidden_size function_task_static_mul_input_size function_task_static_mul_overlap function_task_static_mul_range function_task_static_mul_subset
fi
for name in "$@"; do
  "$python" export/simple_function_static.py \
    --tensorboard-dir "${TENSORBOARD_DIR:-tensorboard}/$name" --csv-out "results/csv/$name.csv"
done
