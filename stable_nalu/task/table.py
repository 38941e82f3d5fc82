"""The table of all training scripts; a run of one imports its own module alone."""

from collections.abc import Mapping

from stable_nalu.options import ScriptSpec
from stable_nalu.training.task import Task

from . import (
    arithmetic,
    comparison,
    depth,
    eml_recovery,
    equations,
    even_digit_count,
    fractional_sir,
    gridworld_time,
    identity_autoencoder,
    inalu,
    marked_addition,
    mnist_counting,
    mystery_arithmetic,
    notebook_addition,
    number_translation,
    own_task,
    pairs,
    powers,
    program_evaluation,
    sequences,
    simple_function_recurrent,
)

_MORE = (identity_autoencoder, even_digit_count, mnist_counting, gridworld_time)
_MOST = (program_evaluation, notebook_addition, comparison, depth, eml_recovery, equations)
_LAST = (powers, fractional_sir, inalu, marked_addition, mystery_arithmetic, own_task)
_IN_ORDER = (
    *arithmetic.SCRIPTS,
    *((one.SCRIPT, one.TASK) for one in (simple_function_recurrent, number_translation)),
    *(*sequences.SCRIPTS, *pairs.SCRIPTS),
    *((one.SCRIPT, one.TASK) for one in (*_MORE, *_MOST, *_LAST)),
)

SCRIPTS: Mapping[str, ScriptSpec] = {script.name: script for script, _ in _IN_ORDER}
"""Script -> its description."""

TASKS: Mapping[str, type[Task]] = {script.name: task for script, task in _IN_ORDER}
"""Script -> what it trains."""

ARITHMETIC = tuple(script.name for script, _ in arithmetic.SCRIPTS)
"""Scripts whose run names share their fields."""
