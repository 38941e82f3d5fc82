"""Values that a log point observes: prefixes, gradients, and what goes to each run's writer."""

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation
from stable_nalu.layer import GeneralizedLayer, MCFullyConnected
from stable_nalu.network import SimpleFunctionStaticNetwork
from stable_nalu.training.recorder import (
    observe_gradients,
    observe_modules,
    observe_regualizers,
    prefixed_modules,
    start_trace,
    stop_trace,
)

X = torch.tensor([[1.5, 1.25], [1.0, 1.75], [1.125, 2.0]])


def test_prefixes_follow_the_module_tree():
    model = SimpleFunctionStaticNetwork("NALU", 4, nalu_two_nac=True)
    prefixes = [prefix for prefix, _, _ in prefixed_modules(model)]
    layers = ["network/layer_1", "network/layer_2"]
    units = ["", "/nalu", "/nalu/nac_add", "/nalu/nac_mul"]
    assert prefixes == ["network", *(layer + unit for layer in layers for unit in units)]


def test_a_shared_unit_is_observed_once_per_pass():
    passes = {prefix: n for prefix, _, n in prefixed_modules(GeneralizedLayer(2, 1, "NALU"))}
    assert passes == {"layer": 1, "layer/nalu": 1, "layer/nalu/nac": 2}


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


def test_verbose_observations_are_not_even_computed():
    class Module(ExtendedTorchModule):
        def observations(self):
            def never():
                raise AssertionError

            return [
                Observation("histogram", "a", never),
                Observation("scalar", "b", lambda: torch.tensor(1.0), verbose_only=False),
            ]

    found = observe_modules(Module("network"), verbose=False)
    assert [(v.kind, v.tag, v.value.item()) for v in found] == [("scalar", "network/b", 1.0)]


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


def test_gradients_of_stacked_runs_show_the_first_row_of_every_run():
    model = SimpleFunctionStaticNetwork("ReRegualizedLinearNAC", 2, hidden_size=3)
    single = observe_gradients(model, gradients_of(model), 0)
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                copies = parameter.detach().expand(4, *parameter.shape).clone()
                module._parameters[name] = torch.nn.Parameter(copies)
    together = observe_gradients(model, gradients_of(model, runs=4), 1)
    assert [v.tag for v in together] == [v.tag for v in single]
    for many, one in zip(together, single, strict=True):
        assert many.value.shape == (4, *one.value.shape)
        torch.testing.assert_close(many.value, one.value.expand_as(many.value))


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


def test_penalties_of_every_module():
    model = SimpleFunctionStaticNetwork("ReRegualizedLinearNAC", 2, nac_mul="mnac", nac_oob="clip")
    model(X)
    found = {v.tag: v.value.item() for v in observe_regualizers(model, torch.zeros(()))}
    keys = ("W", "z", "W-OOB")
    tags = [f"network/layer_{i}/nac/regualizer/{key}" for i in (1, 2) for key in keys]
    assert list(found) == tags
    assert found["network/layer_2/nac/regualizer/W"] > 0
    assert found["network/layer_2/nac/regualizer/W-OOB"] == 0
