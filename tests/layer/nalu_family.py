"""What NALUs promise whatever layers they gate, for the test files of the single ones."""

import math

import pytest
import torch

from stable_nalu.layer import GeneralizedCell

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], dtype=torch.float64)
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
        x = X.float()
        g = torch.sigmoid(x @ layer.G_add.mT)
        return g * (x @ W_add.mT) + (1 - g) * torch.exp(torch.log(x.abs() + 1e-7) @ W_mul.mT)

    @pytest.mark.parametrize("two_nac", [False, True])
    def test_a_shared_nac_draws_once_and_two_draw_twice(self, two_nac):
        layer = self.build(nalu_two_nac=two_nac)
        torch.manual_seed(1)
        y = layer(X.float())
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
