"""Values that a log point observes, by tags as published, and what goes to each run's writer."""

import json
from collections import Counter
from pathlib import Path

import pytest
import torch

from stable_nalu.network import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.options.flag import buildable_layers
from stable_nalu.training.recorder import observe_modules, traced

ROWS = torch.tensor([[1.5, 1.25], [1.0, 1.75], [1.125, 2.0]])


def test_values_are_those_of_the_traced_pass():
    model = SimpleFunctionStaticNetwork("ReRegualizedLinearNAC", 2)
    with traced(model, verbose=True) as observe:
        y = model(ROWS)
        found = {(v.kind, v.tag): v.value for v in observe()}
    assert torch.equal(found["summary", "network/x"], ROWS)
    assert torch.equal(found["summary", "network/z_2"], y)
    W = model.layer_2.layer.W.detach()
    assert torch.equal(found["tensor", "network/layer_2/nac/W"], W)
    error = torch.minimum(W.abs(), (1 - W.abs()).abs()).max()
    assert found["scalar", "network/layer_2/nac/W/sparsity_error"] == error
    assert not any(value.requires_grad for value in found.values())
    assert not [v for v in observe_modules(model, verbose=True) if v.tag.count("/") == 1]


TAGS = json.loads((Path(__file__).parent / "fixtures" / "tags.json").read_text())
"""What a layer tells at a log point, what more where it is verbose, and in the robustness script.

Some layers show text in place of their sparsity error there.
"""


def build(unit, **options):
    torch.manual_seed(0)
    return SingleLayerNetwork(unit, **options)


def tags(model, *, verbose):
    """What a traced pass tells of the layers: `kind tag`."""
    with traced(model, verbose) as observe:
        model(ROWS)
        return Counter(f"{v.kind} {v.tag}" for v in observe() if v.tag.count("/") > 1)


@pytest.mark.parametrize("case", TAGS, ids=lambda case: "-".join([case["unit"], *case["options"]]))
def test_tags_of_a_layer(case):
    model = build(case["unit"], **case["options"])
    for robust in ("", "_robust"):
        for module in model.extended_modules():
            module.use_robustness_exp_logging = bool(robust)
        kept = [case.get(key + robust, case[key]) for key in ("always", "verbose")]
        always, verbose = (Counter(one.replace(" ", " network/") for one in some) for some in kept)
        assert tags(model, verbose=False) == always
        assert tags(model, verbose=True) == always + verbose


def test_tags_of_every_layer_are_kept():
    assert {case["unit"] for case in TAGS} == set(buildable_layers())
