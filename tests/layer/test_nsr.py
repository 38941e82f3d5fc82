"""NSR: formula, start, and what its two bits tell."""

import math

import pytest
import torch

from stable_nalu.layer import NSRLayer
from tests.layer_checks import LayerChecks
from tests.layer_values import IN, OUT, dot, sigmoid, softmax


class TestNSR(LayerChecks):
    layer = NSRLayer
    options = ({}, {"copies": 1, "z": 0.25})
    start_options = ({}, {"copies": 2})
    refused = (({"copies": 0}, "copies has to be"), ({"z": 0.0}, "z above 0"))

    def formula(self, layer, row, o):
        total = layer.b[o].item()
        for k in range(layer.copies):
            first, second = (dot(row, softmax(m[o, :, k].tolist())) for m in (layer.V, layer.U))
            S = math.tanh(layer.z * (first - second))
            total += layer.w[o, k].item() * S + layer.u[o, k].item() * (1 - 2 * S**2)
        return sigmoid(total)

    def start(self, copies=10):
        for name in "VU":
            std = math.sqrt(2 / (IN + copies))
            yield name, torch.empty(OUT, IN, copies).normal_(0, std)
        for name in "wu":
            yield name, torch.empty(OUT, copies).normal_(0, math.sqrt(2 / (copies + 1)))
        yield "b", torch.zeros(OUT)


@pytest.mark.parametrize(
    ("w", "u", "b", "expected"),
    [(20, 0, 0, (0, 0.5, 1)), (20, 10, 0, (0, 1, 1)), (0, -20, 0, (1, 0, 1))],
    ids=["greater", "greater or equal", "not equal"],
)
def test_bits_make_every_comparison(w, u, b, expected):
    layer = NSRLayer(2, 1, copies=1).double()
    with torch.no_grad():
        layer.V.copy_(torch.tensor([50.0, -50.0])[None, :, None])
        layer.U.copy_(-layer.V)
        for parameter, value in zip((layer.w, layer.u, layer.b), (w, u, b), strict=True):
            parameter.fill_(value)
    x = torch.tensor([[7, 12], [1e15, 1e15], [1e15 + 3, 1e15]], dtype=torch.float64)
    assert layer(x).flatten().tolist() == pytest.approx(expected, abs=1e-4)
