"""The one layer of the mystery problem: its shapes, and start weights as the article has them."""

import math

import pytest
import torch

from stable_nalu.task.mystery_arithmetic import NALU_VARIANTS, MysteryNetwork
from tests.runs import normal


def test_vanilla_is_torchs_linear_layer_and_a_relu_on_its_output():
    model, theirs, x = MysteryNetwork("vanilla", 100, 10), torch.nn.Linear(100, 10), normal(7, 100)
    weight, bias = theirs.weight, theirs.bias = tuple(model.parameters())
    x = x.float()
    torch.testing.assert_close(model(x), theirs(x).relu())
    assert weight.abs().max().item() == pytest.approx(0.1, abs=0.002)
    assert bias.abs().max().item() == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize(
    ("variant", "count"), [("NAC", 2), ("article", 5), ("two-nac", 5), ("shared", 3)]
)
def test_all_matrices_start_xavier_normal(variant, count):
    """W_hat, M_hat and G, as in the article; a uniform draw would end at 1.73 deviations."""
    unit = "NAC" if variant == "NAC" else "NALU"
    weights = list(MysteryNetwork(unit, 100, 50, **NALU_VARIANTS.get(variant, {})).parameters())
    assert len(weights) == count
    for weight in weights:
        assert weight.shape == (50, 100)
        assert weight.std().item() == pytest.approx(math.sqrt(2 / 150), rel=0.05)
        assert weight.abs().max() > 3 * math.sqrt(2 / 150)


def test_article_by_hand():
    """y = g a + (1 - g) m with g = G x: at g = -1, y = -a + 2 m."""
    model = MysteryNetwork("NALU", 3, 1, **NALU_VARIANTS["article"], dtype=torch.float64)
    x = torch.tensor([[1.5, -2.0, 2.5]], dtype=torch.float64)
    large = torch.tensor([[40.0, 40.0, 0.0]])
    for name, parameter in model.named_parameters():
        gate = name.endswith("G_add")
        parameter.data.copy_(torch.tensor([[0.0, 0.5, 0.0]]) if gate else large)
    # W is (1, 1, 0) on both paths: a = -0.5 and m = 3, with the sign lost.
    assert model(x).item() == pytest.approx(0.5 + 2 * 3, abs=1e-5)
