"""The model that the engine records: the shape of its task, its seed, and its structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.engine.recorded import Program
from stable_nalu.options import Config

from .loss import Penalties

CriterionPrograms = dict[Any, Program]
"""The program of each criterion."""

BuildOne = Callable[[Config], ExtendedTorchModule]
NUMBERS = {
    *("seed", "learning_rate", "momentum", "interpolation_range", "extrapolation_range"),
    *(f"regualizer_{name}" for name in ("scaling_start", "scaling_end", "beta_step")),
    *(f"regualizer_beta_{name}" for name in ("start", "end", "growth")),
    *("max_iterations", "name_prefix", "id"),
}
"""Flags that change numbers in memory, or nothing that is computed."""
WEIGHTS = {"regualizer", "regualizer_oob"}
"""Flags of which the program only depends on whether they are zero."""


@dataclass(frozen=True)
class Shape:
    """What an engine must know of a task: batch, how it evaluates, what it observes, penalties.

    sample: the shape of the inputs of a sample, if it is not a vector.
    """

    batch: int
    inputs: int
    outputs: int
    eval_mode: bool | None
    verbose: bool = False
    penalties: type[Penalties] = Penalties
    sample: tuple[int, ...] = (-1,)


def seeded(config: Config, build: BuildOne, seed: int) -> ExtendedTorchModule:
    """Return the initial model of a seed. The caller's generators do not move."""
    before = np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)
        try:
            model = build(config)
            model.reset_parameters()
        finally:
            np.random.set_state(before)
    return model


def structure(config: Config) -> str:
    """Return what is equal for runs of equal programs: all that is not a number in their memory."""
    held: dict[str, Any] = {}
    for name, value in config.as_dict().items():
        if name in NUMBERS:
            continue
        is_switch = name.startswith("clip_grad") or name in WEIGHTS
        held[name] = value not in (None, 0) if is_switch else value
    return repr(held)
