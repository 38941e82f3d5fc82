"""NAC: formula, initial range, z penalty, logged values."""

import math

import pytest
import torch

from stable_nalu.functional.initialization import nac_bound
from stable_nalu.layer import NACCell, NACLayer

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
PHI = (1 + math.sqrt(5)) / 2


def test_published_values():
    torch.manual_seed(0)
    layer = NACLayer(2, 1)
    layer.reset_parameters()
    expected = torch.tensor([[-3.64795, 2.53983]]), torch.tensor([[-0.187659, 7.50978]])
    torch.testing.assert_close(layer.W_hat.data, expected[0], rtol=5e-6, atol=0)
    torch.testing.assert_close(layer.M_hat.data, expected[1], rtol=5e-6, atol=0)
    for mode in (True, False):
        layer.train(mode)
        y = torch.tensor([[-2.6531], [2.73497]])
        torch.testing.assert_close(layer(X).detach(), y, rtol=5e-6, atol=0)


@pytest.mark.parametrize(
    ("mode", "squash", "gate"),
    [
        ("normal", math.tanh, lambda v: 1 / (1 + math.exp(-v))),
        (
            "golden-ratio",
            lambda v: (PHI ** (2 * v) - 1) / (PHI ** (2 * v) + 1),
            lambda v: 1 / (1 + PHI**-v),
        ),
    ],
)
def test_output_is_the_formula(mode, squash, gate):
    torch.manual_seed(1)
    layer = NACLayer(4, 3, nac_weight=mode).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b in range(5):
        for o in range(3):
            expected = sum(
                squash(layer.W_hat[o, i].item()) * gate(layer.M_hat[o, i].item()) * x[b, i].item()
                for i in range(4)
            )
            assert y[b, o].item() == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(
    ("fan", "bound"),
    [
        (2, 9.47140638591577),
        (5, 9.47140638591577),
        (6, 5.425507820881421),
        (11, 2.26046806105046),
        (12, 2.0742480588262424),
        (101, 0.5065927462612763),
        (102, 0.5039089041167699),
    ],
)
def test_initial_range_is_the_published_one_to_the_last_bit(fan, bound):
    assert nac_bound(fan - 1, 1) == bound


def test_draws_w_hat_then_m_hat():
    torch.manual_seed(2)
    layer = NACLayer(4, 3)
    torch.manual_seed(2)
    r = nac_bound(4, 3)
    assert torch.equal(layer.W_hat.data, torch.empty(3, 4).uniform_(-r, r))
    assert torch.equal(layer.M_hat.data, torch.empty(3, 4).uniform_(-r, r))


def test_z_penalty_uses_the_effective_weight_and_the_mean_input():
    torch.manual_seed(3)
    layer = NACLayer(2, 1, regualizer_z=0.5)
    layer(X)
    layer(X + 1)
    W = layer.weights()[0]
    mean = [(1.5 + 0.5 + 2.5 + 1.5) / 4, (-2.0 + 3.0 - 1.0 + 4.0) / 4]
    expected = sum((1 - abs(W[i].item())) * mean[i] ** 2 for i in range(2)) / 2
    assert layer.regualizer()["z"].item() == pytest.approx(expected, rel=1e-6)


def test_recorded_inputs_are_forgotten_after_a_step_but_not_by_a_reset():
    layer = NACLayer(2, 1, regualizer_z=1)
    layer(X)
    layer.reset_parameters()
    assert layer.regualizer()["z"].item() > 0
    layer.optimize(torch.tensor(0.0))
    assert layer.regualizer()["z"].item() == 0


def test_evaluation_without_randomness_records_nothing():
    layer = NACLayer(2, 1, regualizer_z=1)
    with layer.no_random():
        layer(X)
    assert layer.regualizer()["z"].item() == 0


def test_without_its_flag_the_z_penalty_is_off():
    layer = NACLayer(2, 1)
    layer(X)
    assert layer.regualizer() == {}
    assert layer.regualizer_terms() == {"z": None}


def test_logs_the_effective_weight():
    layer = NACLayer(2, 1)
    names = [(o.kind, o.name, o.verbose_only) for o in layer.observations()]
    assert names == [
        ("histogram", "W", True),
        ("tensor", "W", True),
        ("scalar", "W/sparsity_error", False),
    ]
    W = [abs(w) for w in layer.weights()[0].tolist()]
    error = max(min(w, abs(1 - w)) for w in W)
    assert layer.observations()[2].value().item() == pytest.approx(error, rel=1e-6)


def test_cell_repeats_its_name_at_each_level():
    cell = NACCell(2, 3, name="recurrent_layer")
    assert (cell.namespace, cell.op.namespace) == ("recurrent_layer", "recurrent_layer")
    assert (NACCell(2, 3).namespace, NACCell(2, 3).op.namespace) == ("recurrent", "nac")
    assert cell.op.W_hat.shape == (3, 5)
