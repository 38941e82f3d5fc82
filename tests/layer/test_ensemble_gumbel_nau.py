"""EnsembleGumbelNAU: the masks of torch's gumbel_softmax, temperature, sampling in evaluation."""

import math

import pytest
import torch
from torch.nn.functional import gumbel_softmax

from stable_nalu.layer import EnsembleGumbelNAULayer, EnsembleGumbelSoftmaxNAU


def build(inputs=5, outputs=3, dtype=torch.float32):
    torch.manual_seed(0)
    return EnsembleGumbelNAULayer(inputs, outputs).to(dtype)


def make_x(inputs=5, dtype=torch.float32):
    return torch.randn(4, inputs, dtype=dtype, generator=torch.Generator().manual_seed(1))


def reference_masks(layer, x, temperature):
    """One call of torch's function per four inputs, over the input axis of x_bi W_io."""
    logits = torch.einsum("bi,io->bio", x, layer.W_logits)
    count = math.ceil(x.shape[-1] / 4)
    return [gumbel_softmax(logits, tau=temperature, hard=True, dim=1) for _ in range(count)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(("inputs", "count"), [(4, 1), (5, 2), (9, 3)])
@pytest.mark.parametrize("iteration", [0, 50_000])
def test_masks_are_those_of_torch_for_the_same_generator_state(dtype, inputs, count, iteration):
    layer, x = build(inputs, dtype=dtype), make_x(inputs, dtype)
    layer.iteration = iteration
    torch.manual_seed(2)
    y = layer(x)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    masks = reference_masks(layer, x, math.exp(-1e-5 * iteration))
    assert torch.equal(state, torch.get_rng_state())
    assert len(masks) == count
    picked = torch.stack(masks).detach().round()
    for b in range(4):
        for o in range(3):
            inputs_of_o = {int(m[b, :, o].argmax()) for m in picked}
            expected = sum(x[b, i].item() for i in inputs_of_o)
            assert y[b, o].item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_the_gradient_is_that_of_the_soft_masks():
    layer, x = build(4, dtype=torch.float64), make_x(4, torch.float64)
    G = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    torch.manual_seed(2)
    (actual,) = torch.autograd.grad((layer(x) * G).sum(), [layer.W_logits])
    torch.manual_seed(2)
    exponential = torch.empty(4, 4, 3, dtype=torch.float64).exponential_()
    soft = torch.softmax(torch.einsum("bi,io->bio", x, layer.W_logits) - exponential.log(), dim=1)
    y = torch.einsum("bi,bio->bo", x, soft)
    (expected,) = torch.autograd.grad((y * G).sum(), [layer.W_logits])
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_one_draw_of_the_logits_with_inputs_first():
    torch.manual_seed(1)
    layer = EnsembleGumbelNAULayer(5, 3)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    assert torch.equal(layer.W_logits.data, torch.empty(5, 3).uniform_(0.25, 0.75))
    assert torch.equal(state, torch.get_rng_state())


def test_the_temperature_follows_the_iteration():
    layer = build()
    assert EnsembleGumbelNAULayer.reads_iteration
    assert layer.temperature == 1.0
    layer.iteration = 200_000
    assert layer.temperature == pytest.approx(math.exp(-2))


def test_samples_in_evaluation_and_without_randomness_too():
    layer = build().eval()
    state = torch.get_rng_state()
    with layer.no_random():
        layer(make_x())
    assert not torch.equal(state, torch.get_rng_state())
    assert not layer.evaluates_rows_independently


def test_runs_without_a_dimension_in_the_source_share_their_numbers():
    layer, stacked, x = build(), build(), make_x()
    stacked.W_logits = torch.nn.Parameter(layer.W_logits.detach().expand(2, 3, 5, 3).clone())
    torch.manual_seed(7)
    y = layer(x)
    torch.manual_seed(7)
    torch.testing.assert_close(stacked(x.expand(2, 3, 4, 5)), y.expand(2, 3, 4, 3))


def test_logs_only_a_z_penalty_that_is_off():
    layer = build()
    assert layer.observations() == []
    assert layer.regualizer_terms() == {"z": None}


def test_public_class_name():
    assert EnsembleGumbelSoftmaxNAU is EnsembleGumbelNAULayer
