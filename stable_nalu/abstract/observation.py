"""Values that a module tells of its last forward pass, free of any logging format."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from stable_nalu.functional.reductions import sparsity_error


@dataclass(frozen=True)
class Observation:
    """A named value of one module; `value()` has leading run dimensions, then those of one run.

    A scalar has shape `runs`. A summary becomes mean, variance and norm; a tensor, text.
    `verbose_only` observations are evaluated and written only for `--verbose` runs.
    """

    kind: Literal["scalar", "summary", "tensor", "histogram"]
    name: str
    value: Callable[[], torch.Tensor]
    verbose_only: bool = True


def weight_observations(
    name: str,
    W: Callable[[], torch.Tensor],
    *,
    ndim: int = 2,
    text_always: bool = False,
    histogram: bool = True,
    sparsity: bool = True,
) -> list[Observation]:
    """Return histogram, text and sparsity error of one weight matrix (or vector, `ndim=1`).

    With `text_always` the text is always written, and the sparsity error only for verbose runs.
    `histogram=False` and `sparsity=False` leave these out.
    """
    observed = [Observation("histogram", name, W)] if histogram else []
    observed.append(Observation("tensor", name, W, verbose_only=not text_always))
    if sparsity:
        observed.append(
            Observation(
                "scalar",
                f"{name}/sparsity_error",
                lambda: sparsity_error(W(), ndim),
                verbose_only=text_always,
            )
        )
    return observed
