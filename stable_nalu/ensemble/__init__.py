"""Many runs as one: stacked parameters, and one random generator per run."""

from .random import PerRunRandomSource
from .stack import run_state, stack_models
