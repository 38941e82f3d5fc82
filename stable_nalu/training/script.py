"""The one entrance to all training scripts, for `experiments/*.py` and for jobs alike."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Sequence

from stable_nalu.errors import UsageError
from stable_nalu.options import SCRIPTS
from stable_nalu.script import packages

_BODIES = {
    "simple_function_recurrent": ("stable_nalu.training.recurrent.sums", "TASK"),
    "number_translation": ("stable_nalu.training.recurrent.translation", "TASK"),
    "sequential_mnist": ("stable_nalu.training.epochs.sequential_digits", "MNIST"),
    "sequential_svhn": ("stable_nalu.training.epochs.sequential_digits", "SVHN"),
    "two_digit_mnist": ("stable_nalu.inspection.pair_script", "ISOLATED"),
    "ST_mnist_labels": ("stable_nalu.inspection.pair_script", "SCATTERED"),
}
"""Module and object of the scripts that are not arithmetic; imported when they are asked for."""


def run_script(name: str, argv: Sequence[str] | None = None) -> int:
    """Parse the command line of a training script, train its runs and return the exit code."""
    words = sys.argv[1:] if argv is None else argv
    if name not in SCRIPTS:
        raise UsageError(f"there is no training script {name!r}")
    if "--help" in words or "-h" in words:
        # Before torch is imported, which takes seconds and may not be installed.
        SCRIPTS[name].parser.read(words)
    with packages(f"{name}.py"):
        if name in _BODIES:
            module, body = _BODIES[name]
            run = getattr(importlib.import_module(module), body).run
        else:
            from .arithmetic.run import run_script as run_arithmetic

            run = functools.partial(run_arithmetic, name)
    return run(words)
