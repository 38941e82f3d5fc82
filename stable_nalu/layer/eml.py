"""EML, trees of one binary operator, exp(a) - ln(b)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from stable_nalu.functional import mean_over

from .base import Layer

Pair = tuple[torch.Tensor, torch.Tensor]
"""Real and imaginary part."""

TREES = ("slots", "bottom")
STARTS = ("normal", "biased", "uniform", "xy_biased", "random_hot")
DECIDED = 24.0
"""Logit of a choice that is made."""


class EMLLayer(Layer):
    r"""Learn which tree of exp(a) - ln(b) computes a function: the EML of Odrzywolek (2026,
    arXiv:2603.21852).

        node = exp(a) - ln(b),    a and b = p_0 + sum_i p_i x_i + p_c child,    p = softmax(l / T)

    over complex numbers, from 2^(depth - 1) lowest nodes, which have no children, up to the root,
    whose real part is y.

    Shapes: x (*runs, batch, in), leaves (*runs, out, 2^depth, in + 1), slots
    (*runs, out, 2^depth - 2, in + 2), y (*runs, batch, out).

    `depth` is the number of levels, `temperature` is T. `tree` is `slots`, the formula of the
    paper, or `bottom`, as in the published code: lowest nodes mix 1 and inputs, and a and b of
    every node are s + (1 - s) child, s = sigmoid(c / T), with gates c
    (*runs, out, 2 (2^depth - 1)). `init` is `normal`, standard normal logits; of those, `biased`
    raises the leaves' 1 by 2, `xy_biased` all inputs by 1, `random_hot` one choice of each leaf by
    3; gates rise by 4 (3 if `random_hot`, which lowers each by 6 with probability 1/4), as they do
    if `uniform`. With `regualizer_z` the penalty `z` is the mean square of the imaginary part of
    the root.

    Departs from the paper: no. Departs from the published code: a is cut where exp(a) is 1e300 (in
    float32, an eighth of the largest number), and ln(0) is that of the smallest one.
    """

    default_name = "eml"
    forgets: ClassVar = {"_imaginary": None}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        depth: int = 2,
        tree: str = "slots",
        init: str = "normal",
        temperature: float = 1.0,
        regualizer_z: float = 0,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if not 1 <= depth <= 10 or not temperature > 0:
            raise ValueError("depth has to be from 1 to 10, and temperature above 0")
        for name, value, known in (("tree", tree, TREES), ("init", init, STARTS)):
            if value not in known:
                raise ValueError(f"{name} {value!r} is not one of {', '.join(known)}")
        self.depth = depth
        self.tree = tree
        self.init = init
        self.temperature = temperature
        self.regualizer_z = regualizer_z
        self._imaginary: torch.Tensor | None = None
        self.leaves = torch.nn.Parameter(torch.empty(out_features, 2**depth, in_features + 1))
        more = (2**depth - 2, in_features + 2) if tree == "slots" else (2 * (2**depth - 1),)
        self.nodes = torch.nn.Parameter(torch.empty(out_features, *more))

    def reset_parameters(self) -> None:
        with torch.no_grad():
            torch.nn.init.normal_(self.leaves)
            torch.nn.init.normal_(self.nodes)
            if self.init == "biased":
                self.leaves[..., 0] += 2
            elif self.init == "xy_biased":
                self.leaves[..., 1:] += 1
            elif self.init == "random_hot":
                hot = torch.randint(self.leaves.shape[-1], self.leaves.shape[:-1])
                self.leaves += 3 * torch.nn.functional.one_hot(hot, self.leaves.shape[-1])
            if self.init != "normal" and self.tree == "bottom":
                is_hot = self.init == "random_hot"
                self.nodes += 3 if is_hot else 4
                if is_hot:
                    self.nodes -= 6 * (torch.rand(self.nodes.shape) < 0.25).to(self.nodes.dtype)

    def choices(self) -> Pair:
        """Return the shares of leaves, and of slots or gates."""
        leaves, nodes = self.leaves / self.temperature, self.nodes / self.temperature
        of_nodes = torch.softmax(nodes, -1) if self.tree == "slots" else torch.sigmoid(nodes)
        return torch.softmax(leaves, -1), of_nodes

    def levels(self, x: torch.Tensor) -> list[Pair]:
        """Return the nodes of all levels, the root last: `(*runs, out, batch, nodes)`."""
        leaves, nodes = self.choices()
        inputs = torch.cat((torch.ones_like(x[..., :1]), x), -1).unsqueeze(-3)
        real = inputs @ leaves.mT
        value = real, torch.zeros_like(real)
        found: list[Pair] = []
        used = 0
        for level in range(self.depth, 0, -1):
            count = 2**level
            if self.tree == "bottom":
                s = nodes[..., used : used + count].unsqueeze(-2)
                value = s + (1 - s) * value[0], (1 - s) * value[1]
                used += count
            elif found:
                p = nodes[..., used : used + count, :]
                child = p[..., -1].unsqueeze(-2)
                value = inputs @ p[..., :-1].mT + child * value[0], child * value[1]
                used += count
            real, imaginary = value
            a = real[..., ::2], imaginary[..., ::2]
            value = eml(a, (real[..., 1::2], imaginary[..., 1::2]))
            found.append(value)
        return found

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        real, imaginary = self.levels(x)[-1]
        if self.regualizer_z:
            self._imaginary = imaginary
        return real.squeeze(-1).mT

    def regualizer_terms(self):
        return {"z": self._squared_imaginary if self.regualizer_z else None}

    def _squared_imaginary(self) -> torch.Tensor:
        if self._imaginary is None:
            return self.leaves.new_zeros(self.leaves.shape[:-3])
        value, self._imaginary = mean_over(self._imaginary**2, 3), None
        return value

    def after_step(self, loss: torch.Tensor) -> None:
        self._imaginary = None

    def snap(self) -> None:
        """Make every choice that is the likeliest one, for good."""
        with torch.no_grad():
            for logits in (self.leaves, self.nodes):
                if logits is self.nodes and self.tree == "bottom":
                    made = logits > 0
                else:
                    made = torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, True), 1) > 0
                logits.copy_(torch.where(made, DECIDED, -DECIDED))

    def expression(self, names: Sequence[str]) -> str:
        """Return the tree of the likeliest choices of the one output of one run."""
        terms = ["1", *names]
        value = [terms[int(k)] for k in self.leaves[0].argmax(-1)]
        used = 0
        for level in range(self.depth, 0, -1):
            if self.tree == "bottom":
                gates = self.nodes[0, used : used + 2**level] > 0
                value = ["1" if gate else v for gate, v in zip(gates, value, strict=True)]
            elif level < self.depth:
                picks = self.nodes[0, used : used + 2**level].argmax(-1)
                value = [[*terms, v][int(k)] for k, v in zip(picks, value, strict=True)]
            used += 2**level if self.tree == "bottom" or level < self.depth else 0
            value = [f"eml({a}, {b})" for a, b in zip(value[::2], value[1::2], strict=True)]
        return value[0]


def eml(a: Pair, b: Pair) -> Pair:
    """Return exp(a) - ln(b) of complex numbers, as real and imaginary part."""
    (a_real, a_imaginary), (b_real, b_imaginary) = a, b
    known = torch.finfo(a_real.dtype)
    tiny, largest = known.tiny, min(1e300, known.max / 8)
    size = a_real.clamp(max=math.log(largest)).exp()
    m = torch.maximum(b_real.abs(), b_imaginary.abs())
    is_zero, m = m < tiny, m.clamp(min=tiny)
    # One of both quotients is 1 or -1, so that neither square overflows.
    squares = ((b_real / m) ** 2 + (b_imaginary / m) ** 2).clamp(min=1)
    phase = torch.atan2(b_imaginary, torch.where(is_zero, torch.ones_like(b_real), b_real))
    real = size * a_imaginary.cos() - (m.log() + squares.log() / 2)
    return real, size * a_imaginary.sin() - phase
