"""NMU and sNMU: formula, noise, normalisation, penalties, clipping."""

import pytest
import torch

from stable_nalu.layer import NMULayer, ReRegualizedLinearMNACLayer

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])


def with_weights(values, **options):
    layer = NMULayer(len(values), 1, **options)
    layer.W.data = torch.tensor([values])
    return layer


def product(x, weights):
    """The docstring's product for one output, in Python floats."""
    result = 1.0
    for v, w in zip(x, weights, strict=True):
        result *= w * v + 1 - w
    return result


@pytest.mark.parametrize(
    ("options", "train"),
    [
        ({}, [0.0595977, 1.39193]),
        ({"nmu_noise": True}, [-1.06837, 1.70722]),
        ({"nmu_noise": True, "noise_range": [1, 0]}, [-0.14714, 1.48985]),
    ],
    ids=["NMU", "sNMU", "batch sNMU"],
)
def test_published_values(options, train):
    torch.manual_seed(0)
    layer = ReRegualizedLinearMNACLayer(2, 1, nac_oob="clip", regualizer_shape="linear", **options)
    layer.reset_parameters()
    assert layer.W.flatten().tolist() == pytest.approx([0.294239, 0.316015], rel=5e-6)
    assert layer(X).flatten().tolist() == pytest.approx(train, rel=5e-6)
    layer.eval()
    assert layer(X).flatten().tolist() == pytest.approx([0.0595977, 1.39193], rel=5e-6)
    assert layer.regualizer().keys() == {"W"}
    assert layer.regualizer()["W"].item() == pytest.approx(0.305127, rel=5e-6)


@pytest.mark.parametrize(
    ("oob", "effective"), [("regualized", [0.1, 0.5, 1.0]), ("clip", [-0.3, 0.5, 1.7])]
)
def test_output_is_the_formula(oob, effective):
    layer = with_weights([-0.3, 0.5, 1.7], nac_oob=oob, mnac_epsilon=0.1)
    x = torch.tensor([[2.0, -3.0, 5.0], [-1.0, 0.0, 4.0]])
    expected = [product(row, effective) for row in x.tolist()]
    assert layer(x).flatten().tolist() == pytest.approx(expected, rel=1e-6)


def test_draws_one_uniform_fill_around_a_half():
    torch.manual_seed(2)
    layer = NMULayer(4, 3)
    torch.manual_seed(2)
    assert torch.equal(layer.W.data, torch.empty(3, 4).uniform_(0.25, 0.75))


def test_normalised_product():
    weights = [0.25, 0.75, 0.5]
    layer = with_weights(weights, mnac_normalized=True)
    x = torch.tensor([[2.0, -3.0, 5.0], [-1.0, 0.5, 4.0]])
    c = x.flatten().std().item()
    expected = [product([v / c for v in row], weights) * c**1.5 for row in x.tolist()]
    assert layer(x).flatten().tolist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("normalized", [False, True])
def test_noise_is_divided_out_again(normalized):
    weights = [0.25, 0.75]
    layer = with_weights(
        weights, nmu_noise=True, noise_range=[2, 3], mnac_normalized=normalized, regualizer_z=1
    )
    torch.manual_seed(4)
    y = layer(X).flatten().tolist()
    torch.manual_seed(4)
    noise = torch.empty(2, 2).uniform_(2, 3)
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
    noise = torch.empty(2, 2).uniform_(1, upper)
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


def test_only_eval_switches_the_noise_off():
    layer = with_weights([0.25, 0.75], nmu_noise=True)
    state = torch.get_rng_state()
    layer.eval()
    layer(X)
    assert torch.equal(state, torch.get_rng_state())
    layer.train()
    with layer.no_random():
        layer(X)
    assert not torch.equal(state, torch.get_rng_state())


def test_penalties_on_the_raw_weight():
    layer = with_weights([-0.3, 1.7], regualizer_shape="linear", regualizer_z=1)
    layer(X)
    penalties = {key: value.item() for key, value in layer.regualizer().items()}
    z = (1.3 * (1 - 1.0) ** 2 - 0.7 * (1 - 0.5) ** 2) / 2
    assert penalties == pytest.approx({"W": 0.5, "z": z, "W-OOB": 0.5}, rel=1e-5)


def test_reset_forgets_recorded_inputs():
    layer = with_weights([0.25, 0.75], regualizer_z=1)
    layer(X)
    assert layer.regualizer()["z"].item() > 0
    layer.reset_parameters()
    assert layer.regualizer()["z"].item() == 0


def test_clip_bounds_the_weight_after_a_step():
    layer = with_weights([-0.3, 1.7], nac_oob="clip", mnac_epsilon=0.25)
    assert layer.regualizer().keys() == {"W"}
    layer.optimize(torch.tensor(0.0))
    assert layer.W.tolist() == [[0.25, 1.0]]
