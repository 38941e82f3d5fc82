"""Random states in checkpoints: one form, of plain values and tensors, for every generator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import torch

from stable_nalu.dataset.legacy_random import LegacyRandom

Generator = torch.Generator | np.random.Generator | np.random.RandomState | LegacyRandom
NUMPY_SEEDS = 2**32


def seed_generators(seed: int) -> None:
    """Seed the global generators of torch and NumPy, from which layers of users may draw."""
    torch.manual_seed(seed)
    np.random.seed(seed % NUMPY_SEEDS)


def saved_state(generator: Generator | ModuleType) -> Any:
    """Return the state of a generator; `np.random`, the module, is NumPy's global one."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    return _plain(_numpy_state(generator))


@cache
def seeded_state(seed: int) -> Any:
    """Return the state of NumPy's global generator as `seed_generators` leaves it."""
    return saved_state(np.random.RandomState(seed % NUMPY_SEEDS))


def put_back(generator: Generator | ModuleType, state: Any) -> None:
    """Let a generator go on from a state that `saved_state` returned."""
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
    elif isinstance(generator, np.random.Generator | LegacyRandom):
        generator.bit_generator.state = _arrays(state)
    else:
        generator.set_state(_arrays(state))


def _numpy_state(generator: Any) -> Mapping[str, Any]:
    if isinstance(generator, np.random.Generator | LegacyRandom):
        return generator.bit_generator.state
    # Besides the words it has half of a pair of normal numbers.
    return generator.get_state(legacy=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return torch.from_numpy(value.astype(np.int64)) if isinstance(value, np.ndarray) else value


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _arrays(part) for name, part in value.items()}
    return value.numpy().astype(np.uint32) if isinstance(value, torch.Tensor) else value
