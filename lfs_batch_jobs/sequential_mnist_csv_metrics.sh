#!/usr/bin/env bash
#
#   bash lfs_batch_jobs/sequential_mnist_csv_metrics.sh [--dry-run] [EXPERIMENT ...]
#
# Writes a table, results/csv/<experiment>.csv, of the runs of each experiment named, or of all.
# --dry-run prints the commands instead.
exec bash "$(dirname "$0")/csv_metrics.sh" sequential_mnist \
  "sequential_mnist_sum_long sequential_mnist_sum_reference" "$@"
