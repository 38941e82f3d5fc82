#!/usr/bin/env bash
#
#   bash lfs_batch_jobs/csv_metrics.sh EXPORT "EXPERIMENT ..." [--dry-run] [EXPERIMENT ...]
#
# Writes a table, results/csv/<experiment>.csv, of the runs of each experiment named, or of those of
# the second argument, by export/<EXPORT>.py. --dry-run prints the commands instead.
set -eu
cd "$(dirname "$0")/.."
export="$1"
every="$2"
shift 2
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
  echo "csv_metrics.sh: unknown option $1; give --dry-run or names of experiments" >&2
  exit 2
  ;;
esac
if [ "$#" -eq 0 ]; then
  set -- $every
fi
for name in "$@"; do
  ${run[@]+"${run[@]}"} "$python" "export/$export.py" \
    --tensorboard-dir "${TENSORBOARD_DIR:-tensorboard}/$name" --csv-out "results/csv/$name.csv"
done
