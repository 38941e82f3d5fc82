"""The last layer of the networks of two digits, which maps digits (batch, 2) to answers (batch, 1).

It is the operation itself, a plain layer that has to learn it, or an arithmetic unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import GeneralizedLayer, entries
from stable_nalu.layer.division import ConcatReciprocalNMUSignRetrievalLayer, ReciprocalNMULayer
from stable_nalu.layer.nau import NAULayer, nmu_init_
from stable_nalu.layer.nmu import NMULayer
from stable_nalu.layer.npu import RealNPULayer

HIDDEN = 256


class FixedOperation(nn.Module):
    """The operation itself, without anything to learn."""

    def __init__(self, operation: str):
        super().__init__()
        self.operation = operation

    def forward(self, digits: torch.Tensor) -> torch.Tensor:
        left, right = digits.split(1, dim=-1)
        if self.operation == "add":
            return left + right
        return left * right if self.operation == "mul" else left / right


class ScaledProduct(nn.Module):
    """The product (w_0 z_0)(w_1 z_1), which depends on the product of its weights alone."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(1, 2))

    def reset_parameters(self) -> None:
        """Draw uniformly around 0.5, as the NMU does."""
        nmu_init_(self.weight)

    def forward(self, digits: torch.Tensor) -> torch.Tensor:
        return (self.weight * digits).prod(-1, keepdim=True)


def quotient_mlp() -> nn.Sequential:
    """Return a network of two hidden layers for the quotient."""
    return nn.Sequential(
        nn.Linear(2, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, 1),
    )


_PLAIN: dict[str, Callable[[], nn.Module]] = {
    "add": lambda: nn.Linear(2, 1, bias=False),
    "mul": ScaledProduct,
    "div": quotient_mlp,
}
_RANGED = {"nac_oob": "clip", "regualizer_shape": "linear"}
DIVIDERS = ("realnpu-mod", "nru", "nmru-sign")
"""Units that divide, in the order in which the help names them."""


def _unit(operation: str, divider: str, options: dict[str, Any]) -> ExtendedTorchModule:
    if divider in entries():
        return GeneralizedLayer(2, 1, divider, **options)
    noise = {name: options[name] for name in ("nmu_noise", "noise_range")}
    start = {"beta_nau": options["beta_nau"]}
    if operation == "add":
        return NAULayer(2, 1, **_RANGED, **start, nau_noise=options["nau_noise"])
    if operation == "mul":
        return NMULayer(2, 1, **_RANGED, **noise)
    if divider == "realnpu-mod":
        return RealNPULayer(
            2,
            1,
            npu_clip="wg",
            npu_Wr_init="xavier-uniform-constrained",
            regualizer_npu_w=options.get("regualizer_npu_w", 0),
            regualizer_gate=options.get("regualizer_gate", 0),
        )
    if divider == "nru":
        return ReciprocalNMULayer(2, 1, **_RANGED, **start)
    if divider == "nmru-sign":
        return ConcatReciprocalNMUSignRetrievalLayer(2, 1, **_RANGED, **noise)
    raise ValueError(f"dividing unit {divider!r} is not one of {', '.join(DIVIDERS)}")


def build_answer(
    operation: str, *, learned: bool, unit: bool, divider: str = "", **options: Any
) -> nn.Module:
    """Return the last layer, with parameters if `learned`, of an arithmetic unit if `unit`."""
    if unit:
        return _unit(operation, divider, options)
    return _PLAIN[operation]() if learned else FixedOperation(operation)


def two_weights(answer: nn.Module) -> torch.Tensor | None:
    """Return the weights of the two digits, where there is one weight for each."""
    W = getattr(answer, "W", getattr(answer, "weight", None))
    return W.flatten() if W is not None and W.numel() == 2 else None
