"""Promises that every registered layer keeps."""

from functools import partial

import pytest
import torch

from stable_nalu.abstract import PerRunRandomSource
from stable_nalu.figure.style import drawable
from stable_nalu.layer import GeneralizedLayer, entries
from tests.layer_values import draws
from tests.runs import in_runs

IN, OUT, BATCH = 3, 2, 5
KEYS = [key for key, entry in entries().items() if entry.layer is not None]
CELL_KEYS = [key for key, entry in entries().items() if hasattr(entry.cell, "Op")]
PENALTIES_ON = {
    "regualizer_z": 1,
    "regualizer_gate": 1,
    "regualizer_npu_w": 1,
    "nalu_gate": "regualized",
}
LOGARITHM_OF_SIGNED_INPUT = {"MulMCFC"}
"""Layers that take log(x): a negative input is not a number by their formula."""


def build(key, seed=0, **options):
    entry = entries()[key]
    torch.manual_seed(seed)
    return entry.layer(IN, OUT, **entry.fixed_options, **options)


def stack(key, runs, **options):
    """Separately initialised layers, stacked; the seed of a layer is its position."""
    return in_runs(runs, [build(key, seed, **options) for seed in range(torch.Size(runs).numel())])


def all_penalties(key):
    return {k: v for k, v in PENALTIES_ON.items() if k in entries()[key].options}


def make_input(key, runs=(), seed=1):
    """Mixed signs, away from 0; positive where the formula asks for it."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(*runs, BATCH, IN, generator=generator) + 0.5
    if key in LOGARITHM_OF_SIGNED_INPUT:
        return x
    return x * torch.sign(torch.rand(x.shape, generator=generator) - 0.5)


def differentiate(key, layer, x):
    """Output, loss of every run and gradients of input and parameters."""
    x = x.clone().requires_grad_()
    y = layer(x)
    loss = ((y - 1) ** 2).mean((-2, -1))
    parameters = {n: p for n, p in layer.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(loss.sum(), [x, *parameters.values()], allow_unused=True)
    return {"y": y.detach(), "loss": loss.detach()} | dict(
        zip(["x", *parameters], gradients, strict=True)
    )


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
@pytest.mark.parametrize("runs", [(3,), (2, 3)], ids=str)
@pytest.mark.parametrize("key", KEYS)
def test_stacked_runs_equal_single_layers(key, runs, training):
    """In float64: what is left is the order of sums in batched matrix products."""
    draws = draws_numbers(key, training)
    if draws and len(runs) > 1:
        pytest.skip("a random source serves one run dimension")
    count, x = torch.Size(runs).numel(), make_input(key, runs)
    stacked = stack(key, runs)
    if draws:
        source = PerRunRandomSource([torch.Generator().manual_seed(100 + r) for r in range(count)])
        for module in stacked.extended_modules():
            module.random = source
    actual = run_under(training, stacked, lambda: differentiate(key, stacked, x))
    singles = []
    for run, x_of_run in enumerate(x.reshape(count, BATCH, IN)):
        layer = build(key, seed=run)
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


@pytest.mark.parametrize("runs", [(), (3,)], ids=str)
@pytest.mark.parametrize("key", KEYS)
def test_penalties_and_observations_lead_with_runs(key, runs):
    layer = stack(key, runs, **all_penalties(key))
    for module in layer.extended_modules():
        module.trace = {}
    layer(make_input(key, runs))
    for value in layer.regualizer().values():
        assert value.shape == runs
        assert torch.isfinite(value).all()
    for module in layer.extended_modules():
        for observation in module.observations():
            value = observation.value()
            assert value.shape[: len(runs)] == runs
            assert value.dim() == len(runs) or observation.kind != "scalar"
            assert torch.isfinite(value).all()
    layer.optimize(torch.ones(runs))


@pytest.mark.parametrize("key", CELL_KEYS)
def test_cell_applies_its_layer_to_input_and_state(key):
    entry = entries()[key]
    torch.manual_seed(0)
    cell = entry.cell(IN - OUT, OUT, **entry.fixed_options)
    torch.manual_seed(0)
    layer = cell.Op(IN, OUT, **entry.fixed_options)
    x = make_input(key)
    torch.manual_seed(1)
    h = cell(x[..., : IN - OUT], x[..., IN - OUT :])
    torch.manual_seed(1)
    assert torch.equal(h, layer(x))


@pytest.mark.parametrize("key", entries())
def test_entry_is_labelled_and_cited(key):
    entry = entries()[key]
    assert entry.key == key
    assert entry.tier in ("core", "extra")
    assert drawable(entry.shown) == entry.shown
    for labelled in (entry, *entry.variants):
        assert labelled.label
        assert any(year.isdigit() for year in labelled.cites.citation.replace(",", " ").split())


@pytest.mark.parametrize("key", entries())
def test_variants_use_options_that_the_layer_reads(key):
    for variant in entries()[key].variants:
        assert variant.options.keys() <= entries()[key].options
        build(key, **variant.options)
