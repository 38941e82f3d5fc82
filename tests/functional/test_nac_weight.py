import math

import pytest
import torch

from stable_nalu.functional import GOLDEN_RATIO, golden_sigmoid, golden_tanh, nac_weight
from stable_nalu.functional.nac_weight import chosen_sign, expected_sign
from tests.runs import indices, normal


def backward(mode, dtype=torch.float64):
    w_hat = normal(4, 50).to(dtype).requires_grad_()
    m_hat = normal(4, 50, seed=1).to(dtype).requires_grad_()
    upstream = normal(4, 50, seed=2).to(dtype)
    ours = torch.autograd.grad(nac_weight(w_hat, m_hat, mode), (w_hat, m_hat), upstream)
    t, s = torch.tanh(w_hat.detach()), torch.sigmoid(m_hat.detach())
    return ours, upstream, t, s, w_hat.detach()


def test_rounding_order_of_the_normal_gradient():
    """Strictly left to right; NALU amplifies another last bit to a visible difference."""
    (dw, dm), G, t, s, _ = backward("normal", torch.float32)
    assert torch.equal(dw, (G * (1 - t * t)) * s)
    assert torch.equal(dm, ((G * t) * s) * (1 - s))
    assert not torch.equal(dm, G * (t * (s * (1 - s))))


def test_gradients_of_variants():
    (dw, dm), G, t, s, w_hat = backward("sign")
    torch.testing.assert_close(dw, G * (1 - t**2) * s)
    torch.testing.assert_close(dm, 0.1 * G * torch.sign(w_hat) * s * (1 - s))
    (dw, dm), G, t, s, _ = backward("independent")
    torch.testing.assert_close(dw, G * (1 - t**2))
    torch.testing.assert_close(dm, G * s * (1 - s))


def test_runs_are_independent():
    """Up to the last bit: tanh and sigmoid round otherwise at the end of a vector register."""
    w_hat, m_hat = normal(2, 3, 4, 5).float(), normal(2, 3, 4, 5, seed=1).float()
    together = nac_weight(w_hat, m_hat)
    for index in indices((2, 3)):
        alone = nac_weight(w_hat[index], m_hat[index])
        torch.testing.assert_close(together[index], alone, rtol=2e-7, atol=0)


def test_unknown_mode():
    with pytest.raises(ValueError, match="nac_weight mode 'hard' is not one of normal, sign"):
        nac_weight(normal(1, 1), normal(1, 1), "hard")


def test_signs_of_choices_and_their_mean():
    probabilities = torch.softmax(normal(2, 4, 3), -1)
    signs = chosen_sign(torch.arange(3), torch.float64)
    assert (signs.dtype, signs.tolist()) == (torch.float64, [1.0, -1.0, 0.0])
    torch.testing.assert_close(expected_sign(probabilities), probabilities @ signs)


def test_the_golden_ratio():
    assert GOLDEN_RATIO**2 == pytest.approx(GOLDEN_RATIO + 1, rel=1e-15)


@pytest.mark.parametrize("v", [-20.0, -1.5, 0.0, 0.1, 3.0, 30.0])
def test_values_are_those_of_the_natural_base_at_v_log_phi(v):
    scaled = v * math.log(GOLDEN_RATIO)
    x = torch.tensor(v, dtype=torch.float64)
    assert golden_tanh(x).item() == pytest.approx(math.tanh(scaled), rel=1e-12, abs=1e-15)
    assert golden_sigmoid(x).item() == pytest.approx(1 / (1 + math.exp(-scaled)), rel=1e-12)


@pytest.mark.parametrize("v", [-1e4, -93.0, -92.0, 91.9, 92.0, 93.0, 1e4])
def test_large_arguments_saturate(v):
    """Without a bound, phi^2v / phi^2v is inf / inf for float32 v above 92.18."""
    x = torch.tensor(v, requires_grad=True)
    y = golden_tanh(x)
    assert y.item() == math.copysign(1.0, v)
    (gradient,) = torch.autograd.grad(y, x)
    assert abs(gradient.item()) < 1e-6
    assert golden_sigmoid(torch.tensor(v)).item() == pytest.approx(float(v > 0), abs=1e-18)


@pytest.mark.parametrize("function", [golden_tanh, golden_sigmoid])
def test_gradient_of_the_golden_ratio(function):
    assert torch.autograd.gradcheck(function, normal(2, 3, 4).requires_grad_())
