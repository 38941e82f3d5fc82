"""Many runs as one: stacked parameters and one random generator a run."""

from .random import PerRunRandomSource
from .stack import run_state, stack_models

__all__ = ["PerRunRandomSource", "run_state", "stack_models"]
