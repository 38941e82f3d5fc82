"""The table of all training scripts; a run of one imports its own module alone."""

from collections.abc import Mapping

from stable_nalu.options import ScriptSpec
from stable_nalu.training.task import Task

from . import (
    ST_mnist_labels,
    comparison,
    depth,
    eml_recovery,
    equations,
    even_digit_count,
    gridworld_time,
    identity_autoencoder,
    mnist_counting,
    mystery_arithmetic,
    notebook_addition,
    number_translation,
    program_evaluation,
    sequential_mnist,
    sequential_svhn,
    simple_function_recurrent,
    simple_function_static,
    simple_function_static_npu,
    single_layer,
    single_layer_benchmark,
    single_layer_curriculum,
    single_layer_robust,
    two_digit_mnist,
)

_ARITHMETIC = (
    *(simple_function_static, simple_function_static_npu, single_layer),
    *(single_layer_robust, single_layer_curriculum, single_layer_benchmark),
)
_IN_ORDER = (
    *_ARITHMETIC,
    *(simple_function_recurrent, number_translation, sequential_mnist, sequential_svhn),
    *(two_digit_mnist, ST_mnist_labels, identity_autoencoder, even_digit_count),
    *(mnist_counting, gridworld_time, program_evaluation, notebook_addition),
    *(comparison, depth, eml_recovery, equations, mystery_arithmetic),
)

SCRIPTS: Mapping[str, ScriptSpec] = {module.SCRIPT.name: module.SCRIPT for module in _IN_ORDER}
"""Script -> its description."""

TASKS: Mapping[str, type[Task]] = {module.SCRIPT.name: module.TASK for module in _IN_ORDER}
"""Script -> what it trains."""

ARITHMETIC = tuple(module.SCRIPT.name for module in _ARITHMETIC)
"""Scripts whose run names share their fields."""
