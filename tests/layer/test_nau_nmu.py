"""NAU, PosNAU, NMU and sNMU: formulas, start values, noise, normalisation, penalties, ranges."""

import pytest
import torch

from stable_nalu import layer as zoo
from stable_nalu.layer import NMULayer
from tests.layer_checks import LayerChecks, Published
from tests.layer_values import (
    IN,
    OUT,
    X,
    clamped,
    dot,
    drawn_alike,
    product,
    randomised,
    uniform,
    with_parameters,
)
from tests.runs import normal

AS_PUBLISHED = {"nac_oob": "clip", "regualizer_shape": "linear"}


class TestNAU(LayerChecks):
    """Weights are clamped in the forward pass whatever keeps them in range."""

    layer = zoo.NAULayer
    options = ({"nac_oob": "regualized"}, {"nac_oob": "clip"})
    start_options = ({}, {"beta_nau": True})
    published = (Published([0.118655, -1.30967], None, {"W": 0.389746}, AS_PUBLISHED),)
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

    def test_noise_is_uniform_within_the_inverse_variance_and_leaves_the_value(self):
        layer = with_parameters(zoo.NAULayer, {"W": [[0.5, -0.75]]}, nau_noise=True, regualizer_z=1)
        amplitude = 1 / X.flatten().var().item()
        y, noise = drawn_alike(lambda: layer(X), lambda: uniform(-amplitude, amplitude, 2, 2))
        W = layer.W
        assert torch.equal(y, (X + noise) @ W.T - noise @ W.T)
        torch.testing.assert_close(y, X @ W.T)
        expected = ((1 - W[0].abs()) * (X + noise).mean(0) ** 2).mean()
        torch.testing.assert_close(layer.regualizer(keys={"z"})["z"], expected)


class TestPosNAU(LayerChecks):
    layer = zoo.PosNAULayer
    options = ({"mnac_epsilon": 0.1}, {"nac_oob": "clip", "mnac_epsilon": 0.1})
    published = (Published([-0.190672, 1.09517], None, {"W": 0.305127}, AS_PUBLISHED),)

    def formula(self, layer, row, o):
        W = layer.W[o].tolist()
        return dot(row, W if layer.nac_oob == "clip" else clamped(W, 0.1, 1))

    def start(self):
        yield "W", uniform(0.25, 0.75)


class TestNMU(LayerChecks):
    layer = NMULayer
    options = ({"mnac_epsilon": 0.1}, {"nac_oob": "clip", "mnac_epsilon": 0.1})
    published = tuple(
        Published(train, [0.0595977, 1.39193], {"W": 0.305127}, AS_PUBLISHED | noise)
        for train, noise in (
            ([0.0595977, 1.39193], {}),
            ([-1.06837, 1.70722], {"nmu_noise": True}),
            ([-0.14714, 1.48985], {"nmu_noise": True, "noise_range": [1, 0]}),
        )
    )

    def weights_of(self, layer, o):
        W = layer.W[o].tolist()
        return W if layer.nac_oob == "clip" else clamped(W, layer.mnac_epsilon, 1)

    def formula(self, layer, row, o):
        return product(row, self.weights_of(layer, o))

    def start(self):
        yield "W", uniform(0.25, 0.75)

    @pytest.mark.parametrize("options", [{}, {"mnac_epsilon": 0.1}, {"nac_oob": "clip"}])
    def test_a_normalised_product_is_that_of_divided_inputs(self, options):
        layer = randomised(NMULayer(3, 2, mnac_normalized=True, **options), -0.4, 1.4)
        x = normal(5, 3)
        c = x.std().item()
        for row, outputs in zip((x / c).tolist(), layer(x).tolist(), strict=True):
            for o, value in enumerate(outputs):
                expected = self.formula(layer, row, o) * c ** sum(self.weights_of(layer, o))
                assert value == pytest.approx(expected, rel=1e-11)


def noisy(**options):
    return with_parameters(NMULayer, {"W": [[0.25, 0.75]]}, nmu_noise=True, **options)


@pytest.mark.parametrize("normalized", [False, True])
def test_noise_is_divided_out_again(normalized):
    weights = [0.25, 0.75]
    layer = noisy(noise_range=[2, 3], mnac_normalized=normalized, regualizer_z=1)
    y, noise = drawn_alike(lambda: layer(X).flatten().tolist(), lambda: uniform(2, 3, 2, 2))
    noised = X * noise
    c = noised.flatten().std().item() if normalized else 1.0
    for row, n, value in zip(noised.tolist(), noise.tolist(), y, strict=True):
        expected = product([v / c for v in row], weights) * c ** sum(weights) / product(n, weights)
        assert value == pytest.approx(expected, rel=1e-5)
    z = ((1 - layer.W[0]) * (1 - noised.mean(0)) ** 2).mean()
    torch.testing.assert_close(layer.regualizer(keys={"z"})["z"], z)
    layer.reset_parameters()
    assert layer.regualizer()["z"].item() == 0
