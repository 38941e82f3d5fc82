"""NALUs over other layers: formula, draws, shared and separate NACs, penalties, cells."""

import math

import pytest
import torch

from stable_nalu.layer import (
    GeneralizedCell,
    GradientBanditNALULayer,
    GumbelMNACLayer,
    GumbelNACLayer,
    GumbelNALULayer,
    HardSoftmaxNALULayer,
    IndependentNALULayer,
    LinearNALUCell,
    LinearNALULayer,
    PosNALULayer,
    RegualizedLinearNALULayer,
    SoftmaxNALULayer,
    entries,
)
from tests.layer_checks import IN, OUT, draws, uniform

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]])
SIGNS = torch.tensor([1.0, -1.0, 0.0])
SMOOTH = (
    IndependentNALULayer,
    LinearNALULayer,
    PosNALULayer,
    RegualizedLinearNALULayer,
    SoftmaxNALULayer,
)
SAMPLED = (GradientBanditNALULayer, HardSoftmaxNALULayer)


def built(layer, **options):
    """From 3 to 2, with the same weights, none of them the zeros that some start from."""
    torch.manual_seed(0)
    made = layer(3, 2, **options)
    for nac in (made.nac_add, getattr(made, "nac_mul", made.nac_add)):
        if hasattr(nac, "tau") or not nac.W_hat.abs().any():
            nac.W_hat.data.normal_()
    return made


@pytest.mark.parametrize("layer", SMOOTH)
class TestSmoothNALU:
    """Over layers with weights that are no draws."""

    @pytest.mark.parametrize("two_nac", [False, True])
    def test_output_is_the_formula(self, layer, two_nac):
        made = layer(3, 2, nalu_two_nac=two_nac).double()
        W_mul = (made.nac_mul if two_nac else made.nac_add).weights().tolist()
        W_add = made.nac_add.weights().tolist()
        y = made(X.double())
        for b, x in enumerate(X.tolist()):
            for o in range(2):
                z = sum(w * v for w, v in zip(made.G_add[o].tolist(), x, strict=True))
                g = 1 / (1 + math.exp(-z))
                a = sum(w * v for w, v in zip(W_add[o], x, strict=True))
                logs = [math.log(abs(v) + 1e-7) for v in x]
                m = math.exp(sum(w * v for w, v in zip(W_mul[o], logs, strict=True)))
                assert y[b, o].item() == pytest.approx(g * a + (1 - g) * m, rel=1e-10)

    def test_draws_its_nacs_and_then_the_gate(self, layer):
        torch.manual_seed(1)
        made = layer(IN, OUT, nalu_two_nac=True)
        state = torch.get_rng_state()
        torch.manual_seed(1)
        for nac in (made.nac_add, made.nac_mul):
            expected = layer.NACOp(IN, OUT)
            for name, parameter in expected.named_parameters():
                assert torch.equal(nac.get_parameter(name), parameter)
        bound = math.sqrt(6 / 7)
        torch.testing.assert_close(made.G_add.data, uniform(-bound, bound), rtol=1e-6, atol=0)
        assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("layer", [*SMOOTH, *SAMPLED])
def test_the_cell_and_no_multiplying_layer(layer):
    with pytest.raises(ValueError, match=f"{layer.__name__} has no multiplying layer"):
        layer(3, 2, nalu_mul="mnac", nalu_two_nac=True)
    key = layer.__name__.removesuffix("Layer")
    if layer is LinearNALULayer:  # whose cell is not registered
        assert entries()[key].cell is None
        assert LinearNALUCell(2, 3).op.G_add.shape == (3, 5)
        return
    cell = GeneralizedCell(2, 3, key)
    assert type(cell.cell.op) is layer
    assert cell(torch.ones(4, 2), torch.ones(4, 3)).shape == (4, 3)


def test_the_penalty_z_of_an_independent_nalu_sees_plain_and_logarithmic_inputs():
    layer = IndependentNALULayer(3, 2, regualizer_z=1)
    layer(X)
    mean = torch.cat((X, torch.log(X.abs() + 1e-7))).mean(0)
    expected = ((1 - layer.nac_add.weights().abs()) * mean**2).mean()
    torch.testing.assert_close(layer.regualizer()["z"], expected)


def test_the_penalty_of_a_regualized_linear_nalu_is_the_sum_over_its_nacs():
    layer = RegualizedLinearNALULayer(3, 2, nalu_two_nac=True, regualizer_shape="linear")
    parts = [nac.regualizer()["W"].item() for nac in (layer.nac_add, layer.nac_mul)]
    assert layer.regualizer()["W"].item() == pytest.approx(sum(parts), rel=1e-6)
    assert sum(parts) > 0


def gated_sum(layer, W_add, W_mul):
    """The output for given weights."""
    g = torch.sigmoid(X @ layer.G_add.mT)
    return g * (X @ W_add.mT) + (1 - g) * torch.exp(torch.log(X.abs() + 1e-7) @ W_mul.mT)


def next_weights(nac):
    """The weights that a NAC would draw next."""
    if hasattr(nac, "tau"):
        u = torch.empty(2, 3, 3).uniform_(1e-10, 1)
        q = torch.softmax(nac.log_probabilities() - torch.log(-torch.log(u)), dim=-1)
        return q[..., 0] - q[..., 1]
    p = nac.probabilities().detach()
    return SIGNS[torch.multinomial(p.reshape(-1, 3), 1).reshape(2, 3)]


@pytest.mark.parametrize("two_nac", [False, True])
@pytest.mark.parametrize("layer", [*SAMPLED, GumbelNALULayer])
def test_a_shared_nac_draws_once_and_two_draw_twice(layer, two_nac):
    made = built(layer, nalu_two_nac=two_nac)
    torch.manual_seed(1)
    y = made(X)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    W_add = next_weights(made.nac_add)
    W_mul = next_weights(made.nac_mul) if two_nac else W_add
    assert torch.equal(state, torch.get_rng_state())
    torch.testing.assert_close(y, gated_sum(made, W_add, W_mul), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "samples"), [(GradientBanditNALULayer, False), (HardSoftmaxNALULayer, True)]
)
def test_what_is_drawn_without_randomness(layer, samples):
    made = layer(3, 2).eval()
    with made.no_random():
        assert draws(lambda: made(X)) == samples


def test_gradients_train_only_the_gate_and_losses_the_bandits():
    layer = GradientBanditNALULayer(3, 2)
    assert [n for n, p in layer.named_parameters() if p.requires_grad] == ["G_add"]
    for loss in (1.0, 3.0):
        layer(X)
        layer.optimize(torch.tensor(loss))
    assert layer.nac_add.running_mean_iter.item() == 2
    assert layer.nac_add.W_hat.abs().max() > 1e-5


def test_gradients_reach_the_soft_weights_through_both_paths():
    layer = built(HardSoftmaxNALULayer)
    (actual,) = torch.autograd.grad(layer(X).sum(), [layer.nac_add.W_hat])
    W = layer.nac_add.weights()
    W = SIGNS[layer.nac_add.sample] + (W - W.detach())
    (expected,) = torch.autograd.grad(gated_sum(layer, W, W).sum(), [layer.nac_add.W_hat])
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


class TestGumbelNALU:
    def test_a_gumbel_mnac_can_multiply(self):
        layer = built(GumbelNALULayer, nalu_two_nac=True, nalu_mul="mnac")
        assert type(layer.nac_add) is GumbelNACLayer
        assert type(layer.nac_mul) is GumbelMNACLayer
        with layer.no_random():
            g = torch.sigmoid(X @ layer.G_add.mT)
            expected = g * layer.nac_add(X) + (1 - g) * layer.nac_mul(X)
            torch.testing.assert_close(layer(X), expected)

    def test_the_temperature_reaches_the_nacs_and_not_the_gate(self):
        layer = built(GumbelNALULayer, nalu_two_nac=True, nalu_gate="gumbel")
        torch.manual_seed(1)
        before = layer.gate(X, layer.G_add)
        layer.set_parameter("tau", 0.5)
        assert (layer.nac_add.tau.item(), layer.nac_mul.tau.item()) == (0.5, 0.5)
        torch.manual_seed(1)
        assert torch.equal(layer.gate(X, layer.G_add), before)

    def test_construction_draws_only_the_gate(self):
        torch.manual_seed(2)
        layer = GumbelNALULayer(3, 2)
        state = torch.get_rng_state()
        torch.manual_seed(2)
        gate = torch.nn.init.xavier_uniform_(torch.empty(2, 3))
        assert torch.equal(layer.G_add.data, gate)
        assert torch.equal(state, torch.get_rng_state())

    @pytest.mark.parametrize("steps", [1, 3])
    def test_the_registered_cell_works(self, steps):
        cell, h = GeneralizedCell(2, 3, "GumbelNALU"), torch.ones(4, 3)
        assert type(cell.cell.op) is GumbelNALULayer
        for _ in range(steps):
            h = cell(torch.ones(4, 2), h)
        (gradient,) = torch.autograd.grad(h.sum(), [cell.cell.op.nac_add.W_hat])
        assert gradient.abs().max() > 0
