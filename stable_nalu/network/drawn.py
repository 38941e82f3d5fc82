"""Units whose initial weights NumPy draws, as in the code of the iNALU paper."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch

from stable_nalu.layer.nalu import is_gate

from .dense import IdentityNetwork

LARGEST = 2.0
"""Of weights that are drawn again."""


class DrawnNetwork(IdentityNetwork):
    """Layers of a unit, whose weights are normal at first, and uniform when they are drawn again.

    A generator draws all of them from a state, which stays as it is. means: of W, M and G. losses:
    of the last `chunk` batches. starts: how often weights were drawn.
    """

    initialises_itself = True

    def __init__(
        self,
        *sizes: Any,
        random: np.random.RandomState,
        means: Mapping[str, float],
        deviation: float,
        chunk: int,
        **layer_options: Any,
    ):
        super().__init__(*sizes, **layer_options)
        self._law = random, means, deviation
        self.register_buffer("losses", torch.zeros(chunk))
        self.register_buffer("starts", torch.zeros(()))

    def after_step(self, loss: torch.Tensor) -> None:
        self.losses = torch.cat([self.losses[1:], loss.reshape(1)])

    def reset_parameters(self) -> None:
        """Draw weights, as often as this was done before, and once more."""
        random, means, deviation = deepcopy(self._law)
        self._draw(lambda letter, shape: random.normal(means[letter], deviation, shape))
        for _ in range(int(self.starts)):
            self._draw(lambda _, shape: random.uniform(-LARGEST, LARGEST, shape))
        self.starts += 1

    @torch.no_grad()
    def _draw(self, law: Callable[[str, tuple[int, ...]], np.ndarray]) -> None:
        """Draw values of each layer by a law of letter and shape: all W and M, then all G."""
        for layer in self.layers.children():
            for name, stored in sorted(layer.named_parameters(), key=lambda own: is_gate(own[0])):
                # Stored (in, out) or, by NALUs, (out, in): drawn (in, out).
                turned = stored.ndim > 1 and not name.endswith(("_a_hat", "_m_hat"))
                own = stored.mT if turned else stored
                values = law(name.split(".")[-1][0].upper(), tuple(own.shape)).astype(np.float32)
                own.copy_(torch.from_numpy(values))
