"""The source of the random numbers that layers draw during training, for one run or for many."""

from collections.abc import Callable, Sequence

import torch

from stable_nalu.functional.reductions import per_run

Bound = float | torch.Tensor
Fill = Callable[[torch.Tensor, torch.Generator | None, int | None], object]


class RandomSource:
    """Draws on the CPU from torch's global generator, for a single run.

    Every method takes the shape of one run and returns `(*runs, *shape)` in the dtype and on the
    device of `like`. An ensemble overrides `fill` to use one generator per run.
    """

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        """Call `draw(buffer, generator, run)` to fill the buffer of each run in place."""
        buffer = torch.empty(shape, dtype=like.dtype)
        draw(buffer, None, None)
        return buffer.to(like.device)

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        """Draw from U(low, high); a bound is a number or a tensor of shape `runs`."""
        if torch.compiler.is_compiling() and isinstance(high, torch.Tensor):
            # Code that torch compiles cannot take a number out of a tensor.
            return scaled(self.uniform(shape, 0, 1, like), low, high, len(shape))

        def draw(buffer, generator, run):
            buffer.uniform_(_bound(low, run), _bound(high, run), generator=generator)

        return self.fill(shape, like, draw)

    def exponential(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        """Draw from Exp(1)."""
        return self.fill(shape, like, lambda buffer, g, _: buffer.exponential_(generator=g))

    def normal(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        """Draw from N(0, 1)."""
        return self.fill(shape, like, lambda buffer, g, _: buffer.normal_(generator=g))

    def multinomial(self, shape: tuple[int, ...], probabilities: torch.Tensor) -> torch.Tensor:
        """Draw a category per row: probabilities `(*runs, *rows, K)`, `shape` = `(*rows, K)`."""
        # torch.multinomial of one sample is this race of exponentials: equal numbers, but here
        # every run can draw from its own generator.
        race = probabilities.detach() / self.exponential(shape, like=probabilities)
        return race.argmax(-1)


def scaled(unit: torch.Tensor, low: Bound, high: Bound, ndim: int) -> torch.Tensor:
    """Return noise from [0, 1), of `ndim` dimensions per run, scaled to [low, high)."""
    low, high = (per_run(b, ndim) if isinstance(b, torch.Tensor) else b for b in (low, high))
    return unit * (high - low) + low


def _bound(bound: Bound, run: int | None) -> float:
    if isinstance(bound, torch.Tensor):
        return (bound if run is None else bound.flatten()[run]).item()
    return bound


GLOBAL_RANDOM = RandomSource()


class PerRunRandomSource(RandomSource):
    """A source that draws for every run what that run alone would draw from torch's generator."""

    def __init__(self, generators: Sequence[torch.Generator]):
        self.generators = list(generators)

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        buffer = torch.empty((len(self.generators), *shape), dtype=like.dtype)
        for run, generator in enumerate(self.generators):
            draw(buffer[run], generator, run)
        return buffer.to(like.device)
