"""NAC, PosNAC and MNAC: formulas, start values, the penalty z, logged values."""

import math

import pytest
import torch

from stable_nalu.functional import nac_bound
from stable_nalu.layer import MNACLayer, NACLayer, PosNACLayer
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published
from tests.layer_values import IN, OUT, X, sigmoid, uniform

PHI = (1 + math.sqrt(5)) / 2


def tanh(v, base=math.e):
    return (base ** (2 * v) - 1) / (base ** (2 * v) + 1)


class TestNAC(LayerChecks):
    layer = NACLayer
    options = ({}, {"nac_weight": "golden-ratio"})
    published = (
        Published(
            {"W_hat": [-3.64795, 2.53983], "M_hat": [-0.187659, 7.50978]}, [-2.6531, 2.73497]
        ),
    )

    # The penalty takes the effective weight and the mean input, (1, 0.5).
    penalised = (
        Penalised(
            {"regualizer_z": 0.5},
            {"W_hat": [[50.0, -0.5]], "M_hat": [[0.0, 50.0]]},
            {"z": (0.5 * 1.0**2 + (1 - math.tanh(0.5)) * 0.5**2) / 2},
            X,
        ),
        Penalised({}, {}, {}, X),
    )

    def formula(self, layer, row, o):
        base = PHI if layer.nac_weight == "golden-ratio" else math.e
        hats = zip(layer.W_hat[o].tolist(), layer.M_hat[o].tolist(), row, strict=True)
        return sum(tanh(w, base) * sigmoid(m, base) * v for w, m, v in hats)

    def start(self):
        r = nac_bound(IN, OUT)
        yield "W_hat", uniform(-r, r)
        yield "M_hat", uniform(-r, r)

    def test_recorded_inputs_are_not_forgotten_by_a_reset(self):
        layer = NACLayer(2, 1, regualizer_z=1)
        layer(X)
        layer.reset_parameters()
        assert layer.regualizer()["z"].item() > 0

    def test_evaluation_without_randomness_records_nothing(self):
        layer = NACLayer(2, 1, regualizer_z=1)
        with layer.no_random():
            layer(X)
        assert layer.regualizer()["z"].item() == 0

    def test_the_error_is_that_of_the_effective_weight(self):
        layer = NACLayer(2, 1)
        magnitudes = [abs(w) for w in layer.weights()[0].tolist()]
        error = max(min(w, abs(1 - w)) for w in magnitudes)
        assert layer.observations()[2].value().item() == pytest.approx(error, rel=1e-6)


class TestPosNAC(LayerChecks):
    layer = PosNACLayer
    published = (Published({"W_hat": [-1.77897, 0.464122]}, [-1.01134, 1.91419]),)

    def formula(self, layer, row, o):
        return sum(v * sigmoid(w) for v, w in zip(row, layer.W_hat[o].tolist(), strict=True))

    def start(self):
        yield "W_hat", torch.empty(OUT, IN).normal_(0, math.sqrt(2 / 7))


class TestMNAC(LayerChecks):
    layer = MNACLayer

    penalised = (Penalised({}, {}, {}, X),)
    clipped = (Clipped({}, {"W_hat": [[-5.0, 5.0]]}, {"W_hat": [[-5.0, 5.0]]}),)

    def formula(self, layer, row, o):
        W = [sigmoid(w) for w in layer.W_hat[o].tolist()]
        return math.prod(v * w + 1 - w for v, w in zip(row, W, strict=True))

    def start(self):
        yield "W_hat", uniform(-math.sqrt(3) / 2, math.sqrt(3) / 2)
