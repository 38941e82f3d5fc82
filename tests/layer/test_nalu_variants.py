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
    IndependentNACLayer,
    IndependentNALULayer,
    LinearNACLayer,
    LinearNALUCell,
    LinearNALULayer,
    PosNACLayer,
    PosNALULayer,
    RegualizedLinearNACLayer,
    RegualizedLinearNALULayer,
    SoftmaxNACLayer,
    SoftmaxNALULayer,
    entries,
)

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], dtype=torch.float64)
X_32 = X.float()
SIGNS = torch.tensor([1.0, -1.0, 0.0])


class NALUContract:
    """A subclass names the NALU and its key."""

    nalu: type
    key: str

    def build(self, **options):
        """The layer from 3 to 2, with the same start weights every time."""
        torch.manual_seed(0)
        return self.nalu(3, 2, **options)

    def test_has_no_multiplying_layer(self):
        message = f"{self.nalu.__name__} has no multiplying layer"
        with pytest.raises(ValueError, match=message):
            self.build(nalu_mul="mnac", nalu_two_nac=True)

    def test_the_cell(self):
        cell = GeneralizedCell(2, 3, self.key)
        assert type(cell.cell.op) is self.nalu
        assert cell(torch.ones(4, 2), torch.ones(4, 3)).shape == (4, 3)


class SmoothNALUContract(NALUContract):
    """Of a NALU over layers with weights that are no draws."""

    nac: type

    @pytest.mark.parametrize("two_nac", [False, True])
    def test_output_is_the_formula(self, two_nac):
        layer = self.build(nalu_two_nac=two_nac).double()
        W_mul = (layer.nac_mul if two_nac else layer.nac_add).weights().tolist()
        W_add = layer.nac_add.weights().tolist()
        y = layer(X)
        for b in range(2):
            x = X[b].tolist()
            for o in range(2):
                z = sum(w * v for w, v in zip(layer.G_add[o].tolist(), x, strict=True))
                g = 1 / (1 + math.exp(-z))
                a = sum(w * v for w, v in zip(W_add[o], x, strict=True))
                logs = [math.log(abs(v) + 1e-7) for v in x]
                m = math.exp(sum(w * v for w, v in zip(W_mul[o], logs, strict=True)))
                assert y[b, o].item() == pytest.approx(g * a + (1 - g) * m, rel=1e-10)

    def test_draws_its_nacs_and_then_the_gate(self):
        torch.manual_seed(1)
        layer = self.nalu(3, 2, nalu_two_nac=True)
        state = torch.get_rng_state()
        torch.manual_seed(1)
        for nac in (layer.nac_add, layer.nac_mul):
            expected = self.nac(3, 2)
            for name, parameter in expected.named_parameters():
                assert torch.equal(nac.get_parameter(name), parameter)
        bound = math.sqrt(6 / 5)
        gate = torch.empty(2, 3).uniform_(-bound, bound)
        torch.testing.assert_close(layer.G_add.data, gate, rtol=1e-6, atol=0)
        assert torch.equal(state, torch.get_rng_state())


class SampledNALUContract(NALUContract):
    """Of a NALU over layers that draw their weights from {-1, 0, 1}."""

    def expected_output(self, layer, W_add, W_mul):
        """The gated sum for given weights."""
        x = X_32
        g = torch.sigmoid(x @ layer.G_add.mT)
        return g * (x @ W_add.mT) + (1 - g) * torch.exp(torch.log(x.abs() + 1e-7) @ W_mul.mT)

    @pytest.mark.parametrize("two_nac", [False, True])
    def test_a_shared_nac_draws_once_and_two_draw_twice(self, two_nac):
        layer = self.build(nalu_two_nac=two_nac)
        torch.manual_seed(1)
        y = layer(X_32)
        state = torch.get_rng_state()
        torch.manual_seed(1)
        W_add = draw(layer.nac_add)
        W_mul = draw(layer.nac_mul) if two_nac else W_add
        assert torch.equal(state, torch.get_rng_state())
        expected = self.expected_output(layer, W_add, W_mul)
        torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)


def draw(nac):
    """The weights that `nac` would draw next."""
    p = nac.probabilities().detach()
    return SIGNS[torch.multinomial(p.reshape(-1, 3), 1).reshape(2, 3)]


class TestGradientBanditNALU(SampledNALUContract):
    nalu = GradientBanditNALULayer
    key = "GradientBanditNALU"

    def test_without_randomness_nothing_is_drawn(self):
        layer = self.build()
        state = torch.get_rng_state()
        with layer.no_random():
            layer(X_32)
        assert torch.equal(state, torch.get_rng_state())

    def test_gradients_train_only_the_gate_and_losses_the_bandits(self):
        layer = self.build()
        trained = [n for n, p in layer.named_parameters() if p.requires_grad]
        assert trained == ["G_add"]
        for loss in (1.0, 3.0):
            layer(X_32)
            layer.optimize(torch.tensor(loss))
        assert layer.nac_add.running_mean_iter.item() == 2
        assert layer.nac_add.W_hat.abs().max() > 1e-5


class TestHardSoftmaxNALU(SampledNALUContract):
    nalu = HardSoftmaxNALULayer
    key = "HardSoftmaxNALU"

    def test_samples_without_randomness_too(self):
        layer = self.build().eval()
        state = torch.get_rng_state()
        with layer.no_random():
            layer(X_32)
        assert not torch.equal(state, torch.get_rng_state())

    def test_gradients_reach_the_soft_weights_through_both_paths(self):
        layer = self.build()
        torch.manual_seed(1)
        (actual,) = torch.autograd.grad(layer(X_32).sum(), [layer.nac_add.W_hat])
        hard = SIGNS[layer.nac_add.sample]
        W = layer.nac_add.weights()
        W = hard + (W - W.detach())
        output = self.expected_output(layer, W, W).sum()
        (expected,) = torch.autograd.grad(output, [layer.nac_add.W_hat])
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


class TestIndependentNALU(SmoothNALUContract):
    nalu = IndependentNALULayer
    nac = IndependentNACLayer
    key = "IndependentNALU"

    def test_the_z_penalty_of_a_shared_nac_sees_plain_and_logarithmic_inputs(self):
        layer = self.build(regualizer_z=1).double()
        layer(X)
        mean = torch.cat((X, torch.log(X.abs() + 1e-7))).mean(0)
        expected = ((1 - layer.nac_add.weights().abs()) * mean**2).mean()
        torch.testing.assert_close(layer.regualizer()["z"], expected, rtol=1e-12, atol=0)


class TestLinearNALU(SmoothNALUContract):
    nalu = LinearNALULayer
    nac = LinearNACLayer
    key = "LinearNALU"

    def test_the_cell(self):
        """The class exists; it is not registered."""
        assert entries()[self.key].cell is None
        assert LinearNALUCell(2, 3).op.G_add.shape == (3, 5)


class TestPosNALU(SmoothNALUContract):
    nalu = PosNALULayer
    nac = PosNACLayer
    key = "PosNALU"


class TestRegualizedLinearNALU(SmoothNALUContract):
    nalu = RegualizedLinearNALULayer
    nac = RegualizedLinearNACLayer
    key = "RegualizedLinearNALU"

    def test_the_penalty_is_the_sum_over_its_nacs(self):
        layer = self.build(nalu_two_nac=True, regualizer_shape="linear").double()
        parts = [nac.regualizer()["W"].item() for nac in (layer.nac_add, layer.nac_mul)]
        assert layer.regualizer()["W"].item() == pytest.approx(sum(parts), rel=1e-12)
        assert sum(parts) > 0


class TestSoftmaxNALU(SmoothNALUContract):
    nalu = SoftmaxNALULayer
    nac = SoftmaxNACLayer
    key = "SoftmaxNALU"


def gumbel_nalu(**options):
    """The layer from 3 to 2 with weights other than its initial zeros."""
    torch.manual_seed(0)
    layer = GumbelNALULayer(3, 2, **options)
    with torch.no_grad():
        layer.nac_add.W_hat.normal_()
    return layer


def gumbel_weight(nac, u):
    """The weight of a GumbelNAC at temperature 1 for uniform draws u."""
    q = torch.softmax(nac.log_probabilities() - torch.log(-torch.log(u)), dim=-1)
    return q[..., 0] - q[..., 1]


def test_a_shared_gumbel_nac_multiplies_with_the_noise_of_its_sum():
    layer = gumbel_nalu()
    torch.manual_seed(1)
    y = layer(X_32)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    W = gumbel_weight(layer.nac_add, torch.empty(2, 3, 3).uniform_(1e-10, 1))
    assert torch.equal(state, torch.get_rng_state())
    g = torch.sigmoid(X_32 @ layer.G_add.mT)
    expected = g * (X_32 @ W.mT) + (1 - g) * torch.exp(torch.log(X_32.abs() + 1e-7) @ W.mT)
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)


def test_two_gumbel_nacs_draw_their_own_noise():
    layer = gumbel_nalu(nalu_two_nac=True)
    torch.manual_seed(1)
    y = layer(X_32)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    W_add, W_mul = (
        gumbel_weight(nac, torch.empty(2, 3, 3).uniform_(1e-10, 1))
        for nac in (layer.nac_add, layer.nac_mul)
    )
    assert torch.equal(state, torch.get_rng_state())
    g = torch.sigmoid(X_32 @ layer.G_add.mT)
    expected = g * (X_32 @ W_add.mT) + (1 - g) * torch.exp(torch.log(X_32.abs() + 1e-7) @ W_mul.mT)
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)


def test_a_gumbel_mnac_can_multiply():
    layer = gumbel_nalu(nalu_two_nac=True, nalu_mul="mnac")
    assert type(layer.nac_add) is GumbelNACLayer
    assert type(layer.nac_mul) is GumbelMNACLayer
    with layer.no_random():
        g = torch.sigmoid(X_32 @ layer.G_add.mT)
        expected = g * layer.nac_add(X_32) + (1 - g) * layer.nac_mul(X_32)
        torch.testing.assert_close(layer(X_32), expected)


def test_the_temperature_reaches_gumbel_nacs_and_not_the_gate():
    layer = gumbel_nalu(nalu_two_nac=True, nalu_gate="gumbel")
    torch.manual_seed(1)
    before = layer.gate(X_32, layer.G_add)
    layer.set_parameter("tau", 0.5)
    assert (layer.nac_add.tau.item(), layer.nac_mul.tau.item()) == (0.5, 0.5)
    torch.manual_seed(1)
    assert torch.equal(layer.gate(X_32, layer.G_add), before)


def test_constructing_a_gumbel_nalu_draws_only_the_gate():
    torch.manual_seed(2)
    layer = GumbelNALULayer(3, 2)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    gate = torch.nn.init.xavier_uniform_(torch.empty(2, 3))
    assert torch.equal(layer.G_add.data, gate)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("steps", [1, 3])
def test_the_registered_gumbel_cell_works(steps):
    cell = GeneralizedCell(2, 3, "GumbelNALU")
    assert type(cell.cell.op) is GumbelNALULayer
    h = torch.ones(4, 3)
    for _ in range(steps):
        h = cell(torch.ones(4, 2), h)
    (gradient,) = torch.autograd.grad(h.sum(), [cell.cell.op.nac_add.W_hat])
    assert gradient.abs().max() > 0
