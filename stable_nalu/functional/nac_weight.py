"""Constructions of NAC weights between -1 and 1.

The NAC's own is W = tanh(w_hat) sigmoid(m_hat), with variants of its gradient. Others choose +1, -1
or 0 by probabilities `(…, 3)` in that order.
"""

import math

import torch

GOLDEN_RATIO = (1.0 + math.sqrt(5.0)) / 2.0
LOG_GOLDEN_RATIO = math.log(GOLDEN_RATIO)
_LARGEST = 92.0


def golden_sigmoid(v: torch.Tensor) -> torch.Tensor:
    """Return 1 / (1 + phi^-v)."""
    return 1.0 / (1.0 + torch.pow(GOLDEN_RATIO, -v))


def golden_tanh(v: torch.Tensor) -> torch.Tensor:
    """Return (phi^2v - 1) / (phi^2v + 1), saturating at 1 instead of inf/inf for large v."""
    # float32 phi^2v overflows above v = 92.18; tanh is 1 to the last bit long before that.
    power = torch.pow(GOLDEN_RATIO, 2.0 * v.clamp(max=_LARGEST))
    return (power - 1.0) / (power + 1.0)


class _NACWeight(torch.autograd.Function):
    """The true gradient, in the rounding order of the published figures."""

    generate_vmap_rule = True

    @staticmethod
    def forward(w_hat, m_hat):
        t, s = torch.tanh(w_hat), torch.sigmoid(m_hat)
        return t * s, t, s

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, t, s = output
        ctx.mark_non_differentiable(t, s)
        ctx.save_for_backward(inputs[0], t, s)

    @staticmethod
    def backward(ctx, grad, _t, _s):
        _, t, s = ctx.saved_tensors
        # Of x W^T it comes transposed, and each product below would read it across memory.
        grad = grad.contiguous()
        return ((grad * (1 - t * t)) * s), ((grad * t) * s) * (1 - s)


class _NACWeightSign(_NACWeight):
    """The true gradient of w_hat; that of m_hat has 0.1 sign(w_hat) in place of tanh(w_hat)."""

    @staticmethod
    def backward(ctx, grad, _t, _s):
        w_hat, t, s = ctx.saved_tensors
        return ((grad * (1 - t * t)) * s), 0.1 * grad * torch.sign(w_hat) * s * (1 - s)


class _NACWeightIndependent(_NACWeight):
    """A gradient in which each factor has its own derivative, as if the other factor were 1."""

    @staticmethod
    def backward(ctx, grad, _t, _s):
        _, t, s = ctx.saved_tensors
        return grad * (1 - t * t), grad * s * (1 - s)


_MODES = {
    "normal": _NACWeight,
    "sign": _NACWeightSign,
    "independent": _NACWeightIndependent,
}
NAC_WEIGHT_MODES = (*_MODES, "golden-ratio")


def nac_weight(w_hat: torch.Tensor, m_hat: torch.Tensor, mode: str = "normal") -> torch.Tensor:
    """Return tanh(w_hat) sigmoid(m_hat); `mode` names its gradient, or the golden-ratio base."""
    if mode == "golden-ratio":
        return golden_tanh(w_hat) * golden_sigmoid(m_hat)
    if mode not in _MODES:
        raise ValueError(f"nac_weight mode {mode!r} is not one of {', '.join(NAC_WEIGHT_MODES)}")
    return _MODES[mode].apply(w_hat, m_hat)[0]


def expected_sign(probabilities: torch.Tensor) -> torch.Tensor:
    """Return the mean of the choice, p_+ - p_-: `(…, 3)` -> `(…)`."""
    return probabilities[..., 0] - probabilities[..., 1]


def chosen_sign(category: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the sign that a category index stands for: 0, 1, 2 -> +1, -1, 0."""
    return (category == 0).to(dtype) - (category == 1).to(dtype)
