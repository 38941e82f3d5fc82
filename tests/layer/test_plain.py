"""Torch modules that know nothing of runs: stacked, initialised and observed as layers."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from stable_nalu.abstract import stack_models
from stable_nalu.layer.plain import options_of, plain_layer


class Affine(torch.nn.Module):
    """An affine map whose bias is a buffer."""

    def __init__(self, in_features, out_features, bias=0.5, *, dtype=None):
        super().__init__()
        self.W = torch.nn.Parameter(torch.randn(out_features, in_features))
        self.register_buffer("bias", torch.full((out_features,), bias))

    def forward(self, x):
        return x @ self.W.T + self.bias


class Told(Affine):
    """One that tells its own sparsity error."""

    def sparsity_error(self):
        return self.W.abs().max().item()


AffineLayer, ToldLayer = plain_layer(Affine), plain_layer(Told)


def test_options_are_those_behind_the_sizes():
    assert [p.name for p in options_of(Affine)] == ["bias"]
    with pytest.raises(TypeError):
        options_of(torch.nn.ReLU)


def test_stacked_runs_equal_runs_alone():
    x = torch.randn(3, 7, 4)
    alone = [AffineLayer(4, 2, bias=float(k)) for k in range(3)]
    expected = torch.stack([layer(one) for layer, one in zip(alone, x, strict=True)])
    stack = stack_models(copy.deepcopy(alone))
    torch.testing.assert_close(stack(x), expected)
    stack(x).sum().backward()
    for k, layer in enumerate(alone):
        layer(x[k]).sum().backward()
        torch.testing.assert_close(stack.module.W.grad[k], layer.module.W.grad)


def test_initialising_draws_what_the_constructor_draws():
    layer = AffineLayer(4, 2)
    torch.manual_seed(3)
    layer.reset_parameters()
    torch.manual_seed(3)
    assert torch.equal(layer.module.W, Affine(4, 2).W)


def test_sparsity_is_the_modules_own_or_that_of_its_weight():
    (error,) = (o for o in AffineLayer(4, 2).observations() if o.kind == "scalar")
    assert error.name == "W/sparsity_error"
    layers = [ToldLayer(4, 2) for _ in range(2)]
    expected = torch.tensor([layer.module.sparsity_error() for layer in layers])
    (alone,) = layers[0].observations()
    assert alone.value() == expected[0]
    (stacked,) = stack_models(layers).observations()
    assert (alone.name, stacked.name) == ("W/sparsity_error",) * 2
    torch.testing.assert_close(stacked.value(), expected)


def test_a_module_without_a_weight_has_no_sparsity():
    assert plain_layer(_Named)(2, 1).observations() == []


class _Named(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(out_features, in_features))


def test_a_vector_and_a_wrong_size():
    layer = AffineLayer(4, 2)
    assert layer(torch.rand(4)).shape == (2,)
    with pytest.raises(ValueError, match=r"Affine takes inputs \(\.\.\., 4\)"):
        layer(torch.rand(3, 5))


def test_the_module_itself_can_be_pickled():
    module = AffineLayer(4, 2).module
    assert torch.equal(pickle.loads(pickle.dumps(module)).W, module.W)
