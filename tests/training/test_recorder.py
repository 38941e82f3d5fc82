"""Values that a log point observes, by tags as published, and what goes to each run's writer."""

from collections import Counter

import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import GeneralizedLayer, MCFullyConnected
from stable_nalu.network import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.options.kinds import buildable_layers
from stable_nalu.training.recorder import (
    observe_gradients,
    observe_modules,
    observe_regualizers,
    prefixed_modules,
    start_trace,
    stop_trace,
)

ROWS = torch.tensor([[1.5, 1.25], [1.0, 1.75], [1.125, 2.0]])


def test_prefixes_pass_through_plain_containers():
    model = ExtendedTorchModule("network")
    model.hidden = torch.nn.ModuleList([GeneralizedLayer(2, 1, "NAC", name="layer_1")])
    prefixes = [prefix for prefix, _, _ in prefixed_modules(model)]
    assert prefixes == ["network", "network/layer_1", "network/layer_1/nac"]


def test_values_are_those_of_the_traced_pass():
    model = SimpleFunctionStaticNetwork("ReRegualizedLinearNAC", 2)
    start_trace(model)
    y = model(ROWS)
    found = {(v.kind, v.tag): v.value for v in observe_modules(model, verbose=True)}
    stop_trace(model)
    assert torch.equal(found["summary", "network/x"], ROWS)
    assert torch.equal(found["summary", "network/z_2"], y)
    W = model.layer_2.layer.W.detach()
    assert torch.equal(found["tensor", "network/layer_2/nac/W"], W)
    error = torch.minimum(W.abs(), (1 - W.abs()).abs()).max()
    assert found["scalar", "network/layer_2/nac/W/sparsity_error"] == error
    assert not any(value.requires_grad for value in found.values())
    assert not [v for v in observe_modules(model, verbose=True) if v.tag.count("/") == 1]


def gradients_of(model, runs=0):
    """By identity of the parameter: the gradient of the summed outputs."""
    x = ROWS if runs == 0 else ROWS.expand(runs, *ROWS.shape)
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


BASIC = ("ELU", "ReLU", "ReLU6", "SELU", "Sigmoid", "Softsign", "Tanh", "linear")
SPARSE = "scalar {}/sparsity_error"
DETAILS = ("histogram {}", "tensor {}")

# unit: namespace of the weight
WEIGHT = {
    **dict.fromkeys(
        (
            *("NAC", "MNAC", "PosNAC", "SoftmaxNAC", "HardSoftmaxNAC", "IndependentNAC"),
            *("GradientBanditNAC", "ReRegualizedLinearPosNAC", "ReRegualizedLinearNAC"),
            *("ReRegualizedLinearMNAC", "SillyReRegualizedLinearMNAC", "RegualizedLinearMNAC"),
            "MultiWeightNAU",
        ),
        "nac/W",
    ),
    "NRU": "nru/W",
    "NMRU": "nmru/W",
    "SignNMRU": "nmru-sign/W",
    "ProductUnit": "product-unit/W",
}
TEXT_ALWAYS = ("LinearNAC", "GumbelNAC", "GumbelMNAC", "RegualizedLinearNAC")
SILENT = ("EML", "EQL", "EQLDiv", "EnsembleGumbelNAU", "NSR", "SigmoidNAU", "ScaledSigmoidNAU")
GATED_MATRICES = {
    "DMU": ("dmu/gate", "dmu/W"),
    "GatedSignNMRU": ("gated-nmru-sign/W", "gated-nmru-sign/gate"),
    "NPU": ("npu/W_real", "npu/gate", "npu/W_im"),
    "RealNPU": ("real_npu/W_real", "real_npu/gate"),
}
NALU = {
    **dict.fromkeys(
        (
            *("NALU", "PosNALU", "SoftmaxNALU", "HardSoftmaxNALU", "IndependentNALU"),
            *("GradientBanditNALU", "ReRegualizedLinearNALU"),
        ),
        "sparsity",
    ),
    **dict.fromkeys(("LinearNALU", "GumbelNALU", "RegualizedLinearNALU"), "text"),
}
MASS_CONSERVING = {
    "MCFC": (),
    "MulMCFC": ("MulMCFC/mulmcfc_bias",),
    "MulMCFCSignINALU": ("MulMCFC/mulmcfc_bias",),
    "MulMCFCSignRealNPU": ("MulMCFC/mulmcfc_bias", "MulMCFC/mulmcfcsignrealnpu_g_hat"),
}


def build(unit, **options):
    torch.manual_seed(0)
    return SingleLayerNetwork(unit, **options)


def told(model, verbose):
    """What a traced pass tells of the network itself, and of its layers: `kind tag`."""
    start_trace(model)
    model(ROWS)
    found = observe_modules(model, verbose=verbose)
    stop_trace(model)
    own = [f"{v.kind} {v.tag}" for v in found if v.tag.count("/") == 1]
    return own, Counter(f"{v.kind} {v.tag}" for v in found if v.tag.count("/") > 1)


def tags(model, *, verbose):
    return told(model, verbose)[1]


def assert_tags(model, always, verbose):
    """`verbose` are those that come in addition."""
    both = (always, verbose)
    names = [Counter(entry.replace(" ", " network/layer_1/") for entry in e) for e in both]
    assert tags(model, verbose=False) == names[0]
    assert tags(model, verbose=True) == names[0] + names[1]


def formatted(patterns, *stems):
    return [pattern.format(stem) for stem in stems for pattern in patterns]


@pytest.mark.parametrize("unit", WEIGHT)
def test_one_weight(unit):
    stem = WEIGHT[unit]
    assert_tags(build(unit), [SPARSE.format(stem)], formatted(DETAILS, stem))


@pytest.mark.parametrize("unit", TEXT_ALWAYS)
def test_weights_as_text_at_any_verbosity(unit):
    assert_tags(build(unit), ["tensor nac/W"], ["histogram nac/W"])


@pytest.mark.parametrize("unit", SILENT)
def test_layers_that_say_nothing(unit):
    assert_tags(build(unit), [], [])


@pytest.mark.parametrize("unit", GATED_MATRICES)
def test_weights_and_gates(unit):
    stems = GATED_MATRICES[unit]
    assert_tags(build(unit), formatted([SPARSE], *stems), formatted(DETAILS, *stems))


@pytest.mark.parametrize("unit", NALU)
def test_nalu_logs_its_shared_unit_twice(unit):
    if NALU[unit] == "sparsity":
        always, verbose = [SPARSE.format("nalu/nac/W")] * 2, formatted(DETAILS, "nalu/nac/W") * 2
    else:
        always, verbose = ["tensor nalu/nac/W"] * 2, ["histogram nalu/nac/W"] * 2
    gates = [f"histogram nalu/{name}" for name in ("gate", "add", "mul")]
    assert_tags(build(unit), ["scalar nalu/gate/mean", *always], [*gates, *verbose])


def test_nalu_with_two_units():
    stems = ("nalu/nac_add/W", "nalu/nac_mul/W")
    gates = [f"histogram nalu/{name}" for name in ("gate", "add", "mul")]
    assert_tags(
        build("NALU", nalu_two_nac=True),
        ["scalar nalu/gate/mean", *formatted([SPARSE], *stems)],
        [*gates, *formatted(DETAILS, *stems)],
    )


def test_nalu_with_two_gates_has_no_mean():
    gates = [f"histogram nalu/{name}" for name in ("gate/add", "gate/mul", "add", "mul")]
    assert_tags(
        build("NALU", nalu_two_gate=True),
        [SPARSE.format("nalu/nac/W")] * 2,
        [*gates, *formatted(DETAILS, "nalu/nac/W") * 2],
    )


def test_inalu():
    assert_tags(
        build("iNALU"),
        [SPARSE.format(f"inalu/{name}") for name in ("W_a", "W_m", "W", "gate")],
        [
            *formatted(DETAILS, "inalu/W_a", "inalu/W_m", "inalu/gate"),
            "scalar inalu/gate/mean",
            *(f"histogram inalu/{name}" for name in ("add", "mul", "sign")),
        ],
    )


@pytest.mark.parametrize("unit", MASS_CONSERVING)
def test_mass_conserving_layers_have_sibling_namespaces(unit):
    stems = (*MASS_CONSERVING[unit], "MCFC/mcfc_junction", "MCFC/mcfc_out_gate")
    texts = [f"tensor {stem}" for stem in stems]
    assert_tags(build(unit), formatted([SPARSE], *stems), texts)


@pytest.mark.parametrize("unit", BASIC)
def test_mlp(unit):
    model = build(unit, hidden_size=3, mlp_depth=1)
    layers = ("layer_1", "layer_01", "layer_2")
    stems = [f"network/{layer}/basic/W" for layer in layers]
    always = Counter(formatted([SPARSE], *stems))
    assert tags(model, verbose=False) == always
    assert tags(model, verbose=True) == always + Counter(formatted(DETAILS, *stems))


def test_every_layer_is_in_one_of_these_tables():
    tables = (WEIGHT, TEXT_ALWAYS, SILENT, GATED_MATRICES, NALU, MASS_CONSERVING, BASIC)
    named = [unit for table in tables for unit in table]
    assert sorted([*named, "iNALU"]) == sorted(buildable_layers())


FOLLOWERS = {
    *("ReRegualizedLinearNAC", "ReRegualizedLinearMNAC", "SignNMRU", "RealNPU"),
    *MASS_CONSERVING,
}
"""Layers that log text instead of their sparsity error in the robustness experiments."""


@pytest.mark.parametrize("unit", [*WEIGHT, *GATED_MATRICES, *MASS_CONSERVING])
def test_robustness_experiments_swap_text_and_sparsity_of_some_layers(unit):
    model = build(unit)
    for module in model.extended_modules():
        module.robustness_logging = True
    names = WEIGHT.get(unit) or GATED_MATRICES.get(unit)
    histogram = ["histogram {}"] if names else []
    names = names or (*MASS_CONSERVING[unit], "MCFC/mcfc_junction", "MCFC/mcfc_out_gate")
    names = [names] if isinstance(names, str) else names
    always, verbose = ("tensor {}", SPARSE) if unit in FOLLOWERS else (SPARSE, "tensor {}")
    assert_tags(model, formatted([always], *names), formatted([*histogram, verbose], *names))


def test_batch_noise_logs_its_bound():
    model = build("ReRegualizedLinearMNAC", nmu_noise=True, noise_range=[1, 0])
    always = ["scalar nac/snmu_noise/upper", SPARSE.format("nac/W")]
    assert_tags(model, always, formatted(DETAILS, "nac/W"))


def test_activations_of_the_network():
    def own_tags(model):
        return told(model, verbose=True)[0]

    single = ["summary network/x", "summary network/z_1"]
    assert own_tags(build("NAC")) == single
    assert own_tags(build("MNAC")) == single
    assert own_tags(build("ReLU")) == [*single, "summary network/z_2"]
    model = SimpleFunctionStaticNetwork("NAC", 2, nac_mul="normal")
    assert own_tags(model) == [*single, "summary network/z_2"]
    assert told(build("NAC"), verbose=False)[0] == []


@pytest.mark.parametrize(
    ("unit", "keys"),
    [
        ("NAC", ("nac/regualizer/z",)),
        (
            "ReRegualizedLinearMNAC",
            ("nac/regualizer/W", "nac/regualizer/z", "nac/regualizer/W-OOB"),
        ),
        ("NPU", ("npu/regualizer/g-NPU", "npu/regualizer/W-NPU")),
        ("RealNPU", ("real_npu/regualizer/g-NPU", "real_npu/regualizer/W-NPU")),
        ("iNALU", ("inalu/regualizer/inalu",)),
        ("MCFC", ("MCFC/regualizer/W",)),
        ("PosNAC", ()),
    ],
)
def test_penalties_are_logged_also_when_they_are_off(unit, keys):
    model = build(unit)
    model(ROWS)
    zeros = torch.zeros(())
    found = {v.tag: v.value for v in observe_regualizers(model, zeros)}
    assert list(found) == [f"network/layer_1/{key}" for key in keys]
    own = model.regualizer()
    for tag, value in found.items():
        assert value.item() == own.get(tag.split("/")[-1], zeros).item()


def test_the_network_logs_its_max_safe_penalty():
    model = build("NAC", nac_mul="max-safe")
    model(ROWS)
    found = [v.tag for v in observe_regualizers(model, torch.zeros(()))]
    assert found == ["network/regualizer/z", "network/layer_1/nac/regualizer/z"]
