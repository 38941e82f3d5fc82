"""NALUs over other layers: formula, draws, shared and separate NACs, penalties, cells."""

import math

import pytest
import torch

from stable_nalu import layer as zoo
from tests.layer_checks import LayerChecks
from tests.layer_values import IN, OUT, dot, draws, sigmoid, uniform

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]])
SIGNS = torch.tensor([1.0, -1.0, 0.0])
SAMPLED = (zoo.GradientBanditNALULayer, zoo.HardSoftmaxNALULayer)


def built(layer, **options):
    """From 3 to 2, with the same weights, none of them the zeros that some start from."""
    torch.manual_seed(0)
    made = layer(3, 2, **options)
    for nac in (made.nac_add, getattr(made, "nac_mul", made.nac_add)):
        if hasattr(nac, "tau") or not nac.W_hat.abs().any():
            nac.W_hat.data.normal_()
    return made


class SmoothNALU(LayerChecks):
    """Over layers with weights that are no draws."""

    options = ({}, {"nalu_two_nac": True})
    start_options = ({"nalu_two_nac": True},)
    refused = (({"nalu_mul": "mnac", "nalu_two_nac": True}, "NALULayer has no multiplying layer"),)

    def formula(self, layer, row, o):
        g = sigmoid(dot(row, layer.G_add[o].tolist()))
        nac_mul = layer.nac_mul if layer.nalu_two_nac else layer.nac_add
        logs = [math.log(abs(v) + 1e-7) for v in row]
        m = math.exp(dot(logs, nac_mul.weights()[o].tolist()))
        return g * dot(row, layer.nac_add.weights()[o].tolist()) + (1 - g) * m

    def start(self, **options):
        for name in ("nac_add", "nac_mul"):
            nac = self.layer.NACOp(IN, OUT)
            yield from ((f"{name}.{key}", value.data) for key, value in nac.named_parameters())
        yield "G_add", uniform(-math.sqrt(6 / 7), math.sqrt(6 / 7))


def over(layer: type) -> type[LayerChecks]:
    return type(layer.__name__, (SmoothNALU,), {"layer": layer})


TestIndependentNALU = over(zoo.IndependentNALULayer)
TestLinearNALU = over(zoo.LinearNALULayer)
TestPosNALU = over(zoo.PosNALULayer)
TestRegualizedLinearNALU = over(zoo.RegualizedLinearNALULayer)
TestSoftmaxNALU = over(zoo.SoftmaxNALULayer)


@pytest.mark.parametrize("layer", SAMPLED)
def test_there_is_no_multiplying_layer(layer):
    with pytest.raises(ValueError, match=f"{layer.__name__} has no multiplying layer"):
        layer(3, 2, nalu_mul="mnac", nalu_two_nac=True)


def test_a_cell_that_is_not_registered():
    assert zoo.entries()["LinearNALU"].cell is None
    assert zoo.LinearNALUCell(2, 3).op.G_add.shape == (3, 5)


def test_the_penalty_z_of_an_independent_nalu_sees_plain_and_logarithmic_inputs():
    layer = zoo.IndependentNALULayer(3, 2, regualizer_z=1)
    layer(X)
    mean = torch.cat((X, torch.log(X.abs() + 1e-7))).mean(0)
    expected = ((1 - layer.nac_add.weights().abs()) * mean**2).mean()
    torch.testing.assert_close(layer.regualizer()["z"], expected)


def test_the_penalty_of_a_regualized_linear_nalu_is_the_sum_over_its_nacs():
    layer = zoo.RegualizedLinearNALULayer(3, 2, nalu_two_nac=True, regualizer_shape="linear")
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
@pytest.mark.parametrize("layer", [*SAMPLED, zoo.GumbelNALULayer])
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
    ("layer", "samples"), [(zoo.GradientBanditNALULayer, False), (zoo.HardSoftmaxNALULayer, True)]
)
def test_what_is_drawn_without_randomness(layer, samples):
    made = layer(3, 2).eval()
    with made.no_random():
        assert draws(lambda: made(X)) == samples


def test_gradients_train_only_the_gate_and_losses_the_bandits():
    layer = zoo.GradientBanditNALULayer(3, 2)
    assert [n for n, p in layer.named_parameters() if p.requires_grad] == ["G_add"]
    for loss in (1.0, 3.0):
        layer(X)
        layer.optimize(torch.tensor(loss))
    assert layer.nac_add.running_mean_iter.item() == 2
    assert layer.nac_add.W_hat.abs().max() > 1e-5


def test_gradients_reach_the_soft_weights_through_both_paths():
    layer = built(zoo.HardSoftmaxNALULayer)
    (actual,) = torch.autograd.grad(layer(X).sum(), [layer.nac_add.W_hat])
    W = layer.nac_add.weights()
    W = SIGNS[layer.nac_add.sample] + (W - W.detach())
    (expected,) = torch.autograd.grad(gated_sum(layer, W, W).sum(), [layer.nac_add.W_hat])
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


class TestGumbelNALU:
    def test_a_gumbel_mnac_can_multiply(self):
        layer = built(zoo.GumbelNALULayer, nalu_two_nac=True, nalu_mul="mnac")
        assert type(layer.nac_add) is zoo.GumbelNACLayer
        assert type(layer.nac_mul) is zoo.GumbelMNACLayer
        with layer.no_random():
            g = torch.sigmoid(X @ layer.G_add.mT)
            expected = g * layer.nac_add(X) + (1 - g) * layer.nac_mul(X)
            torch.testing.assert_close(layer(X), expected)

    def test_the_temperature_reaches_the_nacs_and_not_the_gate(self):
        layer = built(zoo.GumbelNALULayer, nalu_two_nac=True, nalu_gate="gumbel")
        torch.manual_seed(1)
        before = layer.gate(X, layer.G_add)
        layer.set_parameter("tau", 0.5)
        assert (layer.nac_add.tau.item(), layer.nac_mul.tau.item()) == (0.5, 0.5)
        torch.manual_seed(1)
        assert torch.equal(layer.gate(X, layer.G_add), before)

    def test_construction_draws_only_the_gate(self):
        torch.manual_seed(2)
        layer = zoo.GumbelNALULayer(3, 2)
        state = torch.get_rng_state()
        torch.manual_seed(2)
        gate = torch.nn.init.xavier_uniform_(torch.empty(2, 3))
        assert torch.equal(layer.G_add.data, gate)
        assert torch.equal(state, torch.get_rng_state())

    @pytest.mark.parametrize("steps", [1, 3])
    def test_the_registered_cell_works(self, steps):
        cell, h = zoo.GeneralizedCell(2, 3, "GumbelNALU"), torch.ones(4, 3)
        assert type(cell.cell.op) is zoo.GumbelNALULayer
        for _ in range(steps):
            h = cell(torch.ones(4, 2), h)
        (gradient,) = torch.autograd.grad(h.sum(), [cell.cell.op.nac_add.W_hat])
        assert gradient.abs().max() > 0
