"""LinearNAC: formula, initial range, logged values."""

import math

import torch

from stable_nalu.layer import LinearNACCell, LinearNACLayer, entries


def test_output_is_the_formula():
    torch.manual_seed(0)
    layer = LinearNACLayer(4, 3).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b in range(5):
        for o in range(3):
            expected = sum(layer.W[o, i].item() * x[b, i].item() for i in range(4))
            assert math.isclose(y[b, o].item(), expected, rel_tol=1e-12)


def test_one_draw_in_the_xavier_range():
    torch.manual_seed(1)
    layer = LinearNACLayer(30, 20)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    bound = math.sqrt(3) * math.sqrt(2 / 50)
    assert torch.equal(layer.W.data, torch.empty(20, 30).uniform_(-bound, bound))
    assert torch.equal(state, torch.get_rng_state())


def test_has_no_penalty_and_no_range():
    layer = LinearNACLayer(2, 1)
    with torch.no_grad():
        layer.W.fill_(7.0)
    layer.optimize(torch.tensor(0.0))
    assert layer.regualizer_terms() == {}
    assert layer.W.tolist() == [[7.0, 7.0]]


def test_text_is_always_logged_and_no_sparsity_error():
    layer = LinearNACLayer(2, 1)
    logged = [(o.kind, o.name, o.verbose_only) for o in layer.observations()]
    assert logged == [("histogram", "W", True), ("tensor", "W", False)]


def test_the_cell_class_exists_but_is_not_registered():
    assert entries()["LinearNAC"].cell is None
    assert LinearNACCell(2, 3).op.W.shape == (3, 5)
