"""NNU, which adds to and multiplies one value by linear maps of another."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.papers import MISTRY_2022_ROBUST

from .base import Layer, check_size
from .registry import register


class NNULayer(Layer):
    r"""Shift and scale a current value as a linear map of an initial value says (Mistry et al.
    2022, published code).

        y = (current + c[:half]) * c[half:],    c = fc.weight initial,    half = out / 2

    Shapes: the input is a pair: current (*runs, batch, out / 2) and initial (*runs, batch, in);
    fc.weight (*runs, out, in), y (*runs, batch, out / 2).

    The constructor draws fc; there is nothing to reset. As its input is a pair, no task of this
    project can train it.

    Departs from the paper: it is not in the paper. Departs from the published code: there it cannot
    be built through the registry.
    """

    default_name = "nnu"

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        if out_features % 2:
            raise ValueError("NNU splits its out_features in two halves: they must be even")
        self.fc = torch.nn.Linear(in_features, out_features, bias=False)

    def forward(self, pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        current, initial = pair
        check_size(self, current, self.out_features // 2, "current values")
        check_size(self, initial, self.in_features, "initial values")
        shift, scale = (initial @ self.fc.weight.mT).chunk(2, dim=-1)
        return (current + shift) * scale


ENTRY = register(
    key="NNU",
    paper_name="NNU",
    latex=r"\mathrm{NNU}",
    cites=MISTRY_2022_ROBUST,
    layer=NNULayer,
    takes_pair=True,
    tier="extra",
)
