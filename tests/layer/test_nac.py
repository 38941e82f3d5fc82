"""NAC, PosNAC and MNAC: formulas, start values, the penalty z, logged values."""

import math

import torch

from stable_nalu.functional import nac_bound
from stable_nalu.layer import MNACLayer, NACLayer, PosNACLayer
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published
from tests.layer_values import IN, OUT, X, dot, nac_weights, product, sigmoid, uniform


class TestNAC(LayerChecks):
    layer = NACLayer
    options = ({}, {"nac_weight": "golden-ratio"})
    published = (Published([-2.6531, 2.73497]),)

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
        return dot(row, nac_weights(layer, o))

    def start(self):
        r = nac_bound(IN, OUT)
        yield "W_hat", uniform(-r, r)
        yield "M_hat", uniform(-r, r)


class TestPosNAC(LayerChecks):
    layer = PosNACLayer
    published = (Published([-1.01134, 1.91419]),)

    def formula(self, layer, row, o):
        return dot(row, map(sigmoid, layer.W_hat[o].tolist()))

    def start(self):
        yield "W_hat", torch.empty(OUT, IN).normal_(0, math.sqrt(2 / 7))


class TestMNAC(LayerChecks):
    layer = MNACLayer
    penalised = (Penalised({}, {}, {}, X),)
    clipped = (Clipped({}, {"W_hat": [[-5.0, 5.0]]}, {"W_hat": [[-5.0, 5.0]]}),)

    def formula(self, layer, row, o):
        return product(row, map(sigmoid, layer.W_hat[o].tolist()))

    def start(self):
        yield "W_hat", uniform(-math.sqrt(3) / 2, math.sqrt(3) / 2)
