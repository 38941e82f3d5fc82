"""SigmoidNAU: mask, batch norm over its rows, draws of constructor and reset."""

import pytest
import torch

from stable_nalu.abstract import stack_models
from stable_nalu.layer import SigmoidNAULayer

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]], dtype=torch.float64)


def build(seed=0):
    torch.manual_seed(seed)
    layer = SigmoidNAULayer(4, 3).double()
    with torch.no_grad():
        layer.bn.weight.uniform_(0.5, 2)
        layer.bn.bias.copy_(torch.tensor([2.0, -2.0, 0.0]))
    return layer


def torch_bn(layer):
    """torch's own batch norm with the parameters and statistics of the layer."""
    bn = torch.nn.BatchNorm1d(3).double()
    bn.load_state_dict(layer.bn.state_dict())
    return bn


def test_training_and_evaluation_are_those_of_torch_modules():
    layer = build()
    bn = torch_bn(layer)
    for _ in range(3):
        y = layer(X)
        mask = torch.sigmoid(bn(layer.l1(layer.W_logits)))
        torch.testing.assert_close(y, X @ mask, rtol=1e-12, atol=1e-13)
    for name, value in bn.state_dict().items():
        torch.testing.assert_close(layer.bn.state_dict()[name], value, rtol=1e-12, atol=0)
    layer.eval()
    bn.eval()
    mask = torch.sigmoid(bn(layer.l1(layer.W_logits))).round()
    assert torch.equal(layer(X), X @ mask)
    assert set(mask.flatten().tolist()) == {0.0, 1.0}
    assert layer.bn.num_batches_tracked.item() == 3


def test_gradients_are_those_of_torch_modules():
    layer = build()
    parameters = [p for n, p in layer.named_parameters() if not n.startswith("bn")]
    mask = torch.sigmoid(torch_bn(layer)(layer.l1(layer.W_logits)))
    expected = torch.autograd.grad((X @ mask).square().sum(), parameters)
    actual = torch.autograd.grad(layer(X).square().sum(), parameters)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-12)


def test_the_constructor_draws_l1_and_a_reset_only_the_logits():
    torch.manual_seed(1)
    layer = SigmoidNAULayer(4, 3)
    l1 = layer.l1.weight.clone(), layer.l1.bias.clone()
    layer.reset_parameters()
    state = torch.get_rng_state()
    torch.manual_seed(1)
    expected = torch.nn.Linear(3, 3)
    torch.empty(4, 3).uniform_(0.25, 0.75)
    logits = torch.empty(4, 3).uniform_(0.25, 0.75)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(l1[0], expected.weight)
    assert torch.equal(l1[1], expected.bias)
    assert torch.equal(layer.l1.weight, l1[0])
    assert torch.equal(layer.W_logits.data, logits)


@pytest.mark.parametrize("runs", [(3,), (2, 3)], ids=str)
def test_running_statistics_of_stacked_runs_are_those_of_single_ones(runs):
    count = torch.Size(runs).numel()
    singles = [build(seed) for seed in range(count)]
    stacked = [build(seed) for seed in range(count)]
    for width in reversed(runs):
        stacked = [stack_models(stacked[i : i + width]) for i in range(0, len(stacked), width)]
    y = stacked[0](X).reshape(count, 2, 3)
    for run, single in enumerate(singles):
        torch.testing.assert_close(y[run], single(X), rtol=1e-12, atol=1e-13)
        for name, buffer in single.bn.named_buffers():
            stacked_buffer = stacked[0].bn.get_buffer(name)
            value = stacked_buffer.reshape(count, *buffer.shape)[run]
            torch.testing.assert_close(value, buffer, rtol=1e-12, atol=0)


def test_saved_names():
    assert set(SigmoidNAULayer(4, 3).state_dict()) == {
        "W_logits", "l1.weight", "l1.bias", "bn.weight", "bn.bias",
        "bn.running_mean", "bn.running_var", "bn.num_batches_tracked",
    }  # fmt: skip


def test_one_input_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        SigmoidNAULayer(1, 3)


def test_logs_only_a_z_penalty_that_is_off():
    layer = build()
    assert layer.observations() == []
    assert layer.regualizer_terms() == {"z": None}
