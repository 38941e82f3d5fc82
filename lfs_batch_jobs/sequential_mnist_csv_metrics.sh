#!/usr/bin/env bash
#
#   bash lfs_batch_jobs/sequential_mnist_csv_metrics.sh [--dry-run] [EXPERIMENT ...]
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
  set -- sequential_mnist_sum_long sequential_mnist_sum_reference
fi
for name in "$@"; do
  ${run[@]+"${run[@]}"} "$python" export/sequential_mnist.py \
    --tensorboard-dir "${TENSORBOARD_DIR:-tensorboard}/$name" --csv-out "results/csv/$name.csv"
done
