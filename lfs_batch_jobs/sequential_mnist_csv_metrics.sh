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
  set -- sequential_mnist_sum_long sequential_mnist_sum_reference
fi
for name in "$@"; do
  "$python" export/sequential_mnist.py \
    --tensorboard-dir "${TENSORBOARD_DIR:-tensorboard}/$name" --csv-out "results/csv/$name.csv"
done
