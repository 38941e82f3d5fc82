"""Two layers for the arithmetic data set: input -> hidden -> 1."""

from __future__ import annotations

import torch

from stable_nalu.functional import in_log_space
from stable_nalu.layer import GeneralizedLayer
from stable_nalu.layer.basic import ACTIVATIONS

from .arithmetic import ArithmeticNetwork

_LOG_SPACE = ("normal", "safe", "max-safe")


def second_layer(unit_name: str, nac_mul: str) -> str:
    """Return the key of the second layer, the multiplicative form that `nac_mul` asks for."""
    if nac_mul == "mnac":
        return unit_name[:-3] + "MNAC"
    if nac_mul == "npu":
        return "NPU"
    if nac_mul == "real-npu":
        return "RealNPU"
    return "linear" if unit_name in ACTIVATIONS else unit_name


class SimpleFunctionStaticNetwork(ArithmeticNetwork):
    """x `(*runs, batch, input_size)` -> `(*runs, batch, 1)`.

    z_1 = layer_1(x); then layer_2(z_1), or exp(layer_2(log z_1)) for `nac_mul` normal, safe and
    max-safe. `first_layer` replaces the unit of layer 1; other options go to the layers.
    """

    def __init__(
        self,
        unit_name: str,
        input_size: int = 100,
        hidden_size: int = 2,
        *,
        first_layer: str | None = None,
        nac_mul: str = "none",
        eps: float = 1e-7,
        **layer_options,
    ):
        super().__init__(nac_mul, eps)
        self.unit_name = unit_name
        self.input_size = input_size
        layer_options["eps"] = eps
        self.layer_1 = GeneralizedLayer(
            input_size, hidden_size, first_layer or unit_name, name="layer_1", **layer_options
        )
        self.layer_2 = GeneralizedLayer(
            hidden_size, 1, second_layer(unit_name, nac_mul), name="layer_2", **layer_options
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z_1 = self.layer_1(x)
        if self.nac_mul in _LOG_SPACE:
            z_2 = in_log_space(self.layer_2, z_1, self.nac_mul, self.eps)
        else:
            z_2 = self.layer_2(z_1)
        self.keep(x=x, z_1=z_1, z_2=z_2)
        return z_2
