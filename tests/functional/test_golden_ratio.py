import math

import pytest
import torch

from stable_nalu.functional import GOLDEN_RATIO, golden_sigmoid, golden_tanh
from tests.runs import normal


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
def test_gradient(function):
    assert torch.autograd.gradcheck(function, normal(2, 3, 4).requires_grad_())
