"""RegualizedLinearMNAC: the NMU's product with a penalty and no range."""

import math

import pytest
import torch

from stable_nalu.layer import RegualizedLinearMNACCell, RegualizedLinearMNACLayer, entries


@pytest.mark.parametrize("normalized", [False, True])
def test_output_is_the_formula(normalized):
    torch.manual_seed(0)
    layer = RegualizedLinearMNACLayer(4, 3, mnac_normalized=normalized).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    flat = x.flatten().tolist()
    mean = sum(flat) / 20
    c = math.sqrt(sum((v - mean) ** 2 for v in flat) / 19) if normalized else 1.0
    for b in range(5):
        for o in range(3):
            w = layer.W[o].tolist()
            product = math.prod(x[b, i].item() / c * w[i] + 1 - w[i] for i in range(4))
            assert math.isclose(y[b, o].item(), product * c ** sum(w), rel_tol=1e-11)


def test_one_draw_around_one_half():
    torch.manual_seed(1)
    layer = RegualizedLinearMNACLayer(30, 20)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    r = math.sqrt(3) / 2
    assert torch.equal(layer.W.data, torch.empty(20, 30).uniform_(0.5 - r, 0.5 + r))
    assert torch.equal(state, torch.get_rng_state())


def test_penalty_is_that_of_the_nmu_and_nothing_is_clamped():
    layer = RegualizedLinearMNACLayer(2, 1, regualizer_shape="linear")
    with torch.no_grad():
        layer.W.copy_(torch.tensor([[1.75, -0.25]]))
    layer.optimize(torch.tensor(0.0))
    # min(|w|, |1 - w|): 0.75 and 0.25
    assert layer.regualizer()["W"].item() == 0.5
    assert layer.W.tolist() == [[1.75, -0.25]]
    assert layer(torch.tensor([[2.0, 4.0]])).item() == (2 * 1.75 - 0.75) * (-4 * 0.25 + 1.25)


def test_logs_weight_and_sparsity_error():
    logged = [(o.name, o.verbose_only) for o in RegualizedLinearMNACLayer(2, 1).observations()]
    assert logged == [("W", True), ("W", True), ("W/sparsity_error", False)]


def test_the_cell_class_exists_but_is_not_registered():
    assert entries()["RegualizedLinearMNAC"].cell is None
    assert RegualizedLinearMNACCell(2, 3).op.W.shape == (3, 5)
