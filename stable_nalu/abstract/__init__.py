"""The base module of every layer and network, and what it needs: observations, random sources."""

from .extended_torch_module import ExtendedTorchModule, extended_children
from .observation import Observation
from .random_source import GLOBAL_RANDOM, RandomSource
