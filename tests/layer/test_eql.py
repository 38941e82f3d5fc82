"""EQL and EQL-division: formulas, phases, and what a step holds at zero."""

import math

import pytest
import torch

from stable_nalu.layer import EQLDivLayer, EQLLayer
from tests.layer_checks import LayerChecks
from tests.layer_values import IN, OUT


def columns(layer, row):
    """The last columns, number by number."""
    w, h = layer.width, row
    for number in range(1, layer.layers + 1):
        W, b = (layer.get_parameter(f"{kind}{number}").tolist() for kind in "Wb")
        z = [
            sum(a * v for a, v in zip(own, h, strict=True)) + c for own, c in zip(W, b, strict=True)
        ]
        h = z[:w] + [math.sin(v) for v in z[w : 2 * w]] + [math.cos(v) for v in z[2 * w : 3 * w]]
        h += [a * b for a, b in zip(z[3 * w : 4 * w], z[4 * w :], strict=False)]
    return z


class TestEQL(LayerChecks):
    layer = EQLLayer
    options = ({}, {"layers": 3, "width": 2})
    refused = (
        ({"layers": 1}, "layers has to be from 2 to 9"),
        ({"width": 0}, "width and iterations at least 1"),
        ({"l1": math.nan}, "l1 has to be a number from 0"),
    )

    def formula(self, layer, row, o):
        return columns(layer, row)[o]

    def start(self):
        yield "W1", torch.randn(50, IN) * (50 + IN) ** -0.5
        yield "W2", torch.randn(OUT, 40) * (40 + OUT) ** -0.5
        yield "b1", torch.zeros(50)


class TestEQLDiv(LayerChecks):
    layer = EQLDivLayer
    options = ({"width": 3}, {"layers": 3, "width": 2, "epoch": 1})
    refused = (({"epoch": 0}, "epoch has to be at least 1"),)

    def formula(self, layer, row, o):
        z = columns(layer, row)
        a, b = z[o], z[layer.out_features + o]
        least = (layer.tau.item() / layer.epoch + 1) ** -0.5 if layer.training else 1e-4
        return a / b if b > least else 0.0

    def start(self):
        yield "W1", torch.randn(50, IN) * (50 + IN) ** -0.5
        yield "W2", torch.randn(2 * OUT, 40) * (40 + 2 * OUT) ** -0.5
        yield "b2", torch.ones(2 * OUT)


@pytest.mark.parametrize(("iteration", "counts"), [(0, 0), (249, 0), (250, 1), (949, 1), (950, 0)])
def test_the_penalty_is_in_force_in_the_second_phase(iteration, counts):
    layer = EQLLayer(2, 1, iterations=1000, l1=0.01).double()
    layer.set_parameter("tau", layer.tau_at(iteration))
    total = sum(W.abs().sum() for name, W in layer.named_parameters() if name[0] == "W")
    assert layer.regualizer()["g"].item() == pytest.approx(counts * 0.01 * total.item())


def test_small_weights_are_held_at_zero_in_the_last_phase():
    layer = EQLLayer(2, 1, iterations=1000)
    with torch.no_grad():
        layer.W2[0, :3] = torch.tensor([9e-4, -9e-4, 1.1e-3])
    kept = layer.W2.detach().clone()
    layer.set_parameter("tau", 949)
    layer.optimize(torch.zeros(()))
    assert torch.equal(layer.W2, kept)
    layer.set_parameter("tau", 950)
    assert layer.weights(2)[0, :3].tolist() == [0, 0, kept[0, 2].item()]
    layer.optimize(torch.zeros(()))
    assert layer.W2[0, :3].tolist() == [0, 0, kept[0, 2].item()]
    layer(torch.ones(5, 2)).sum().backward()
    assert layer.W2.grad[0, :2].tolist() == [0, 0]


def test_divisors_below_the_least_one_are_penalised_in_training():
    layer = EQLDivLayer(2, 1, epoch=10, l1=0)
    with torch.no_grad():
        for W in (layer.W1, layer.W2):
            W.zero_()
        layer.b2[:] = torch.tensor([6.0, 0.25])
    layer.set_parameter("tau", 30)
    x = torch.ones(4, 2)
    assert layer(x).tolist() == [[0.0]] * 4
    assert layer.regualizer()["g"].item() == pytest.approx(4 * 0.25)
    assert layer.eval()(x).tolist() == [[24.0]] * 4
    assert layer.regualizer()["g"].item() == 0
