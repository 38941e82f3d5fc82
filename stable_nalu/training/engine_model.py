"""The model that the engine records: the shape of its task, its noise, seed and structure."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import Bound, ExtendedTorchModule, RandomSource, scaled
from stable_nalu.dataset.distribution import Uniform
from stable_nalu.dataset.simple_function import SampleStream
from stable_nalu.functional import product
from stable_nalu.options import Config
from torchlanes.lower import RecordableProduct, Recording
from torchlanes.recorded import Draw, Program
from torchlanes.tiles import OPERATIONS

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


def recording(model: torch.nn.Module, dtype: torch.dtype) -> Recording:
    """Return what records a model of layers that use the functions of this package."""
    return Recording(model, dtype, {product: lambda factors: RecordableProduct.apply(factors, -2)})


@dataclass
class RecordedDraws(RandomSource):
    """A source that hands out noise that was drawn before, and notes which noise was asked for."""

    noise: Sequence[torch.Tensor] = ()
    draws: list[Draw] = field(default_factory=list)

    def _next(self, draw: Draw, like: torch.Tensor) -> torch.Tensor:
        self.draws.append(draw)
        place = len(self.draws) - 1
        return self.noise[place] if place < len(self.noise) else like.new_full(draw.shape, 0.5)

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        if isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor):
            return scaled(self._next(Draw("uniform", tuple(shape)), like), low, high, len(shape))
        return self._next(Draw("uniform", tuple(shape), (float(low), float(high))), like)

    def exponential(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self._next(Draw("exponential", tuple(shape)), like)

    def normal(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        return self._next(Draw("normal", tuple(shape)), like)


@contextmanager
def drawing_from(model: ExtendedTorchModule, source: RandomSource) -> Iterator[None]:
    """Let all modules of a model draw from `source` while this lasts."""
    modules = list(model.extended_modules())
    before = [module.random for module in modules]
    for module in modules:
        module.random = source
    try:
        yield
    finally:
        for module, own in zip(modules, before, strict=True):
            module.random = own


def drawn_by_cpp(stream: object) -> bool:
    """Return whether runtime.cpp draws the samples of a stream."""
    return (
        isinstance(stream, SampleStream)
        and stream.scales_doubles
        and isinstance(stream.distribution, Uniform)
        and len(stream.sample_shape) == 1
        and stream.targets.operation.name in OPERATIONS
        and all(end > start for start, end in stream.targets.operands)
    )
