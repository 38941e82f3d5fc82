"""SoftmaxNAC: formula, initial range, the fixed logit."""

import math

import torch

from stable_nalu.layer import SoftmaxNACLayer


def test_output_is_the_formula():
    torch.manual_seed(0)
    layer = SoftmaxNACLayer(4, 3).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b in range(5):
        for o in range(3):
            expected = 0.0
            for i in range(4):
                plus, minus = (math.exp(v) for v in layer.W_hat[o, i].tolist())
                expected += (plus - minus) / (plus + minus + 1) * x[b, i].item()
            assert math.isclose(y[b, o].item(), expected, rel_tol=1e-11, abs_tol=1e-13)


def test_one_draw_in_the_xavier_range_of_a_tensor_of_three_dimensions():
    torch.manual_seed(1)
    layer = SoftmaxNACLayer(30, 20)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    expected = torch.empty(20, 30, 2)
    torch.nn.init.xavier_uniform_(expected, gain=math.sqrt(0.5))
    assert torch.equal(layer.W_hat.data, expected)
    assert torch.equal(state, torch.get_rng_state())
    assert layer.W_hat.abs().max().item() <= math.sqrt(1.5 / 50)


def test_the_logit_of_zero_is_a_buffer_that_follows_the_dtype():
    layer = SoftmaxNACLayer(4, 3)
    assert [n for n, _ in layer.named_parameters()] == ["W_hat"]
    assert torch.equal(layer.state_dict()["W_hat_k"], torch.zeros(3, 4, 1))
    assert layer.double()(torch.ones(2, 4, dtype=torch.float64)).dtype == torch.float64


def test_logs_the_effective_weight():
    layer = SoftmaxNACLayer(2, 1)
    histogram, text, error = layer.observations()
    assert torch.equal(histogram.value(), layer.weights())
    assert (text.verbose_only, error.name, error.verbose_only) == (True, "W/sparsity_error", False)
