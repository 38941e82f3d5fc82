"""NAC, PosNAC and MNAC: formulas, start values, the penalty z, logged values."""

import math

import pytest
import torch

from stable_nalu.functional import nac_bound
from stable_nalu.layer import MNACLayer, NACCell, NACLayer, PosNACLayer
from tests.layer_checks import LayerChecks, Published
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

    def formula(self, layer, row, o):
        base = PHI if layer.nac_weight == "golden-ratio" else math.e
        hats = zip(layer.W_hat[o].tolist(), layer.M_hat[o].tolist(), row, strict=True)
        return sum(tanh(w, base) * sigmoid(m, base) * v for w, m, v in hats)

    def start(self):
        r = nac_bound(IN, OUT)
        yield "W_hat", uniform(-r, r)
        yield "M_hat", uniform(-r, r)

    def test_the_penalty_z_takes_the_effective_weight_and_the_mean_input(self):
        layer = NACLayer(2, 1, regualizer_z=0.5)
        layer(X)
        layer(X + 1)
        W = layer.weights()[0].tolist()
        mean = [(1.5 + 0.5 + 2.5 + 1.5) / 4, (-2.0 + 3.0 - 1.0 + 4.0) / 4]
        expected = sum((1 - abs(w)) * m**2 for w, m in zip(W, mean, strict=True)) / 2
        assert layer.regualizer()["z"].item() == pytest.approx(expected, rel=1e-6)

    def test_recorded_inputs_are_forgotten_after_a_step_but_not_by_a_reset(self):
        layer = NACLayer(2, 1, regualizer_z=1)
        layer(X)
        layer.reset_parameters()
        assert layer.regualizer()["z"].item() > 0
        layer.optimize(torch.tensor(0.0))
        assert layer.regualizer()["z"].item() == 0

    def test_evaluation_without_randomness_records_nothing(self):
        layer = NACLayer(2, 1, regualizer_z=1)
        with layer.no_random():
            layer(X)
        assert layer.regualizer()["z"].item() == 0

    def test_without_its_flag_the_penalty_z_is_off(self):
        layer = NACLayer(2, 1)
        layer(X)
        assert layer.regualizer() == {}
        assert layer.regualizer_terms() == {"z": None}

    def test_the_error_is_that_of_the_effective_weight(self):
        layer = NACLayer(2, 1)
        magnitudes = [abs(w) for w in layer.weights()[0].tolist()]
        error = max(min(w, abs(1 - w)) for w in magnitudes)
        assert layer.observations()[2].value().item() == pytest.approx(error, rel=1e-6)

    def test_a_cell_repeats_its_name_at_each_level(self):
        cell = NACCell(2, 3, name="recurrent_layer")
        assert (cell.namespace, cell.op.namespace) == ("recurrent_layer", "recurrent_layer")
        assert (NACCell(2, 3).namespace, NACCell(2, 3).op.namespace) == ("recurrent", "nac")
        assert cell.op.W_hat.shape == (3, 5)


class TestPosNAC(LayerChecks):
    layer = PosNACLayer
    published = (Published({"W_hat": [-1.77897, 0.464122]}, [-1.01134, 1.91419]),)

    def formula(self, layer, row, o):
        return sum(v * sigmoid(w) for v, w in zip(row, layer.W_hat[o].tolist(), strict=True))

    def start(self):
        yield "W_hat", torch.empty(OUT, IN).normal_(0, math.sqrt(2 / 7))


class TestMNAC(LayerChecks):
    layer = MNACLayer

    def formula(self, layer, row, o):
        W = [sigmoid(w) for w in layer.W_hat[o].tolist()]
        return math.prod(v * w + 1 - w for v, w in zip(row, W, strict=True))

    def start(self):
        yield "W_hat", uniform(-math.sqrt(3) / 2, math.sqrt(3) / 2)


@pytest.mark.parametrize("layer", [PosNACLayer, MNACLayer])
def test_sigmoid_weights_have_no_penalty_and_no_bounds(layer):
    built = layer(2, 1)
    built(X)
    assert built.namespace == "nac"
    assert torch.equal(built.observations()[0].value(), torch.sigmoid(built.W_hat))
    assert built.regualizer_terms() == {}
    assert built.parameter_bounds() == {}
