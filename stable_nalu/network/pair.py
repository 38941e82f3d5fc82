"""A unit and a plain sum, as the NPU paper wires and starts them."""

import math
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.base import EPSILON
from stable_nalu.layer.registry import GeneralizedLayer

from .euler import Field

DENSE = ("Sigmoid", "Tanh")
ONE_UNIT = ("NALU", "iNALU", *DENSE)
"""Units that make all layers."""
_OPTIONS = {"eps": 1e-8, "nalu_bias": True, "gate_of_input": True}
"""Options of the paper's NALU and iNALU."""


class PairNetwork(ExtendedTorchModule):
    """x `(*runs, batch, inputs)` -> `(*runs, batch, outputs)`: a unit, then a plain sum x W^T.

    Units of `ONE_UNIT` make both layers, an activation two hidden ones. Weights start uniform
    within `gain` sqrt(6 / (in + out)), an NMU's from 0 to 1, imaginary weights and biases at 0.

    sums_first: the sum is the first layer. positive: weights start from 0 to 0.1, gates open.
    """

    def __init__(
        self, unit: str, inputs: int, hidden: int, outputs: int, layer_options: dict[str, Any]
    ):
        super().__init__("network")
        options = _OPTIONS | layer_options
        first, self._positive = options.pop("sums_first", False), options.pop("positive", False)
        self._gain = options.pop("gain", 1.0)
        sizes = [inputs, *[hidden] * (1 + (unit in DENSE)), outputs]
        units = [unit] * (len(sizes) - 1)
        if unit not in ONE_UNIT or unit in DENSE:
            units[0 if first else -1] = "linear"
        self.layers = torch.nn.Sequential()
        for k, name in enumerate(units):
            own = options | ({"bias": unit in DENSE} if name == "linear" else {})
            pair = sizes[k : k + 2]
            self.layers.append(GeneralizedLayer(*pair, name, name=f"layer_{k + 1}", **own))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        for layer in self.layers:
            layer.reset_parameters()
            for name, p in layer.named_parameters():
                if self._positive and name == "layer.g":
                    p.fill_(1)
                elif p.ndim == 2 and name != "layer.W_im":
                    p.uniform_(*self._range(layer.unit_name, sum(p.shape)))

    def _range(self, unit: str, size: int) -> tuple[float, float]:
        if self._positive:
            return 0.0, 0.1
        bound = self._gain * math.sqrt(6 / size)
        return (0.0, 1.0) if unit == "ReRegualizedLinearMNAC" else (-bound, bound)

    def field(self) -> Field:
        """Return what a unit with a sum behind it, or an MLP, computes, by NumPy."""
        layers = [layer.layer for layer in self.layers]
        own = [{n: p.detach().numpy() for n, p in layer.named_parameters()} for layer in layers]
        if "bias" in own[0]:
            pairs = [(p["W"].swapaxes(-1, -2).copy(), p["bias"][..., None, :]) for p in own]
            (W, b), (V, c), (Q, d) = pairs
            return lambda u: np.tanh(np.tanh(u @ W + b) @ V + c) @ Q + d
        gate = layers[0].gate().detach().numpy()[..., None, :]
        closed, angle = 1 - gate + gate * EPSILON, gate * np.pi
        real, sums = own[0]["W_real"], own[1]["W"].swapaxes(-1, -2).copy()
        imaginary = own[0].get("W_im", np.zeros_like(real))
        both = np.concatenate(
            (np.concatenate((real, imaginary), -1), np.concatenate((-imaginary, real), -1)), -2
        )
        width, size = real.shape[-1], real.shape[-2]
        polar = np.empty((*gate.shape[:-1], 2 * size), gate.dtype)

        def field(u: np.ndarray) -> np.ndarray:
            np.log(gate * np.abs(u) + closed, out=polar[..., :size])
            np.multiply(angle, u < 0, out=polar[..., size:])
            z = polar @ both
            return (np.exp(z[..., :width]) * np.cos(z[..., width:])) @ sums

        return field
