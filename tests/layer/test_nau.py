"""NAU and PosNAU: formulas, start values, noise, penalties, ranges."""

import math

import torch

from stable_nalu import layer as zoo
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published
from tests.layer_values import IN, OUT, X, clamped, dot, drawn_alike, uniform, with_parameters

AS_PUBLISHED = {"nac_oob": "clip", "regualizer_shape": "linear"}


class TestNAU(LayerChecks):
    """Weights are clamped in the forward pass whatever keeps them in range."""

    layer = zoo.NAULayer
    options = ({"nac_oob": "regualized"}, {"nac_oob": "clip"})
    start_options = ({}, {"beta_nau": True})
    published = (
        Published(
            {"W": [-0.411523, -0.36797]},
            [0.118655, -1.30967],
            penalties={"W": 0.389746},
            options=AS_PUBLISHED,
        ),
    )
    _W = {"W": [[-1.3, 0.25, 1.5]]}
    penalised = (
        Penalised(
            {"regualizer_shape": "linear"},
            _W,
            {"W": (0.3 + 0.25 + 0.5) / 3, "W-OOB": (0.3 + 0.5) / 3},
        ),
        Penalised(
            {"regualizer_shape": "squared"},
            _W,
            {
                "W": ((1.3 * 0.3) ** 2 + (0.25 * 0.75) ** 2 + (1.5 * 0.5) ** 2) / 3,
                "W-OOB": (0.3**2 + 0.5**2) / 3,
            },
        ),
        Penalised({"regualizer_shape": "none"}, _W, {}),
        Penalised(
            {"regualizer_z": 1, "regualizer_shape": "none"},
            {"W": [[-1.3, 0.25]]},
            {"z": (-0.3 * 1.0**2 + 0.75 * 0.5**2) / 2},
            X,
        ),
    )
    clipped = (
        Clipped({"nac_oob": "clip"}, {"W": [[-1.3, 1.5]]}, {"W": [[-1.0, 1.0]]}),
        Clipped({}, {"W": [[-1.5, 1.5]]}, {"W": [[-1.5, 1.5]]}),
    )

    noisy = ({"nau_noise": True},)
    refused = (({"nac_oob": "clamp"}, "nac_oob"),)

    def formula(self, layer, row, o):
        return dot(row, clamped(layer.W[o].tolist(), -1, 1))

    def start(self, beta_nau=False):
        if beta_nau:
            seven = torch.tensor([7.0])
            beta = torch.distributions.Beta(seven, seven).sample((OUT, IN))
            yield "W", 2 * beta.squeeze(-1) - 1
        else:
            yield "W", uniform(-0.5, 0.5)

    def test_wide_layers_start_within_the_xavier_bound(self):
        bound = math.sqrt(6 / 102)
        layer, W = drawn_alike(lambda: zoo.NAULayer(100, 2), lambda: uniform(-bound, bound, 2, 100))
        assert torch.equal(layer.W.data, W)

    def test_a_clipped_weight_has_no_penalty_of_its_range(self):
        layer = with_parameters(zoo.NAULayer, {"W": [[-1.3, 1.5]]}, nac_oob="clip")
        assert layer.regualizer().keys() == {"W"}

    def test_noise_is_uniform_within_the_inverse_variance_and_leaves_the_value(self):
        layer = with_parameters(zoo.NAULayer, {"W": [[0.5, -0.75]]}, nau_noise=True, regualizer_z=1)
        amplitude = 1 / X.flatten().var().item()
        y, noise = drawn_alike(lambda: layer(X), lambda: uniform(-amplitude, amplitude, 2, 2))
        W = layer.W
        assert torch.equal(y, (X + noise) @ W.T - noise @ W.T)
        torch.testing.assert_close(y, X @ W.T)
        expected = ((1 - W[0].abs()) * (X + noise).mean(0) ** 2).mean()
        torch.testing.assert_close(layer.regualizer(keys={"z"})["z"], expected)

    def test_logs_the_clamped_weight(self):
        layer = with_parameters(zoo.NAULayer, {"W": [[-1.3, 0.25]]})
        assert layer.observations()[0].value().tolist() == [[-1.0, 0.25]]


class TestPosNAU(LayerChecks):
    layer = zoo.PosNAULayer
    options = ({"mnac_epsilon": 0.1}, {"nac_oob": "clip", "mnac_epsilon": 0.1})
    published = (
        Published(
            {"W": [0.294239, 0.316015]},
            [-0.190672, 1.09517],
            penalties={"W": 0.305127},
            options=AS_PUBLISHED,
        ),
    )
    penalised = (
        Penalised(
            {"regualizer_z": 1},
            {"W": [[-0.3, 1.7]]},
            {
                "W": ((-0.3 * 1.3) ** 2 + (1.7 * -0.7) ** 2) / 2,
                "z": (1.3 * (1 - 1.0) ** 2 - 0.7 * (1 - 0.5) ** 2) / 2,
                "W-OOB": (0.3**2 + 0.7**2) / 2,
            },
            X,
        ),
    )
    clipped = (
        Clipped(
            {"nac_oob": "clip", "mnac_epsilon": 0.25}, {"W": [[-0.3, 1.7]]}, {"W": [[0.25, 1.0]]}
        ),
        Clipped({}, {"W": [[-0.5, 1.5]]}, {"W": [[-0.5, 1.5]]}),
    )

    def formula(self, layer, row, o):
        W = layer.W[o].tolist()
        return dot(row, W if layer.nac_oob == "clip" else clamped(W, 0.1, 1))

    def start(self):
        yield "W", uniform(0.25, 0.75)
