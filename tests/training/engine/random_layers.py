"""Layers of random operations: those that have rules, and some that have none.

Operands that are compared are shifted by random numbers: what is equal but for rounding would be
decided by it.
"""

import random
from collections.abc import Callable

import torch

F = torch.nn.functional
UNARY: dict[str, Callable] = {
    **{n: getattr(torch, n) for n in ("tanh", "sigmoid", "sin", "cos", "abs", "neg", "square")},
    **{n: getattr(torch, n) for n in ("erf", "sign", "expm1", "sinh", "cosh", "round")},
    **{n: getattr(F, n) for n in ("relu", "relu6", "elu", "selu", "silu", "softplus", "softsign")},
    **{n: getattr(F, n) for n in ("gelu", "leaky_relu", "hardtanh")},
    "gelu by tanh": lambda v: F.gelu(v, approximate="tanh"),
    "exp": lambda v: torch.exp(-v.abs()),
    "log": lambda v: torch.log(v.abs() + 0.5),
    "log1p": lambda v: torch.log1p(v.abs()),
    "sqrt": lambda v: torch.sqrt(v.abs() + 0.1),
    "rsqrt": lambda v: torch.rsqrt(v.abs() + 0.1),
    "reciprocal": lambda v: torch.reciprocal(v.abs() + 0.5),
    "clamp": lambda v: v.clamp(-0.7, 1.3),
    "clamp below": lambda v: v.clamp(min=0.3),
    "cube": lambda v: v**3,
    "root": lambda v: (v.abs() + 0.1) ** 0.5,
    "power": lambda v: (v.abs() + 0.1) ** 1.3,
    "of a base": lambda v: 1.5 ** (-v.abs()),
    "truth": lambda v: ((v > 0.9) & ~(v > 1.4) | (v < -0.3)).to(v.dtype),
    "truths added": lambda v: v * ((v > 0.4) + (v > 1.1)),
    "count": lambda v: v * (v > 1.2).sum(-1, keepdim=True),
    "masked": lambda v: v.masked_fill(v > 1.6, 0.4),
    "in place": lambda v: v.clone().mul_(0.7).add_(0.1),
    "detached": lambda v: v * v.detach(),
    "decimals": lambda v: v + torch.round(v, decimals=1),
    "rest": lambda v: torch.remainder(v, 0.7),
    "double": lambda v: (v.double() * 3).to(v.dtype),
    "whole": lambda v: v * v.long(),
    "no number": lambda v: torch.nan_to_num(torch.where(v > 1.7, torch.nan, v).amax(-1, True), 0.3),
    "softmax": lambda v: v.softmax(-1),
    "log softmax": lambda v: v.log_softmax(-1),
    "layer norm": lambda v: F.layer_norm(v, v.shape[-1:], eps=0.1),
    "turned": lambda v: v.flip(-1),
    "less the mean of rows": lambda v: v - v.mean(0),
}
OF_TWO: dict[str, Callable] = {
    **{n: getattr(torch, n) for n in ("add", "sub", "mul", "atan2", "maximum", "minimum")},
    "div": lambda a, b: a / (b.abs() + 0.5),
    "power": lambda a, b: (a.abs() + 0.1) ** b.clamp(-2, 2),
    "where": lambda a, b: torch.where(a > b, a * b, b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.3),
    "factor": lambda a, b: torch.add(a, b, alpha=0.6),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5),
    "addcdiv": lambda a, b: torch.addcdiv(a, a, b.abs() + 0.5, value=0.5),
    "truths": lambda a, b: a * (torch.logical_xor(a > 1, b > 1)),
    "stacked": lambda a, b: torch.stack(torch.broadcast_tensors(a, b), 1).prod(1),
    "outer": lambda a, b: (a.unsqueeze(-1) * b.unsqueeze(-2)).sum(-1),
    "products": lambda a, b: torch.einsum("bi,bj->bi", a, b),
    "matrices": lambda a, b: torch.bmm(a.unsqueeze(2), b.unsqueeze(1)).amax(-1),
}
REDUCED: dict[str, Callable] = {
    **{n: lambda v, n=n: getattr(v, n)(-1, keepdim=True) for n in ("sum", "mean", "amax", "amin")},
    "prod": lambda v: (v.tanh() + 0.2).prod(-1, keepdim=True),
    "var": lambda v: v.var(-1, correction=0, keepdim=True),
    "std": lambda v: (torch.cat([v, v + 1], -1)).std(-1, keepdim=True),
    "norm": lambda v: (v + 0.1).norm(dim=-1, keepdim=True),
    "logsumexp": lambda v: v.logsumexp(-1, keepdim=True),
    "gathered": lambda v: v.gather(-1, v.argmax(-1, keepdim=True)),
    "place": lambda v: v.argmax(-1, keepdim=True) * v[:, :1],
    "one hot": lambda v: (
        torch.zeros_like(v).scatter(-1, v.argmax(-1, keepdim=True), 0.7).sum(-1, keepdim=True)
    ),
    "unbound": lambda v: sum(k * part for k, part in enumerate(v.unbind(-1), 1)).unsqueeze(-1),
}
SHAPED: dict[str, Callable] = {
    "joined": lambda a, b: torch.cat([a, b], -1),
    "first": lambda a, b: torch.cat([a[:, :1], b[:, -1:]], -1),
    "every second": lambda a, b: torch.cat([a, b], -1)[:, ::2],
    "split": lambda a, b: torch.cat(torch.cat([a, b], -1).split(2, -1)[::-1], -1),
    "reshaped": lambda a, b: torch.stack([a[:, :1], b[:, :1]], -1).reshape(len(a), -1),
}


class RandomLayer(torch.nn.Module):
    """Random operations, which a number decides, on the inputs and on each other's results."""

    def __init__(self, in_features: int, out_features: int, number: int = 0):
        super().__init__()
        dice = random.Random(number)
        self.weights = torch.nn.ParameterList()
        self.steps: list[tuple] = []
        widths = [in_features]
        for _ in range(dice.randint(2, 6)):
            widths.append(self._add(dice, widths))
        self.steps.append(("linear", len(self.weights), len(widths) - 1, 0))
        self.weights.append(torch.nn.Parameter(torch.rand(out_features, widths[-1]) + 0.1))
        self.steps.append(("linear", len(self.weights), 0, 0))
        self.weights.append(torch.nn.Parameter(torch.rand(out_features, in_features)))

    def _add(self, dice: random.Random, widths: list[int]) -> int:
        """Add a step and return how many numbers it gives."""
        kinds = {"unary": UNARY, "two": OF_TWO, "reduced": REDUCED, "shaped": SHAPED}
        kind = dice.choice(["linear", "linear", "unary", "unary", "weighted", "two", *kinds])
        # The newest result, so that all are used.
        own = len(widths) - 1
        other = dice.randrange(len(widths))
        if kind == "linear":
            width = dice.randint(1, 3)
            self.steps.append((kind, len(self.weights), own, 0))
            self.weights.append(torch.nn.Parameter(torch.rand(width, widths[own]) - 0.3))
            return width
        if kind == "weighted":
            name = dice.choice(["tanh", "sigmoid", "abs", "relu", "sin", "clamp"])
            self.steps.append((kind, len(self.weights), own, name))
            self.weights.append(torch.nn.Parameter(torch.rand(widths[own]) + 0.2))
            return widths[own]
        name, shift = dice.choice(list(kinds[kind])), dice.uniform(0.05, 0.4)
        if kind == "two" and 1 not in (widths[own], widths[other]):
            other = own
        self.steps.append((kind, name, own, other, shift))
        with torch.no_grad():
            values = [torch.ones(4, width) for width in widths]
            return self._step(self.steps[-1], values).shape[-1]

    def _step(self, step: tuple, values: list[torch.Tensor]) -> torch.Tensor:
        kind, which, own, *others = step
        value = values[own]
        if kind == "linear":
            return F.linear(value, self.weights[which])
        if kind == "weighted":
            return value * UNARY[others[0]](self.weights[which])
        other, shift = others
        if kind == "unary":
            return UNARY[which](value * (0.9 + shift) + shift)
        if kind == "reduced":
            return REDUCED[which](value * (0.9 + shift))
        pairs = OF_TWO if kind == "two" else SHAPED
        return pairs[which](value, values[other] * (0.8 - shift) + shift)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [x]
        for step in self.steps:
            values.append(self._step(step, values))
        return values[-1] + values[-2]
