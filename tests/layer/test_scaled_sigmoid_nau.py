"""ScaledSigmoidNAU: mask, rounding in evaluation, draws of constructor and reset."""

import math

import pytest
import torch

from stable_nalu.layer import ScaledSigmoidNAULayer

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]], dtype=torch.float64)


@pytest.mark.parametrize("training", [True, False])
def test_output_is_the_formula(training):
    torch.manual_seed(0)
    layer = ScaledSigmoidNAULayer(4, 3).double().train(training)
    with torch.no_grad():
        layer.W_logits.mul_(20)
    y = layer(X)
    seen = set()
    for b in range(2):
        for o in range(3):
            expected = 0.0
            for i in range(4):
                weights = layer.l1.weight[o].tolist()
                hidden = layer.l1.bias[o].item() + sum(
                    w * v for w, v in zip(weights, layer.W_logits[i].tolist(), strict=True)
                )
                mask = 2 / (1 + math.exp(0.5 * abs(hidden)))
                seen.add(round(mask))
                expected += X[b, i].item() * (mask if training else round(mask))
            assert y[b, o].item() == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert seen == {0, 1}


def test_the_constructor_draws_l1_and_a_reset_only_the_logits():
    torch.manual_seed(1)
    layer = ScaledSigmoidNAULayer(4, 3)
    l1 = layer.l1.weight.clone()
    layer.reset_parameters()
    state = torch.get_rng_state()
    torch.manual_seed(1)
    expected = torch.nn.Linear(3, 3)
    torch.empty(4, 3).uniform_(0.25, 0.75)
    logits = torch.empty(4, 3).uniform_(0.25, 0.75)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(l1, expected.weight)
    assert torch.equal(layer.l1.weight, l1)
    assert torch.equal(layer.W_logits.data, logits)
    assert set(layer.state_dict()) == {"W_logits", "l1.weight", "l1.bias"}


def test_logs_only_a_z_penalty_that_is_off():
    layer = ScaledSigmoidNAULayer(4, 3)
    assert layer.observations() == []
    assert layer.regualizer_terms() == {"z": None}
