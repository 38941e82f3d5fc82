"""Random sources of many runs: a generator per run, and training noise for compiled iterations.

Compiled code takes noise as an input. It is therefore recorded which noise an iteration draws, and
blocks of it are drawn ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from stable_nalu.abstract.random_source import Bound, Fill, RandomSource, scaled

BLOCK_ELEMENTS = 1 << 20


class PerRunRandomSource(RandomSource):
    """A source that draws for every run what that run alone would draw from torch's generator."""

    def __init__(self, generators: Sequence[torch.Generator]):
        self.generators = list(generators)

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        buffer = torch.empty((len(self.generators), *shape), dtype=like.dtype)
        for run, generator in enumerate(self.generators):
            draw(buffer[run], generator, run)
        return buffer.to(like.device)


@dataclass(frozen=True)
class Draw:
    """One uniform draw of an iteration: the shape for one run, and its bounds.

    Where bounds depend on the data, they are None, and the iteration scales unit noise.
    """

    shape: tuple[int, ...]
    bounds: tuple[float, float] | None


class RecordingRandomSource(RandomSource):
    """A source that notes which uniform draws an iteration makes, without drawing."""

    def __init__(self, runs: int):
        self.runs = runs
        self.draws: list[Draw] = []

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        raise NotImplementedError("only uniform noise can be drawn ahead")

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        fixed = not isinstance(low, torch.Tensor) and not isinstance(high, torch.Tensor)
        self.draws.append(Draw(tuple(shape), (float(low), float(high)) if fixed else None))
        return like.new_ones(self.runs, *shape)


class ReplayingRandomSource(RandomSource):
    """A source of noise that was drawn before; it scales unit noise to bounds that are tensors."""

    def __init__(self, noise: Sequence[torch.Tensor]):
        self._noise = iter(noise)

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        noise = next(self._noise)
        fixed = not isinstance(low, torch.Tensor) and not isinstance(high, torch.Tensor)
        return noise if fixed else scaled(noise, low, high, len(shape))


class NoiseFeed:
    """The noise of successive iterations, drawn from a generator per run.

    A block of iterations is filled at once. The generator of a run advances exactly as it would if
    its values were drawn one after another.
    """

    def __init__(
        self, generators: Sequence[torch.Generator], draws: Sequence[Draw], like: torch.Tensor
    ):
        self._generators = list(generators)
        self._draws = list(draws)
        self._sizes = [torch.Size(draw.shape).numel() for draw in draws]
        self._like = like
        per_iteration = len(self._generators) * sum(self._sizes)
        self._block = max(1, min(512, BLOCK_ELEMENTS // per_iteration))
        self._ready: list[tuple[torch.Tensor, ...]] = []
        self._starts: list[torch.Tensor] = []

    def example(self) -> list[torch.Tensor]:
        """Return tensors of the shapes that `next` returns."""
        return [self._like.new_ones(len(self._generators), *draw.shape) for draw in self._draws]

    def next(self) -> tuple[torch.Tensor, ...]:
        """Return a tensor `(runs, *shape)` per draw."""
        if not self._ready:
            self._fill()
        return self._ready.pop()

    def rewind(self) -> None:
        """Put the generators back to where the iterations handed out so far have left them."""
        if not self._ready:
            return
        used = self._block - len(self._ready)
        self._ready = []
        for generator, start in zip(self._generators, self._starts, strict=True):
            generator.set_state(start)
            self._unit(generator, used)

    def _unit(self, generator: torch.Generator, iterations: int) -> torch.Tensor:
        unit = torch.empty(iterations, sum(self._sizes), dtype=self._like.dtype)
        return unit.uniform_(generator=generator)

    def _fill(self) -> None:
        self._starts = [generator.get_state() for generator in self._generators]
        unit = torch.stack([self._unit(g, self._block) for g in self._generators], dim=1)
        parts = []
        for draw, part in zip(self._draws, unit.split(self._sizes, dim=-1), strict=True):
            part = part.unflatten(-1, draw.shape)
            if draw.bounds is not None:
                low, high = (part.new_tensor(bound) for bound in draw.bounds)
                # One rounding, as in torch's own bounded draw.
                part = torch.addcmul(low, part, high - low)
            parts.append(part.to(self._like.device).unbind(0))
        self._ready = list(zip(*parts, strict=True))[::-1]
