"""The base module of layers and networks, what it logs and draws, and many runs of it as one."""

from .extended_torch_module import (
    ExtendedTorchModule,
    extended_children,
    run_state,
    stack_models,
)
from .observation import Observation, weight_observations
from .random_source import GLOBAL_RANDOM, PerRunRandomSource, RandomSource
