#!/usr/bin/env bash
#
# The main experiments of arXiv:2001.05016, one after the other; arguments go to each of them.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
for name in simple_mul function_task_static function_task_static_mul_hidden_size function_task_static_mul_input_size function_task_static_mul_overlap function_task_static_mul_range function_task_static_mul_subset; do
  bash "$here/$name.sh" "$@"
done
