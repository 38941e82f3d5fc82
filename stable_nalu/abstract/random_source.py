"""Where stochastic layers draw their numbers during training."""

from collections.abc import Callable

import torch

Bound = float | torch.Tensor
Fill = Callable[[torch.Tensor, torch.Generator | None, int | None], object]


class RandomSource:
    """Draws on the CPU from torch's global generator, for a single run.

    Every method takes the shape of ONE run and returns `(*runs, *shape)` in the dtype and on the
    device of `like`. An ensemble overrides `fill` to use one generator a run; layers cannot tell.
    """

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Fill) -> torch.Tensor:
        """Call `draw(buffer, generator, run)` to fill the buffer of each run in place."""
        buffer = torch.empty(shape, dtype=like.dtype)
        draw(buffer, None, None)
        return buffer.to(like.device)

    def uniform(
        self, shape: tuple[int, ...], low: Bound, high: Bound, like: torch.Tensor
    ) -> torch.Tensor:
        """U(low, high); a bound is a number or a tensor of shape `runs`."""

        def draw(buffer, generator, run):
            buffer.uniform_(_bound(low, run), _bound(high, run), generator=generator)

        return self.fill(shape, like, draw)

    def exponential(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        """Exp(1)."""
        return self.fill(shape, like, lambda buffer, g, _: buffer.exponential_(generator=g))

    def multinomial(self, probabilities: torch.Tensor) -> torch.Tensor:
        """One category index per row: probabilities `(*runs, rows…, K)` -> `(*runs, rows…)`."""
        rows = probabilities.shape[:-1]
        flat = probabilities.reshape(-1, probabilities.shape[-1])
        return torch.multinomial(flat.cpu(), 1).reshape(rows).to(probabilities.device)


def _bound(bound: Bound, run: int | None) -> float:
    if isinstance(bound, torch.Tensor):
        return (bound if run is None else bound.flatten()[run]).item()
    return bound


GLOBAL_RANDOM = RandomSource()
