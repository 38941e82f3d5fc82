"""Batch scripts that call others: all experiments of a paper, and the export of their runs."""

from __future__ import annotations

from .job_script import FOLDER
from .render import FIRST_LINES

EXECUTE_ALL = (
    "simple_mul",
    "function_task_static",
    "function_task_static_mul_hidden_size",
    "function_task_static_mul_input_size",
    "function_task_static_mul_overlap",
    "function_task_static_mul_range",
    "function_task_static_mul_subset",
)
_SUMS = ("sequential_mnist_sum_long", "sequential_mnist_sum_reference")


def _execute_all() -> str:
    return f"""{FIRST_LINES}
#
# The main experiments of arXiv:2001.05016, one after the other; arguments go to each of them.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
for name in {" ".join(EXECUTE_ALL)}; do
  bash "$here/$name.sh" "$@"
done
"""


def _export(script: str, names: tuple[str, ...]) -> str:
    return f"""{FIRST_LINES}
#
# A table, results/<experiment>.csv, of the runs of each experiment; names as arguments, or all.
set -eu
cd "$(dirname "$0")/.."
python="${{PYTHON:-python3}}"
if [ -z "${{PYTHON:-}}" ] && [ -x .venv/bin/python ]; then
  python=.venv/bin/python
fi
if [ "$#" -eq 0 ]; then
  set -- {" ".join(names)}
fi
for name in "$@"; do
  "$python" export/{script}.py \\
    --tensorboard-dir "${{TENSORBOARD_DIR:-tensorboard}}/$name" --csv-out "results/$name.csv"
done
"""


COLLECTIONS = {
    FOLDER / "execute_all.sh": _execute_all,
    FOLDER / "function_task_static_csv_metrics.sh": lambda: _export(
        "simple_function_static", EXECUTE_ALL
    ),
    FOLDER / "sequential_mnist_csv_metrics.sh": lambda: _export("sequential_mnist", _SUMS),
}
"""Path -> function that makes the text."""
