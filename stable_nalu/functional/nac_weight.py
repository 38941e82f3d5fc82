"""The NAC weight construction W = tanh(w_hat) sigmoid(m_hat) and its gradient variants."""

import torch

from .golden_ratio import golden_sigmoid, golden_tanh


class _NACWeight(torch.autograd.Function):
    """True gradient, in the rounding order of the published figures."""

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
        return ((grad * (1 - t * t)) * s), ((grad * t) * s) * (1 - s)


class _NACWeightSign(_NACWeight):
    """As normal for w_hat; m_hat sees 0.1 sign(w_hat) in place of tanh(w_hat)."""

    @staticmethod
    def backward(ctx, grad, _t, _s):
        w_hat, t, s = ctx.saved_tensors
        return ((grad * (1 - t * t)) * s), 0.1 * grad * torch.sign(w_hat) * s * (1 - s)


class _NACWeightIndependent(_NACWeight):
    """Each factor gets its own derivative, as if the other were 1."""

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
    """W = tanh(w_hat) * sigmoid(m_hat); `mode` selects the gradient, or the golden-ratio base."""
    if mode == "golden-ratio":
        return golden_tanh(w_hat) * golden_sigmoid(m_hat)
    if mode not in _MODES:
        raise ValueError(f"nac_weight mode {mode!r} is not one of {', '.join(NAC_WEIGHT_MODES)}")
    return _MODES[mode].apply(w_hat, m_hat)[0]
