"""Which tags a log point writes, for every layer type: always, and for verbose runs."""

from collections import Counter

import pytest
import torch

from stable_nalu.layer import GeneralizedLayer
from stable_nalu.network import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.training.recorder import (
    observe_modules,
    observe_regualizers,
    start_trace,
    stop_trace,
)

X = torch.tensor([[1.5, 1.25], [1.0, 1.75], [1.125, 2.0]])
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


def tags(model, x=X, *, verbose):
    """`kind tag` of the layers' values; tags of the network itself aside."""
    start_trace(model)
    model(x)
    found = observe_modules(model, verbose=verbose)
    stop_trace(model)
    return Counter(f"{v.kind} {v.tag}" for v in found if v.tag.count("/") > 1)


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
    assert sorted([*named, "iNALU"]) == sorted(GeneralizedLayer.unit_names())


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


def network_tags(model, x=X):
    start_trace(model)
    model(x)
    found = [f"{v.kind} {v.tag}" for v in observe_modules(model, verbose=True)]
    stop_trace(model)
    return [tag for tag in found if tag.count("/") == 1]


def test_activations_of_the_network():
    single = ["summary network/x", "summary network/z_1"]
    assert network_tags(build("NAC")) == single
    assert network_tags(build("MNAC")) == single
    assert network_tags(build("ReLU")) == [*single, "summary network/z_2"]
    model = SimpleFunctionStaticNetwork("NAC", 2, nac_mul="normal")
    assert network_tags(model) == [*single, "summary network/z_2"]
    assert not any(tag.count("/") == 1 for tag in tags(build("NAC"), verbose=False))


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
    model(X)
    zeros = torch.zeros(())
    found = {v.tag: v.value for v in observe_regualizers(model, zeros)}
    assert list(found) == [f"network/layer_1/{key}" for key in keys]
    own = model.regualizer()
    for tag, value in found.items():
        assert value.item() == own.get(tag.split("/")[-1], zeros).item()


def test_the_network_logs_its_max_safe_penalty():
    model = build("NAC", nac_mul="max-safe")
    model(X)
    found = [v.tag for v in observe_regualizers(model, torch.zeros(()))]
    assert found == ["network/regualizer/z", "network/layer_1/nac/regualizer/z"]
