"""The table of all training scripts; a run of one imports its own module alone."""

from collections.abc import Mapping

from stable_nalu.options import ScriptSpec
from stable_nalu.training.task import Task

from . import (
    arithmetic,
    depth,
    even_digit_count,
    gridworld_time,
    mystery_arithmetic,
    number_translation,
    pairs,
    program_evaluation,
    rows,
    sequences,
    simple_function_recurrent,
)

_DEPTH, _CUBES = depth.SCRIPTS
_IN_ORDER = (
    *arithmetic.SCRIPTS,
    *((one.SCRIPT, one.TASK) for one in (simple_function_recurrent, number_translation)),
    *(*sequences.SCRIPTS, *pairs.SCRIPTS),
    (rows.IDENTITY, rows.IdentityTask),
    (even_digit_count.SCRIPT, even_digit_count.TASK),
    (sequences.COUNTING, sequences.CountingTask),
    *((one.SCRIPT, one.TASK) for one in (gridworld_time, program_evaluation)),
    *((rows.NOTEBOOK, rows.NotebookTask), (rows.COMPARISON, rows.ComparisonTask)),
    *(_DEPTH, (rows.RECOVERY, rows.RecoveryTask), _CUBES),
    (mystery_arithmetic.SCRIPT, mystery_arithmetic.TASK),
)

SCRIPTS: Mapping[str, ScriptSpec] = {script.name: script for script, _ in _IN_ORDER}
"""Script -> its description."""

TASKS: Mapping[str, type[Task]] = {script.name: task for script, task in _IN_ORDER}
"""Script -> what it trains."""

ARITHMETIC = tuple(script.name for script, _ in arithmetic.SCRIPTS)
"""Scripts whose run names share their fields."""
