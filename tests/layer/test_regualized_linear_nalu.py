"""RegualizedLinearNALU: a gate between adding and multiplying RegualizedLinearNACs."""

import math

import pytest
import torch

from stable_nalu.layer import GeneralizedCell, RegualizedLinearNACLayer, RegualizedLinearNALULayer

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], dtype=torch.float64)


def build(**options):
    torch.manual_seed(0)
    return RegualizedLinearNALULayer(3, 2, **options).double()


@pytest.mark.parametrize("two_nac", [False, True])
def test_output_is_the_formula(two_nac):
    layer = build(nalu_two_nac=two_nac)
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


def test_draws_its_nacs_and_then_the_gate():
    torch.manual_seed(1)
    layer = RegualizedLinearNALULayer(3, 2, nalu_two_nac=True)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    for nac in (layer.nac_add, layer.nac_mul):
        expected = RegualizedLinearNACLayer(3, 2)
        for name, parameter in expected.named_parameters():
            assert torch.equal(nac.get_parameter(name), parameter)
    bound = math.sqrt(6 / 5)
    gate = torch.empty(2, 3).uniform_(-bound, bound)
    torch.testing.assert_close(layer.G_add.data, gate, rtol=1e-6, atol=0)
    assert torch.equal(state, torch.get_rng_state())


def test_has_no_multiplying_layer():
    with pytest.raises(ValueError, match="RegualizedLinearNALULayer has no multiplying layer"):
        RegualizedLinearNALULayer(3, 2, nalu_mul="mnac", nalu_two_nac=True)


def test_the_penalty_is_the_sum_over_its_nacs():
    layer = build(nalu_two_nac=True, regualizer_shape="linear")
    parts = [nac.regualizer()["W"].item() for nac in (layer.nac_add, layer.nac_mul)]
    assert layer.regualizer()["W"].item() == pytest.approx(sum(parts), rel=1e-12)
    assert sum(parts) > 0


def test_the_registered_cell_works():
    cell = GeneralizedCell(2, 3, "RegualizedLinearNALU")
    assert type(cell.cell.op) is RegualizedLinearNALULayer
    assert cell(torch.ones(4, 2), torch.ones(4, 3)).shape == (4, 3)
