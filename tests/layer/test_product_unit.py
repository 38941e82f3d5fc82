"""The product unit: formula and start."""

import math

import pytest
import torch

from stable_nalu.layer import ProductUnitLayer
from tests.layer_checks import LayerChecks
from tests.layer_values import uniform


class TestProductUnit(LayerChecks):
    layer = ProductUnitLayer
    start_options = ({}, {"start": 2.0})

    def formula(self, layer, row, o):
        W = layer.W[o].tolist()
        log = sum(w * math.log(max(abs(v), 1e-7)) for w, v in zip(W, row, strict=True))
        return math.exp(log) * math.cos(
            math.pi * sum(w for w, v in zip(W, row, strict=True) if v < 0)
        )

    def start(self, start=0.5):
        yield "W", uniform(-start, start)

    @pytest.mark.parametrize(
        ("powers", "x", "expected"),
        [
            ([1.0, 1.0], [-2.0, 3.0], -6.0),
            ([1.0, -1.0], [-3.0, -2.0], 1.5),
            ([0.5, 2.0], [4.0, -3.0], 18.0),
            ([0.0, -1.0], [5.0, 0.0], 1e7),
        ],
    )
    def test_powers_of_any_sign(self, powers, x, expected):
        layer = ProductUnitLayer(2, 1).double()
        layer.W.data = torch.tensor([powers]).double()
        assert layer(torch.tensor([x]).double()).item() == pytest.approx(expected)
