"""Promises that every registered layer keeps; gradients against finite differences."""

from functools import partial

import pytest
import torch

from stable_nalu.abstract import PerRunRandomSource
from stable_nalu.layer import GeneralizedLayer, entries
from tests.layer_values import draws
from tests.runs import in_runs

IN, OUT, BATCH = 3, 2, 5
KEYS = [key for key, entry in entries().items() if entry.layer is not None]
PENALTIES_AND_RANGES = {
    "regualizer_z": 1,
    "regualizer_gate": 1,
    "regualizer_npu_w": 1,
    "nalu_gate": "regualized",
    "nac_oob": "clip",
    "npu_clip": "wg",
}
LOGARITHM_OF_SIGNED_INPUT = {"MulMCFC"}
"""Layers that take log(x): a negative input is not a number by their formula."""


def build(key, seed=0, **options):
    entry = entries()[key]
    torch.manual_seed(seed)
    return entry.layer(IN, OUT, **entry.fixed_options, **options)


def all_of(key):
    """Options that switch on what a layer has of penalties and ranges."""
    options = PENALTIES_AND_RANGES | ({"npu_clip": "wig"} if key == "NPU" else {})
    return {k: v for k, v in options.items() if k in entries()[key].options}


def scattered(key, seed=0):
    """A layer with everything on, of which some parameters are out of their range."""
    layer = build(key, seed, **all_of(key))
    for parameter in layer.parameters():
        if parameter.requires_grad:
            parameter.data += 0.5 * torch.randn_like(parameter)
    return layer


def stack(key, runs):
    """Layers of different parameters, stacked; the seed of a layer is its position."""
    return in_runs(runs, [scattered(key, seed) for seed in range(torch.Size(runs).numel())])


def make_input(key, runs=(), seed=1):
    """Mixed signs, away from 0; positive where the formula asks for it."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(*runs, BATCH, IN, generator=generator) + 0.5
    if key in LOGARITHM_OF_SIGNED_INPUT:
        return x
    return x * torch.sign(torch.rand(x.shape, generator=generator) - 0.5)


def differentiate(key, layer, x):
    """Output, penalties, loss of every run, gradients of input and parameters, and a step."""
    x = x.clone().requires_grad_()
    y = layer(x)
    penalties = layer.regualizer()
    loss = ((y - 1) ** 2).mean((-2, -1)) + sum(penalties.values())
    parameters = {n: p for n, p in layer.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(loss.sum(), [x, *parameters.values()], allow_unused=True)
    layer.optimize(loss.detach())
    found = {"y": y, "loss": loss} | {f"penalty {k}": v for k, v in penalties.items()}
    found |= {f"{name} after a step": p for name, p in parameters.items()}
    gradients = zip((f"gradient of {name}" for name in ("x", *parameters)), gradients, strict=True)
    return {n: v.detach() for n, v in found.items()} | dict(gradients)


def run_under(training, layer, function):
    layer.train(training)
    if training:
        return function()
    with layer.no_random():
        return function()


def draws_numbers(key, training):
    layer, x = build(key), make_input(key)
    return draws(lambda: run_under(training, layer, lambda: layer(x)))


@pytest.mark.parametrize("key", KEYS)
def test_a_seed_decides_the_start_values_alone_or_by_its_key(key):
    layer, expected = build(key), build(key).state_dict()
    torch.manual_seed(0)
    for made in (layer, GeneralizedLayer(IN, OUT, key).layer):
        actual = made.state_dict()
        assert actual.keys() == expected.keys()
        assert all(torch.equal(actual[name], expected[name]) for name in expected)
    assert all(torch.isfinite(p).all() for p in layer.parameters())
    with pytest.raises(TypeError):
        build(key, no_such_option=1)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("key", KEYS)
def test_stacked_runs_equal_single_layers(key, training):
    """In float64: what is left is the order of sums in batched matrix products."""
    draws = draws_numbers(key, training)
    runs = (3,) if draws else (2, 3)  # A random source serves one run dimension.
    count, x = torch.Size(runs).numel(), make_input(key, runs)
    stacked = stack(key, runs)
    if draws:
        source = PerRunRandomSource([torch.Generator().manual_seed(100 + r) for r in range(count)])
        for module in stacked.extended_modules():
            module.random = source
    actual = run_under(training, stacked, lambda: differentiate(key, stacked, x))
    singles = []
    for run, x_of_run in enumerate(x.reshape(count, BATCH, IN)):
        layer = scattered(key, run)
        torch.manual_seed(100 + run)
        function = partial(differentiate, key, layer, x_of_run)
        singles.append(run_under(training, layer, function))
    assert actual["loss"].shape == runs
    for name, value in actual.items():
        expected = [single[name] for single in singles]
        if value is None:
            assert expected == [None] * count
        else:
            expected = torch.stack(expected).reshape(value.shape)
            torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("key", KEYS)
def test_input_is_untouched(key, training):
    layer, x = build(key), make_input(key)
    before = x.clone()
    run_under(training, layer, lambda: layer(x))
    assert torch.equal(x, before)
    assert x._version == 0


@pytest.mark.parametrize("key", KEYS)
def test_penalties_and_observations_lead_with_runs(key):
    runs = (3,)
    layer = stack(key, runs)
    for module in layer.extended_modules():
        module.trace = {}
    layer(make_input(key, runs))
    assert all(value.shape == runs for value in layer.regualizer().values())
    for module in layer.extended_modules():
        for observation in module.observations():
            value = observation.value()
            assert value.shape[: len(runs)] == runs
            assert value.dim() == len(runs) or observation.kind != "scalar"
            assert torch.isfinite(value).all()


@pytest.mark.parametrize("key", entries())
def test_variants_use_options_that_the_layer_reads(key):
    for variant in entries()[key].variants:
        assert variant.options.keys() <= entries()[key].options
        build(key, **variant.options)


INTENDED_GRADIENT = {
    "IndependentNAC": "each factor of the weight gets its derivative as if the other were 1",
    "IndependentNALU": "each factor of the weight gets its derivative as if the other were 1",
    "HardSoftmaxNAC": "the sampled weight passes the gradient of the expected one",
    "HardSoftmaxNALU": "the sampled weight passes the gradient of the expected one",
    "EnsembleGumbelNAU": "the sampled mask passes the gradient of the relaxed one",
}
"""Layers whose gradient is by design not that of the computed value, or that take no tensor."""

SMALL = {"EQL": {"width": 2}, "EQLDiv": {"width": 2}, "NSR": {"copies": 2}}
"""Options of layers with many parameters."""
DIFFERENTIABLE = [(key, SMALL.get(key, {})) for key in KEYS if key not in INTENDED_GRADIENT]
VARIANTS = [
    (k, v.options)
    for k, e in entries().items()
    for v in e.variants
    if v.options.get("noise_range") != [1, 0]  # its range is a constant made of the input
]
MULTIPLICATIVE_PATHS = [
    ("NALU", {"nalu_mul": "safe"}),
    ("NALU", {"nalu_mul": "max-safe"}),
    ("NALU", {"nalu_mul": "trig"}),
    ("NALU", {"nalu_mul": "mnac", "nalu_two_nac": True, "nalu_two_gate": True, "nalu_bias": True}),
    ("NALU", {"nalu_gate": "obs-gumbel"}),
    ("NALU", {"nalu_gate": "linear"}),
    ("NALU", {"nalu_gate": "independent", "nalu_two_nac": True}),
    ("NALU", {"nalu_gate_shape": "vector"}),
    ("EML", {"tree": "bottom", "depth": 3, "temperature": 2.5}),
    ("DMU", {"single_gate": True, "gate_smoothing": 1e-5}),
]


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(
    ("key", "options"),
    [*DIFFERENTIABLE, *VARIANTS, *MULTIPLICATIVE_PATHS],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_gradients_equal_finite_differences(key, options):
    """In training mode, each evaluation drawing the same numbers; parameters vary in place."""
    layer, x = build(key, 3, **options), make_input(key)
    parameters = [p for p in layer.parameters() if p.requires_grad]

    def function(x, *_):
        torch.manual_seed(5)
        return layer(x)

    assert torch.autograd.gradcheck(function, (x.requires_grad_(), *parameters))
