"""NMU and sNMU: formula, noise, normalisation, penalties, range."""

import pytest
import torch

from stable_nalu.layer import NMULayer
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published
from tests.layer_values import X, clamped, drawn_alike, product, uniform, with_parameters

AS_PUBLISHED = {"nac_oob": "clip", "regualizer_shape": "linear"}


def with_weights(values, **options):
    return with_parameters(NMULayer, {"W": [values]}, **options)


def published(train, **options):
    return Published(
        {"W": [0.294239, 0.316015]},
        train,
        [0.0595977, 1.39193],
        {"W": 0.305127},
        AS_PUBLISHED | options,
    )


class TestNMU(LayerChecks):
    layer = NMULayer
    options = ({"mnac_epsilon": 0.1}, {"nac_oob": "clip", "mnac_epsilon": 0.1})
    published = (
        published([0.0595977, 1.39193]),
        published([-1.06837, 1.70722], nmu_noise=True),
        published([-0.14714, 1.48985], nmu_noise=True, noise_range=[1, 0]),
    )
    penalised = (
        Penalised(
            {"regualizer_shape": "linear", "regualizer_z": 1},
            {"W": [[-0.3, 1.7]]},
            {"W": 0.5, "z": (1.3 * (1 - 1.0) ** 2 - 0.7 * (1 - 0.5) ** 2) / 2, "W-OOB": 0.5},
            X,
        ),
        Penalised(AS_PUBLISHED, {"W": [[-0.3, 1.7]]}, {"W": 0.5}),
    )
    clipped = (
        Clipped(
            {"nac_oob": "clip", "mnac_epsilon": 0.25}, {"W": [[-0.3, 1.7]]}, {"W": [[0.25, 1.0]]}
        ),
        Clipped({}, {"W": [[-0.5, 1.5]]}, {"W": [[-0.5, 1.5]]}),
    )

    normalised = ({}, {"mnac_epsilon": 0.1}, {"nac_oob": "clip"})
    noisy = ({"nmu_noise": True},)

    def weights_of(self, layer, o):
        W = layer.W[o].tolist()
        return W if layer.nac_oob == "clip" else clamped(W, layer.mnac_epsilon, 1)

    def formula(self, layer, row, o):
        return product(row, self.weights_of(layer, o))

    def start(self):
        yield "W", uniform(0.25, 0.75)


@pytest.mark.parametrize("normalized", [False, True])
def test_noise_is_divided_out_again(normalized):
    weights = [0.25, 0.75]
    options = {"noise_range": [2, 3], "mnac_normalized": normalized, "regualizer_z": 1}
    layer = with_weights(weights, nmu_noise=True, **options)
    y, noise = drawn_alike(lambda: layer(X).flatten().tolist(), lambda: uniform(2, 3, 2, 2))
    noised = X * noise
    c = noised.flatten().std().item() if normalized else 1.0
    for row, n, value in zip(noised.tolist(), noise.tolist(), y, strict=True):
        expected = product([v / c for v in row], weights) * c ** sum(weights) / product(n, weights)
        assert value == pytest.approx(expected, rel=1e-5)
    z = ((1 - layer.W[0]) * (1 - noised.mean(0)) ** 2).mean()
    torch.testing.assert_close(layer.regualizer(keys={"z"})["z"], z)


def test_range_of_batch_noise_is_logged_and_constant_under_differentiation():
    layer = with_weights([0.25, 0.75], nmu_noise=True, noise_range=[1, 0])
    layer.trace = {}
    torch.manual_seed(4)
    x = X.clone().requires_grad_()
    y = layer(x)
    torch.manual_seed(4)
    upper = 1 + 1 / X.flatten().std().item()
    noise = uniform(1, upper, 2, 2)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    x = X.clone().requires_grad_()
    factors = [noise * v * w + 1 - w for v, w in ((x, layer.W), (torch.ones(2, 2), layer.W))]
    expected = factors[0].prod(1) / factors[1].prod(1)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), x)[0])
    logged = layer.observations()[-1]
    assert (logged.kind, logged.name, logged.verbose_only) == ("scalar", "snmu_noise/upper", False)
    assert logged.value().item() == pytest.approx(upper, rel=1e-6)


def test_fixed_range_is_not_logged():
    layer = with_weights([0.25, 0.75], nmu_noise=True)
    layer.trace = {}
    layer(X)
    assert [o.name for o in layer.observations()] == ["W", "W", "W/sparsity_error"]


def test_reset_forgets_recorded_inputs():
    layer = with_weights([0.25, 0.75], regualizer_z=1)
    layer(X)
    assert layer.regualizer()["z"].item() > 0
    layer.reset_parameters()
    assert layer.regualizer()["z"].item() == 0
