"""One module alone, or an MLP for plain activations: the single-module task."""

from __future__ import annotations

import torch

from stable_nalu.functional import in_log_space
from stable_nalu.layer import GeneralizedLayer
from stable_nalu.layer.basic import ACTIVATIONS

from .arithmetic import ArithmeticNetwork


class SingleLayerNetwork(ArithmeticNetwork):
    """x `(*runs, batch, input_size)` -> `(*runs, batch, output_size)`.

    A unit of the zoo maps input to output directly. `MNAC` here is the multiplicative NAC of the
    NALU paper, exp(NAC(log(|x| + eps))). A plain activation (ReLU, …) becomes an MLP: input ->
    hidden, `mlp_depth` more hidden layers, then a linear layer to the output.
    """

    def __init__(
        self,
        unit_name: str,
        input_size: int = 2,
        output_size: int = 1,
        *,
        hidden_size: int = 2,
        mlp_depth: int = 0,
        nac_mul: str = "none",
        eps: float = 1e-7,
        **layer_options,
    ):
        super().__init__(nac_mul, eps)
        self.unit_name = unit_name
        self.input_size = input_size
        layer_options["eps"] = eps
        self.is_mlp = unit_name in ACTIVATIONS
        if mlp_depth and not self.is_mlp:
            raise ValueError(f"mlp_depth needs a plain activation, not {unit_name!r}")
        self.multiplies_logs = unit_name == "MNAC"
        first = "NAC" if self.multiplies_logs else unit_name
        width = hidden_size if self.is_mlp else output_size
        self.layer_1 = GeneralizedLayer(input_size, width, first, name="layer_1", **layer_options)
        self.hidden = [f"layer_{i}{i + 1}" for i in range(mlp_depth)]
        for name in self.hidden:
            layer = GeneralizedLayer(width, width, unit_name, name=name, **layer_options)
            self.add_module(name, layer)
        if self.is_mlp:
            self.layer_2 = GeneralizedLayer(
                width, output_size, "linear", name="layer_2", **layer_options
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.multiplies_logs:
            z_1 = in_log_space(self.layer_1, x, "normal", self.eps)
        else:
            z_1 = self.layer_1(x)
        for name in self.hidden:
            z_1 = getattr(self, name)(z_1)
        if not self.is_mlp:
            self.keep(x=x, z_1=z_1)
            return z_1
        z_2 = self.layer_2(z_1)
        self.keep(x=x, z_1=z_1, z_2=z_2)
        return z_2
