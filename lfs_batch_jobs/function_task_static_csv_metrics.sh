#!/usr/bin/env bash
#
#   bash lfs_batch_jobs/function_task_static_csv_metrics.sh [--dry-run] [EXPERIMENT ...]
#
# Writes a table, results/csv/<experiment>.csv, of the runs of each experiment named, or of all.
# --dry-run prints the commands instead.
exec bash "$(dirname "$0")/csv_metrics.sh" simple_function_static \
  "simple_mul function_task_static function_task_static_mul_hidden_size function_task_static_mul_input_size function_task_static_mul_overlap function_task_static_mul_range function_task_static_mul_subset" "$@"
