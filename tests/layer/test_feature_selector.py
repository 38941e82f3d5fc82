"""FeatureSelector: gates with noise in training only."""

import pytest
import torch

from stable_nalu.layer import FeatureSelector, entries

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], dtype=torch.float64)


def build(**options):
    layer = FeatureSelector(3, 2, **options).double()
    with torch.no_grad():
        layer.mu.copy_(torch.tensor([[0.25, -0.75], [0.75, 0.0], [-0.25, 0.4]]))
    return layer


def gated(mu, x):
    gate = [[min(max(v + 0.5, 0.0), 1.0) for v in row] for row in mu.tolist()]
    return [[sum(r[i] * gate[i][o] for i in range(3)) for o in range(2)] for r in x.tolist()]


def test_evaluation_is_the_formula_and_draws_nothing():
    layer = build().eval()
    state = torch.get_rng_state()
    y = layer(X)
    assert torch.equal(state, torch.get_rng_state())
    for actual, expected in zip(y.tolist(), gated(layer.mu, X), strict=True):
        assert actual == pytest.approx(expected, rel=1e-12)


def test_training_adds_normal_noise_to_the_gates():
    layer = build(sigma=0.25)
    torch.manual_seed(0)
    y = layer(X)
    torch.manual_seed(0)
    noise = torch.randn(3, 2, dtype=torch.float64)
    for actual, expected in zip(y.tolist(), gated(layer.mu + 0.25 * noise, X), strict=True):
        assert actual == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("runs", [(3,), (2, 3)], ids=str)
def test_runs_have_their_own_gates(runs):
    layer = build().eval()
    single = layer(X)
    scale = torch.rand(*runs, 1, 1, dtype=torch.float64)
    layer.mu = torch.nn.Parameter(scale * layer.mu.detach())
    y = layer(X.expand(*runs, 2, 3))
    assert y.shape == (*runs, 2, 2)
    flat = layer.mu.reshape(-1, 3, 2)
    for mu, actual in zip(flat, y.reshape(-1, 2, 2).tolist(), strict=True):
        expected = [v for row in gated(mu, X) for v in row]
        assert [v for row in actual for v in row] == pytest.approx(expected, rel=1e-12)
    assert not torch.equal(y.reshape(-1, 2, 2)[0], single)


def test_starts_at_a_hundredth_of_normal_numbers():
    torch.manual_seed(1)
    layer = FeatureSelector(3, 2)
    torch.manual_seed(1)
    assert torch.equal(layer.mu.data, 0.01 * torch.randn(3, 2))


def test_is_no_registered_layer():
    assert FeatureSelector not in {entry.layer for entry in entries().values()}
