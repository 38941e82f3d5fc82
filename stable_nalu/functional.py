"""Pure tensor functions over any leading run dimensions.

Inputs are addressed from the right: x `(*runs, batch, in)`, W `(*runs, out, in)`. Losses and
penalties have shape `runs`; of criteria, y and t are `(*runs, batch, out)`. Nothing here draws
numbers. The spelling `regualizer` is the public one of flags, tags and run names.
"""

import functools
import math
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from .base import publish


def trailing(ndim: int) -> tuple[int, ...]:
    return tuple(range(-ndim, 0))


def mean_over(x: torch.Tensor, ndim: int) -> torch.Tensor:
    return x.mean(trailing(ndim))


def per_run(value: torch.Tensor, ndim: int) -> torch.Tensor:
    """Append `ndim` singleton dimensions, so that a value of shape `runs` broadcasts over a run."""
    return value.reshape(value.shape + (1,) * ndim)


def lp_norm(parameter: torch.Tensor, order: int, ndim: int) -> torch.Tensor:
    """Return the norm of order 1 or 2 over the last `ndim` dimensions, shape `runs`."""
    if ndim == 0:
        return parameter.abs()
    if ndim == parameter.ndim:
        return torch.linalg.vector_norm(parameter, order)
    # Flattened first: the order of summation is that of the norm of one run's whole parameter.
    return torch.linalg.vector_norm(parameter.flatten(-ndim), order, dim=-1)


def sparsity_error(W: torch.Tensor, ndim: int = 2) -> torch.Tensor:
    """Return max min(|W|, |1 - |W||), the distance of each run's weights from {-1, 0, 1}.

    The maximum is taken over the last `ndim` dimensions; the result has shape `runs`.
    """
    return _distance_to_zero_or_unit(W).amax(trailing(min(ndim, W.ndim)))


def _distance_to_zero_or_unit(W):
    magnitude = W.abs()
    return torch.minimum(magnitude, (1 - magnitude).abs())


def mse(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    return mean_over((y - t) ** 2, 2)


def pcc(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return 1 - Pearson correlation, with the deviations bounded below by the machine epsilon.

    Sums are divided by the batch size, also when there are several outputs.
    """
    epsilon = torch.finfo(y.dtype).eps
    n = y.shape[-2]

    def standardized(v: torch.Tensor) -> torch.Tensor:
        centred = v - per_run(mean_over(v, 2), 2)
        deviation = ((centred**2).sum(trailing(2)) / n).clamp(min=epsilon).sqrt()
        return centred / per_run(deviation + epsilon, 2)

    return 1 - (standardized(y) * standardized(t)).sum(trailing(2)) / n


def mape(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return the mean of |(t - y) / t|, without a guard for t = 0."""
    return mean_over(((t - y) / t).abs(), 2)


CRITERIA = {
    **{"mse": mse, "pcc": pcc, "mape": mape, "mae": lambda y, t: mean_over((y - t).abs(), 2)},
    "half-sum": lambda y, t: ((y - t) ** 2).sum(trailing(2)) / 2,
}


def criterion_of(name: str, iteration: int, pcc2mse_iteration: int) -> Callable:
    """Return the criterion of an iteration; `pcc-mse` changes to mse at `pcc2mse_iteration`."""
    if name == "pcc-mse":
        return pcc if iteration < pcc2mse_iteration else mse
    if name not in CRITERIA:
        raise ValueError(f"criterion {name!r} is not one of {', '.join(CRITERIA)}, pcc-mse")
    return CRITERIA[name]


def get_train_criterion(
    criterion: str, mse: Any, pcc: Any, mape: Any, current_iteration: int, pcc2mse_iteration: int
) -> Any:
    """Return that one of three errors that is trained on; `pcc-mse` is `pcc` first, then `mse`."""
    errors = {"mse": mse, "pcc": pcc, "mape": mape}
    errors["pcc-mse"] = pcc if current_iteration < pcc2mse_iteration else mse
    if criterion not in errors:
        raise ValueError(f"criterion {criterion!r} is not one of {', '.join(errors)}")
    return errors[criterion]


def xavier_bound(in_features: int, out_features: int, gain: float = 1.0) -> float:
    """Return the bound of Xavier-uniform; sqrt(6 / (I + O)) may differ in the last bit."""
    return math.sqrt(3.0) * (gain * math.sqrt(2.0 / (in_features + out_features)))


def kaiming_bound(in_features: int, out_features: int) -> float:
    """Return the bound of Kaiming-uniform for ReLU, sqrt(6 / I) for any O."""
    return math.sqrt(3.0) * (math.sqrt(2.0) / math.sqrt(in_features))


def nau_bound(in_features: int, out_features: int) -> float:
    """Return min(0.5, Xavier bound), for NAU, NRU and the constrained NPU."""
    return min(0.5, math.sqrt(3.0) * math.sqrt(2.0 / (in_features + out_features)))


MNAC_BOUND = math.sqrt(3.0) / 2.0
NMU_BOUND = min(0.25, math.sqrt(3.0) / 2.0)


@functools.cache
def nac_bound(in_features: int, out_features: int) -> float:
    """Return the root r of max(I + O, 5) v(r) = 2, where v is the variance of a NAC weight.

    It is found by bisecting [0, 10]. The accuracy at which that stops is part of the published
    float64 figures.
    """
    low, step = 0.0, 10.0
    while True:
        step /= 2
        r = low + step
        if step < 2e-12 + 4 * sys.float_info.epsilon * r:
            return r
        variance = (1 - math.tanh(r) / r) * (r - math.tanh(r / 2)) / (2 * r)
        if max(in_features + out_features, 5) * variance < 2:
            low = r


def linear(x: torch.Tensor, W: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return x W^T + bias, rounded as torch's own linear layer rounds it.

    Shapes: x `(*runs, batch, in)`, W `(*runs, out, in)`, bias `(*runs, out)`. The bias takes part
    in the matrix product, which rounds once less than adding it afterwards.
    """
    if W.ndim == 2:
        return x @ W.mT if bias is None else torch.nn.functional.linear(x, W, bias)
    if W.shape[-2] == 1:
        # A product with one column is rounded otherwise where it is the only one.
        y = (x * W).sum(-1, keepdim=True)
        return y if bias is None else y + bias.unsqueeze(-2)
    if bias is None:
        return x @ W.mT
    runs = W.shape[:-2]
    x = x.expand(*runs, *x.shape[-2:]).flatten(0, -3)
    y = torch.baddbmm(bias.flatten(0, -2).unsqueeze(-2), x, W.flatten(0, -3).mT)
    return y.unflatten(0, runs)


def lstm_step(gates: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return h and c behind a step; `gates` is all that they add up, W h too.

        i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of the gates
        c_t = f c + i g;   h_t = o tanh(c_t)

    Shapes: gates (batch, 4 hidden), h and c (batch, hidden).
    """
    write, keep, new, show = gates.chunk(4, dim=-1)
    c_t = torch.sigmoid(keep) * c + torch.sigmoid(write) * torch.tanh(new)
    return torch.sigmoid(show) * torch.tanh(c_t), c_t


GOLDEN_RATIO = (1.0 + math.sqrt(5.0)) / 2.0
LOG_GOLDEN_RATIO = math.log(GOLDEN_RATIO)


golden_ratio = GOLDEN_RATIO


def sigmoid(v: torch.Tensor) -> torch.Tensor:
    return 1.0 / (1.0 + torch.pow(GOLDEN_RATIO, -v))


def tanh(v: torch.Tensor) -> torch.Tensor:
    """Return (phi^2v - 1) / (phi^2v + 1), saturating at 1 instead of inf/inf for large v."""
    # float32 phi^2v overflows above v = 92.18; tanh is 1 to the last bit long before that.
    power = torch.pow(GOLDEN_RATIO, 2.0 * v.clamp(max=92.0))
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
    """The true gradient for w_hat; for m_hat, 0.1 sign(w_hat) replaces tanh(w_hat)."""

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


_MODES = {"normal": _NACWeight, "sign": _NACWeightSign, "independent": _NACWeightIndependent}


def nac_weight(w_hat: torch.Tensor, m_hat: torch.Tensor, mode: str = "normal") -> torch.Tensor:
    """Return tanh(w_hat) sigmoid(m_hat); `mode` names its gradient, or the golden-ratio base."""
    if mode == "golden-ratio":
        return tanh(w_hat) * sigmoid(m_hat)
    if mode not in _MODES:
        known = ", ".join((*_MODES, "golden-ratio"))
        raise ValueError(f"nac_weight mode {mode!r} is not one of {known}")
    return _MODES[mode].apply(w_hat, m_hat)[0]


def product(factors: torch.Tensor) -> torch.Tensor:
    """Return the product over dimension -2 of factors `(*runs, batch, in, out)`.

    Like a function of torch, it can be overridden by a `TorchFunctionMode`.
    """
    if has_torch_function_unary(factors):
        return handle_torch_function(product, (factors,), factors)
    return factors.prod(-2)


def mnac(
    x: torch.Tensor, W: torch.Tensor, mode: str = "prod", is_training: bool | None = None
) -> torch.Tensor:
    """Multiply the inputs: x `(*runs, batch, in)`, W `(*runs, out, in)` -> `(*runs, batch, out)`.

    prod           prod_i (x w + 1 - w)
    exp-log        exp(sum_i log(x w + 1 - w))
    no-idendity    prod_i x w
    div            prod_i (A sign(x) |x|^w + (1 - A))
    div-sepSign    prod_i (A |x|^w + (1 - A)) * prod_i sign(x)^round(w)

    with A = tanh(1000 w)^2 in training and |w| otherwise. W is broadcast once and that view serves
    every occurrence of w: the order in which its gradients are summed is part of the figures.
    """
    w = W.mT.unsqueeze(-3)
    x = x.unsqueeze(-1)
    if mode == "prod":
        return product(x * w + 1 - w)
    if mode == "exp-log":
        return torch.log(x * w + 1 - w).sum(-2).exp()
    if mode == "no-idendity":
        return product(x * w)
    if mode not in ("div", "div-sepSign"):
        known = "prod, exp-log, no-idendity, div, div-sepSign"
        raise ValueError(f"mnac mode {mode!r} is not one of {known}")
    active = torch.tanh(1000 * w) ** 2 if is_training else w.abs()
    magnitude = x.abs() ** w
    if mode == "div":
        return product(active * (torch.sign(x) * magnitude) + (1 - active))
    sign = torch.sign(x.detach()) ** torch.round(w.detach())
    return product(active * magnitude + (1 - active)) * product(sign)


_LOG_SPACE: dict[str, tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]] = {
    "normal": (lambda x, eps: torch.log(x.abs() + eps), torch.exp),
    "safe": (lambda x, eps: torch.log((x - 1).abs() + 1), torch.exp),
    "max-safe": (lambda x, eps: torch.log(torch.relu(x - 1) + 1), torch.exp),
    "trig": (lambda x, eps: torch.log(x + torch.sqrt(x**2 + 1) + eps), torch.sinh),
    "golden-ratio": (
        lambda x, eps: torch.log(x.abs() + eps),
        lambda sums: torch.pow(GOLDEN_RATIO, sums / LOG_GOLDEN_RATIO),
    ),
}
LOG_SPACE_MODES = tuple(_LOG_SPACE)


def in_log_space(
    layer: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, mode: str, eps: float
) -> torch.Tensor:
    """Return a product of powers made by a layer that sums; it has the shape of `layer(x)`.

    The modes `golden-ratio` and `normal` give the same product up to rounding.
    """
    if mode not in _LOG_SPACE:
        raise ValueError(f"log space mode {mode!r} is not one of {', '.join(LOG_SPACE_MODES)}")
    logarithm, power = _LOG_SPACE[mode]
    return power(layer(logarithm(x, eps)))


def sign_phase(x: torch.Tensor) -> torch.Tensor:
    """Return the angle pi where x is negative, else 0.

    The cosine of a sum of these angles is the sign of the product, with 1 for the sign of zero.
    """
    # Compared in place, the results are numbers of x's type: others take three times as long.
    return x.detach().clone().lt_(0).mul_(math.pi)


_ELEMENTWISE: dict[tuple[str, str, str], Callable[[torch.Tensor], torch.Tensor]] = {
    ("mnac", "bias", "linear"): lambda W: torch.minimum(W.abs(), (1 - W).abs()),
    ("mnac", "bias", "squared"): lambda W: W**2 * (1 - W) ** 2,
    ("mnac", "oob", "linear"): lambda W: torch.relu((W - 0.5).abs() - 0.5),
    ("mnac", "oob", "squared"): lambda W: torch.relu((W - 0.5).abs() - 0.5) ** 2,
    ("nac", "bias", "linear"): _distance_to_zero_or_unit,
    ("nac", "bias", "squared"): lambda W: W**2 * (1 - W.abs()) ** 2,
    ("nac", "oob", "linear"): lambda W: torch.relu(W.abs() - 1),
    ("nac", "oob", "squared"): lambda W: torch.relu(W.abs() - 1) ** 2,
    ("npu", "W", "linear"): lambda W: (1 - W.abs()).abs(),
    ("inalu", "bias", "linear"): lambda p: torch.relu(20 - p.abs()),
    ("realnpu", "bias", "linear"): _distance_to_zero_or_unit,
}


def _cancel(W: torch.Tensor) -> torch.Tensor:
    first, second = W.chunk(2, dim=-1)
    return (1 - torch.cos(math.pi * first * second)).sum(-1).mean()


_OF_LISTS: dict[tuple[str, str, str], Callable[[Any], torch.Tensor]] = {
    ("nac", "wset", "linear"): lambda Ws: torch.stack([*Ws]).var(0, correction=0).mean(),
    ("npu", "W", "linear"): lambda Ws: sum(
        (W.abs().sum() for W in Ws[1:]), (1 - Ws[0].abs()).abs().mean()
    ),
    ("realnpu", "bias", "linear"): lambda Ws: _distance_to_zero_or_unit(Ws[0]).mean(),
    ("inalu", "bias", "linear"): lambda Ws: sum(torch.relu(20 - p.abs()).mean() for p in Ws),
    ("concat", "cancel", "linear"): _cancel,
}
"""Penalties of several parameters, and one of two halves of a parameter."""


Weight = Callable[[], torch.Tensor]


class _Penalty:
    is_zero: bool

    def __call__(self, W: Any) -> Any:
        raise NotImplementedError

    def of(self, W: Weight) -> Weight | None:
        """Return the penalty of a weight as a function, or None if it is switched off."""
        return None if self.is_zero else lambda: self(W())


class Regualizer(_Penalty):
    """The mean penalty of a parameter, looked up by (support, type, shape); some take a list.

    `zero` and the shape `none` switch it off: it is 0. `zero_epsilon` has never had an effect.
    `ndim` is the number of dimensions of one run's parameter.
    """

    def __init__(
        self,
        support: str = "nac",
        type: str = "bias",
        shape: str = "squared",
        zero: bool = False,
        zero_epsilon: float = 0,
        *,
        ndim: int = 2,
    ):
        self.is_zero = zero or shape == "none"
        self.ndim = ndim
        self._key = (support, type, shape)
        if not self.is_zero and self._key not in {**_ELEMENTWISE, **_OF_LISTS}:
            raise ValueError(f"no regualizer for support, type, shape = {', '.join(self._key)}")
        if zero_epsilon:
            warnings.warn("zero_epsilon has no effect, as in published code", stacklevel=2)

    def __call__(self, W: Any) -> Any:
        if self.is_zero:
            return 0
        if isinstance(W, torch.Tensor) and self._key in _ELEMENTWISE:
            return mean_over(_ELEMENTWISE[self._key](W), min(self.ndim, W.ndim))
        return _OF_LISTS[self._key](W)


class _RegualizerZ(_Penalty):
    """A penalty that ties a weight to the inputs it saw since the last optimiser step.

    Forward passes record their inputs; a call on W returns the penalty, shape `runs`.
    """

    penalty: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

    def __init__(self, zero: bool = False):
        self.is_zero = zero
        self._inputs: list[torch.Tensor] = []

    def __getstate__(self) -> dict[str, Any]:
        # Inputs belong to a graph, which can neither be copied nor saved.
        return vars(self) | {"_inputs": []}

    def append_input(self, x: torch.Tensor) -> None:
        """Record x `(*runs, batch, in)`; it is not detached."""
        if not self.is_zero:
            self._inputs.append(x)

    def reset(self) -> None:
        self._inputs = []

    def __call__(self, W: torch.Tensor) -> Any:
        if self.is_zero:
            return 0
        if not self._inputs:
            return W.new_zeros(W.shape[:-2])
        mean_input = torch.cat(self._inputs, dim=-2).mean(-2, keepdim=True)
        return mean_over(self.penalty(W, mean_input), 2)


class RegualizerNAUZ(_RegualizerZ):
    """The penalty mean (1 - |W|) x_mean^2."""

    penalty = staticmethod(lambda W, x: (1 - W.abs()) * x**2)


class RegualizerNMUZ(_RegualizerZ):
    """The penalty mean (1 - W) (1 - x_mean)^2."""

    penalty = staticmethod(lambda W, x: (1 - W) * (1 - x) ** 2)


def gated_choice(
    g: torch.Tensor, a: torch.Tensor, m: torch.Tensor, mode: str = "normal"
) -> torch.Tensor:
    """Return g a + (1 - g) m; with `gate-free-gradient`, a and m get the gradient of the whole."""
    if mode in ("normal", "test"):
        return g * a + (1 - g) * m
    if mode != "gate-free-gradient":
        known = "normal, test, gate-free-gradient"
        raise ValueError(f"gated_choice mode {mode!r} is not one of {known}")
    fixed = g * a.detach() + (1 - g) * m.detach()
    return fixed + (a - a.detach()) + (m - m.detach())


def batch_linear(x: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
    """Map each row by its own weights: x `(N, in)`, W `(N, out, in)` -> `(N, out)`."""
    if x.shape != (W.shape[0], W.shape[2]):
        raise ValueError(f"W {tuple(W.shape)} does not map rows of shape {tuple(x.shape)}")
    y = (W @ x.unsqueeze(-1)).squeeze(-1)
    return y if b is None else y + b


def sample_gumbel(
    placeholder: torch.Tensor, eps: float = 1e-10, reuse: bool = False
) -> torch.Tensor:
    """Return Gumbel noise from a buffer, which is filled from U(eps, 1) unless it is reused."""
    uniform = placeholder if reuse else placeholder.uniform_(eps, 1)
    return -torch.log(-torch.log(uniform))


def sample_gumbel_softmax(
    placeholder: torch.Tensor, logits: torch.Tensor, tau: Any, **kwargs: Any
) -> torch.Tensor:
    """Return softmax((logits + noise) / tau) over the last dimension."""
    return torch.softmax((logits + sample_gumbel(placeholder, **kwargs)) / tau, dim=-1)


def sample_gumbel_max(
    placeholder: torch.Tensor, logits: torch.Tensor, **kwargs: Any
) -> torch.Tensor:
    """Return 1 where logits + noise are largest along the last dimension, else 0."""
    chosen = (logits + sample_gumbel(placeholder, **kwargs)).argmax(-1, keepdim=True)
    return torch.zeros_like(logits).scatter_(-1, chosen, 1.0)


def l1(params: Iterable[torch.Tensor]) -> torch.Tensor:
    """Return the sum of the magnitudes of all parameters."""
    return norms(params, 1)


def norms(params: Iterable[torch.Tensor], p: int) -> torch.Tensor:
    """Return the sum over parameters of their p-norms."""
    return torch.stack([torch.linalg.vector_norm(w, p) for w in params]).sum()


def huber(params: Iterable[torch.Tensor]) -> torch.Tensor:
    """Return the sum over parameters of the Huber losses of their elements, delta = 1."""
    losses = [
        torch.nn.functional.huber_loss(w, torch.zeros_like(w), reduction="sum") for w in params
    ]
    return torch.stack(losses).sum()


publish(
    __name__,
    "batch_linear gated_choice gumbel mnac nac_weight sparsity_error train_criterion",
    "regualizer_nau_z regualizer_nmu_z golden_ratio_base",
    regualizer={"lp_norm": norms},
)
