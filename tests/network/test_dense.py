"""The one layer of the mystery problem: its shapes, and start weights as the article has them."""

import math

import pytest
import torch

from stable_nalu.network.dense import MysteryNetwork
from stable_nalu.task.mystery_arithmetic import NALU_VARIANTS


def test_vanilla_is_torchs_linear_layer_and_a_relu_on_its_output():
    model, theirs, x = (
        MysteryNetwork("vanilla", 100, 10),
        torch.nn.Linear(100, 10),
        torch.randn(7, 100),
    )
    weight, bias = model.parameters()
    with torch.no_grad():
        theirs.weight.copy_(weight)
        theirs.bias.copy_(bias)
    torch.testing.assert_close(model(x), theirs(x).relu())
    assert weight.abs().max().item() == pytest.approx(0.1, abs=0.002)
    assert bias.abs().max().item() == pytest.approx(0.1, abs=0.05)


def matrices(variant):
    unit = "NAC" if variant == "NAC" else "NALU"
    model = MysteryNetwork(unit, 100, 50, **NALU_VARIANTS.get(variant, {}))
    return {name.removeprefix("layer.layer."): p for name, p in model.named_parameters()}


@pytest.mark.parametrize(
    ("variant", "count"), [("NAC", 2), ("article", 5), ("two-nac", 5), ("shared", 3)]
)
def test_all_matrices_start_xavier_normal(variant, count):
    """W_hat, M_hat and G, as in the article."""
    found = matrices(variant)
    assert len(found) == count
    for weight in found.values():
        assert weight.shape == (50, 100)
        deviation = math.sqrt(2 / 150)
        assert weight.std().item() == pytest.approx(deviation, rel=0.05)
        # A uniform draw of this deviation ends at 1.73 of it.
        assert weight.abs().max() > 3 * deviation


def test_article_by_hand():
    """y = g a + (1 - g) m with g = G x: at g = -1, y = -a + 2 m."""
    model = MysteryNetwork("NALU", 3, 1, **NALU_VARIANTS["article"], dtype=torch.float64)
    x = torch.tensor([[1.5, -2.0, 2.5]], dtype=torch.float64)
    parameters = {name: p for name, p in model.named_parameters()}
    large = torch.tensor([[40.0, 40.0, 0.0]])
    with torch.no_grad():
        for name, parameter in parameters.items():
            gate = name.endswith("G_add")
            parameter.copy_(torch.tensor([[0.0, 0.5, 0.0]]) if gate else large)
    # W is (1, 1, 0) on both paths: a = -0.5 and m = 3, with the sign lost.
    assert model(x).item() == pytest.approx(0.5 + 2 * 3, abs=1e-5)
