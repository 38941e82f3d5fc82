"""NNU: shift and scale from a second input."""

import pytest
import torch

from stable_nalu.layer import GeneralizedLayer, NNULayer


@pytest.mark.parametrize("runs", [(), (3,), (2, 3)], ids=str)
def test_output_is_the_formula(runs):
    torch.manual_seed(0)
    layer = NNULayer(3, 4).double()
    layer.fc.weight = torch.nn.Parameter(torch.randn(*runs, 4, 3, dtype=torch.float64))
    current = torch.randn(*runs, 5, 2, dtype=torch.float64)
    initial = torch.randn(*runs, 5, 3, dtype=torch.float64)
    y = layer((current, initial))
    c = torch.einsum("...oi,...bi->...bo", layer.fc.weight, initial)
    for o in range(2):
        expected = (current[..., o] + c[..., o]) * c[..., 2 + o]
        torch.testing.assert_close(y[..., o], expected, rtol=1e-12, atol=1e-14)
    assert y.shape == (*runs, 5, 2)


def test_only_the_constructor_draws():
    torch.manual_seed(1)
    layer = NNULayer(3, 4)
    layer.reset_parameters()
    state = torch.get_rng_state()
    torch.manual_seed(1)
    expected = torch.nn.Linear(3, 4, bias=False)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(layer.fc.weight, expected.weight)


def test_an_odd_number_of_outputs_is_refused():
    with pytest.raises(ValueError, match="must be even"):
        NNULayer(3, 3)


def test_can_be_built_through_the_registry():
    layer = GeneralizedLayer(3, 4, "NNU")
    assert layer((torch.ones(5, 2), torch.ones(5, 3))).shape == (5, 2)
    assert layer.regualizer() == {}
