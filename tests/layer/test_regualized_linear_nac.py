"""RegualizedLinearNAC: a linear map with the NAU's penalty and no range."""

import math

import pytest
import torch

from stable_nalu.layer import GeneralizedCell, RegualizedLinearNACLayer

W = [[0.3, -0.8, 1.5]]


def with_weights(**options):
    layer = RegualizedLinearNACLayer(3, 1, **options)
    with torch.no_grad():
        layer.W.copy_(torch.tensor(W))
    return layer


@pytest.mark.parametrize(
    ("shape", "penalty"),
    [
        ("linear", lambda w: min(abs(w), abs(1 - abs(w)))),
        ("squared", lambda w: w**2 * (1 - abs(w)) ** 2),
    ],
)
def test_penalty_is_the_formula(shape, penalty):
    layer = with_weights(regualizer_shape=shape)
    expected = sum(map(penalty, W[0])) / 3
    assert layer.regualizer()["W"].item() == pytest.approx(expected, rel=1e-6)
    assert list(layer.regualizer()) == ["W"]


def test_the_default_shape_is_squared_and_none_switches_the_penalty_off():
    default, squared = with_weights(), with_weights(regualizer_shape="squared")
    assert torch.equal(default.regualizer()["W"], squared.regualizer()["W"])
    assert with_weights(regualizer_shape="none").regualizer_terms() == {"W": None}


def test_weights_are_never_clamped():
    layer = with_weights()
    y = layer(torch.tensor([[1.0, 10.0, 100.0]]))
    layer.optimize(torch.tensor(0.0))
    assert y.item() == pytest.approx(0.3 - 8 + 150, rel=1e-6)
    assert layer.W.tolist()[0] == pytest.approx(W[0])


def test_one_draw_in_the_xavier_range():
    torch.manual_seed(1)
    layer = RegualizedLinearNACLayer(30, 20)
    torch.manual_seed(1)
    bound = math.sqrt(3) * math.sqrt(2 / 50)
    assert torch.equal(layer.W.data, torch.empty(20, 30).uniform_(-bound, bound))


def test_logs_like_the_linear_nac():
    logged = [(o.kind, o.name, o.verbose_only) for o in with_weights().observations()]
    assert logged == [("histogram", "W", True), ("tensor", "W", False)]


def test_the_registered_cell_works():
    cell = GeneralizedCell(2, 3, "RegualizedLinearNAC", regualizer_shape="linear")
    assert cell(torch.ones(4, 2), torch.ones(4, 3)).shape == (4, 3)
    assert list(cell.regualizer()) == ["W"]
