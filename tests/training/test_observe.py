"""Values that a log point observes: prefixes, gradients, and what goes to each run's writer."""

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import GeneralizedLayer, MCFullyConnected
from stable_nalu.network import SimpleFunctionStaticNetwork
from stable_nalu.training.recorder import (
    observe_gradients,
    observe_modules,
    prefixed_modules,
    start_trace,
    stop_trace,
)

X = torch.tensor([[1.5, 1.25], [1.0, 1.75], [1.125, 2.0]])


def test_prefixes_pass_through_plain_containers():
    model = ExtendedTorchModule("network")
    model.hidden = torch.nn.ModuleList([GeneralizedLayer(2, 1, "NAC", name="layer_1")])
    prefixes = [prefix for prefix, _, _ in prefixed_modules(model)]
    assert prefixes == ["network", "network/layer_1", "network/layer_1/nac"]


def test_values_are_those_of_the_traced_pass():
    model = SimpleFunctionStaticNetwork("ReRegualizedLinearNAC", 2)
    start_trace(model)
    y = model(X)
    found = {(v.kind, v.tag): v.value for v in observe_modules(model, verbose=True)}
    stop_trace(model)
    assert torch.equal(found["summary", "network/x"], X)
    assert torch.equal(found["summary", "network/z_2"], y)
    W = model.layer_2.layer.W.detach()
    assert torch.equal(found["tensor", "network/layer_2/nac/W"], W)
    error = torch.minimum(W.abs(), (1 - W.abs()).abs()).max()
    assert found["scalar", "network/layer_2/nac/W/sparsity_error"] == error
    assert not any(value.requires_grad for value in found.values())
    assert not [v for v in observe_modules(model, verbose=True) if v.tag.count("/") == 1]


def gradients_of(model, runs=0):
    """By identity of the parameter: the gradient of the summed outputs."""
    x = X if runs == 0 else X.expand(runs, *X.shape)
    parameters = list(model.parameters())
    found = torch.autograd.grad(model(x).sum(), parameters, allow_unused=True)
    return dict(zip(map(id, parameters), found, strict=True))


def test_gradients_show_their_first_row():
    model = SimpleFunctionStaticNetwork("ReRegualizedLinearNAC", 2, hidden_size=3)
    gradients = gradients_of(model)
    found = observe_gradients(model, gradients, 0)
    names = [(v.kind, v.tag) for v in found]
    stems = [f"network/layer_{i}/nac/W/grad" for i in (1, 2)]
    assert names == [(kind, stem) for stem in stems for kind in ("summary", "histogram")]
    first_row = gradients[id(model.layer_1.layer.W)][0]
    assert all(torch.equal(v.value, first_row) for v in found[:2])
    assert first_row.shape == (2,)


def test_gradients_of_plain_modules_have_dotted_names():
    layer = MCFullyConnected(2, 1)
    gradients = {id(p): torch.ones_like(p) for p in layer.parameters()}
    tags = [v.tag for v in observe_gradients(layer, gradients, 0) if v.kind == "summary"]
    names = ("out_gate.fc.weight", "out_gate.fc.bias", "junction.r")
    assert sorted(tags) == sorted(f"MCFC/{name}/grad" for name in names)


def test_a_parameter_without_gradient_is_left_out():
    layer = MCFullyConnected(2, 1)
    assert observe_gradients(layer, {}, 0) == []
    assert observe_gradients(layer, {id(p): None for p in layer.parameters()}, 0) == []


def test_the_gradient_of_a_number_has_no_rows():
    module = ExtendedTorchModule("network")
    module.g = torch.nn.Parameter(torch.tensor(2.0))
    (summary, _) = observe_gradients(module, {id(module.g): torch.tensor(3.0)}, 0)
    assert summary.value.item() == 3
