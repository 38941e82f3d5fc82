"""SillyReRegualizedLinearMNAC: no identity in the product; two more names lead to it."""

import math

import pytest
import torch

from stable_nalu.layer import GeneralizedLayer, SillyReRegualizedLinearMNACLayer, entries
from stable_nalu.network import SimpleFunctionStaticNetwork


@pytest.mark.parametrize("oob", ["regualized", "clip"])
@pytest.mark.parametrize("normalized", [False, True])
def test_output_is_the_formula(normalized, oob):
    torch.manual_seed(0)
    layer = SillyReRegualizedLinearMNACLayer(
        3, 2, mnac_normalized=normalized, nac_oob=oob, mnac_epsilon=0.1
    ).double()
    with torch.no_grad():
        layer.W[0, 0], layer.W[1, 2] = 1.5, -0.5
    x = torch.randn(5, 3, dtype=torch.float64)
    y = layer(x)
    flat = x.flatten().tolist()
    mean = sum(flat) / 15
    c = math.sqrt(sum((v - mean) ** 2 for v in flat) / 14) if normalized else 1.0
    for b in range(5):
        for o in range(2):
            w = layer.W[o].tolist()
            if oob == "regualized":
                w = [min(max(v, 0.1), 1.0) for v in w]
            product = math.prod(x[b, i].item() / c * w[i] for i in range(3))
            assert math.isclose(y[b, o].item(), product * c ** sum(w), rel_tol=1e-11)


def test_an_unused_input_makes_the_product_zero():
    layer = SillyReRegualizedLinearMNACLayer(2, 1)
    with torch.no_grad():
        layer.W.copy_(torch.tensor([[1.0, 0.0]]))
    assert layer(torch.tensor([[3.0, 5.0]])).item() == 0


def test_initial_values_are_those_of_the_nmu():
    torch.manual_seed(1)
    layer = SillyReRegualizedLinearMNACLayer(4, 3)
    torch.manual_seed(1)
    assert torch.equal(layer.W.data, torch.empty(3, 4).uniform_(0.25, 0.75))


def test_penalties_and_range_are_those_of_the_nmu_without_z():
    layer = SillyReRegualizedLinearMNACLayer(2, 1, regualizer_shape="linear")
    with torch.no_grad():
        layer.W.copy_(torch.tensor([[1.5, -0.25]]))
    layer(torch.ones(1, 2))
    assert {k: v.item() for k, v in layer.regualizer().items()} == {"W": 0.375, "W-OOB": 0.375}
    clipped = SillyReRegualizedLinearMNACLayer(2, 1, nac_oob="clip", mnac_epsilon=0.125)
    with torch.no_grad():
        clipped.W.copy_(torch.tensor([[1.5, -0.25]]))
    clipped.optimize(torch.tensor(0.0))
    assert clipped.W.tolist() == [[1.0, 0.125]]
    assert list(clipped.regualizer_terms()) == ["W", "W-OOB"]


@pytest.mark.parametrize("key", ["SillyReRegualizedLinearNAC", "SillyReRegualizedLinearNALU"])
def test_the_other_two_keys_are_names_only(key):
    entry = entries()[key]
    assert (entry.layer, entry.cell, entry.options) == (None, None, frozenset())
    assert key not in GeneralizedLayer.unit_names()
    with pytest.raises(ValueError, match=f"'{key}' is not a layer"):
        GeneralizedLayer(2, 1, key)


def test_the_name_finds_this_layer_as_the_second_of_a_network():
    network = SimpleFunctionStaticNetwork(
        "SillyReRegualizedLinearNAC",
        input_size=4,
        first_layer="ReRegualizedLinearNAC",
        nac_mul="mnac",
    )
    assert type(network.layer_2.layer) is SillyReRegualizedLinearMNACLayer
    assert network(torch.ones(3, 4)).shape == (3, 1)
