"""Units that learn equations and comparisons: EML, a tree of one operator, EQL and EQL-division,
small networks, and NSR, the Neural Status Register.
"""

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import torch

from stable_nalu.functional import linear, mean_over, per_run

from .base import Layer

Pair = tuple[torch.Tensor, torch.Tensor]
"""Real and imaginary part."""

DECIDED = 24.0
"""Logit of a choice that is made."""
SEARCH, COLD = 2.5, 0.01
"""Temperature of the search for a tree, and at the end of hardening."""
DOUBT, TOO_LARGE, LARGE = 0.02, 50.0, 1e-4
"""Factor of doubt, and what nodes may be until it costs that factor of their excess, squared."""


class EMLLayer(Layer):
    r"""Learn which tree of exp(a) - ln(b) computes a function: the EML of Odrzywolek (2026,
    arXiv:2603.21852).

        node = exp(a) - ln(b),    a and b = p_0 + sum_i p_i x_i + p_c child,    p = softmax(l / T)

    over complex numbers, from 2^(depth - 1) lowest nodes, which have no children, up to the root,
    whose real part is y. Shapes: leaves (*runs, out, 2^depth, in + 1), slots (*runs, out, 2^depth -
    2, in + 2).

    `depth` is the number of levels, `temperature` is T. `tree` is `slots`, the formula of the
    paper, or `bottom`, as in the published code: lowest nodes mix 1 and inputs, and a and b of
    every node are s + (1 - s) child, s = sigmoid(c / T), with gates c (*runs, out, 2 (2^depth -
    1)). `init` is `normal`, standard normal logits; of those, `biased` raises the leaves' 1 by 2,
    `xy_biased` all inputs by 1, `random_hot` one choice of each leaf by 3; gates rise by 4 (3 if
    `random_hot`, which lowers each by 6 with probability 1/4), as they do if `uniform`. With
    `regualizer_z` the penalty `z` is the mean square of the imaginary part of the root.

    With `iterations` training follows the published code: three quarters of them search, with T
    2.5; then choices harden, up to tau = 1, with T = 2.5 (0.01 / 2.5)^(tau^2). The penalty `g` is
    in force without a flag: the mean square of the imaginary part of the root, 0.0001 times the
    mean square of the excess of nodes over 50, and 0.02 tau times how undecided choices are.

    Departs from the published code: a is cut where exp(a) is 1e300 (in float32, an eighth of the
    largest number), and ln(0) is the logarithm of the smallest number.
    """

    default_name = "eml"
    forgets: ClassVar = {"_imaginary": None, "_levels": []}
    option_defaults: ClassVar = {
        **{"depth": 2, "tree": "slots", "init": "normal", "temperature": 1.0},
        **{"regualizer_z": 0.0, "iterations": 0},
    }
    option_choices: ClassVar = {
        "tree": ("slots", "bottom"),
        "init": ("normal", "biased", "uniform", "xy_biased", "random_hot"),
    }

    def make_parameters(self) -> None:
        if not 1 <= self.depth <= 10 or not self.temperature > 0:
            raise ValueError("depth has to be from 1 to 10, and temperature above 0")
        if self.iterations < 0:
            raise ValueError("iterations has to be at least 0")
        self._imaginary: torch.Tensor | None = None
        self._levels: list[Pair] = []
        tau = torch.nn.Parameter(torch.zeros(()), requires_grad=False)
        self.register_parameter("tau", tau if self.iterations else None)
        size, count = self.in_features + 1, 2**self.depth
        self.leaves = self.new_parameter(self.out_features, count, size)
        nodes = (count - 2, size + 1) if self.tree == "slots" else (2 * (count - 1),)
        self.nodes = self.new_parameter(self.out_features, *nodes)

    def reset_parameters(self) -> None:
        with torch.no_grad():
            torch.nn.init.normal_(self.leaves)
            torch.nn.init.normal_(self.nodes)
            is_hot = self.init == "random_hot"
            if self.init == "biased":
                self.leaves[..., 0] += 2
            elif self.init == "xy_biased":
                self.leaves[..., 1:] += 1
            elif is_hot:
                hot = torch.randint(self.leaves.shape[-1], self.leaves.shape[:-1])
                self.leaves += 3 * torch.nn.functional.one_hot(hot, self.leaves.shape[-1])
            if self.init != "normal" and self.tree == "bottom":
                self.nodes += 3 if is_hot else 4
                if is_hot:
                    self.nodes -= 6 * (torch.rand(self.nodes.shape) < 0.25).to(self.nodes.dtype)

    def tau_at(self, iteration: int) -> float:
        return hardened(iteration, self.iterations)

    def heat(self, ndim: int) -> float | torch.Tensor:
        """Return the temperature, to divide logits of so many dimensions by."""
        if self.tau is None:
            return self.temperature
        return per_run(SEARCH * (math.log(COLD / SEARCH) * self.tau**2).exp(), ndim)

    def choices(self) -> Pair:
        """Return the shares of leaves, and of slots or gates."""
        leaves = torch.softmax(self.leaves / self.heat(3), -1)
        if self.tree == "slots":
            return leaves, torch.softmax(self.nodes / self.heat(3), -1)
        return leaves, torch.sigmoid(self.nodes / self.heat(2))

    def place(self, level: int) -> slice | None:
        """Return where the choices of a level are among the nodes; None: it has none.

        Levels are counted from the root, 1, whose choices are the last ones.
        """
        start = 2 ** (self.depth + (self.tree == "bottom")) - 2 ** (level + 1)
        return slice(start, start + 2**level) if start >= 0 else None

    def levels(self, x: torch.Tensor) -> list[Pair]:
        """Return the nodes of all levels, the root last: `(*runs, out, batch, nodes)`."""
        leaves, nodes = self.choices()
        inputs = torch.cat((torch.ones_like(x[..., :1]), x), -1).unsqueeze(-3)
        real = inputs @ leaves.mT
        value = real, torch.zeros_like(real)
        found: list[Pair] = []
        for place in map(self.place, range(self.depth, 0, -1)):
            if self.tree == "bottom":
                s = nodes[..., place].unsqueeze(-2)
                value = s + (1 - s) * value[0], (1 - s) * value[1]
            elif place:
                p = nodes[..., place, :]
                child = p[..., -1].unsqueeze(-2)
                value = inputs @ p[..., :-1].mT + child * value[0], child * value[1]
            value = eml(*(tuple(part[..., side::2] for part in value) for side in (0, 1)))
            found.append(value)
        return found

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = self.levels(x)
        if self.tau is not None and self.training:
            levels = self._levels = [(_limited(a), _limited(b)) for a, b in levels]
        real, imaginary = levels[-1]
        if self.regualizer_z:
            self._imaginary = imaginary
        return real.squeeze(-1).mT

    def regualizer_terms(self):
        return {
            "g": None if self.tau is None else self.penalty,
            "z": self._squared_imaginary if self.regualizer_z else None,
        }

    def penalty(self) -> torch.Tensor:
        """Return the penalty of training by phases: `runs`."""
        assert self.tau is not None
        levels, self._levels = self._levels, []
        if not levels:
            return torch.zeros_like(self.tau)
        excess = [(a.abs().maximum(b.abs()) - TOO_LARGE).clamp(min=0) for a, b in levels]
        large = sum(mean_over(part**2, 3) for part in excess) / len(levels)
        doubt = DOUBT * self.tau * self.undecided()
        return mean_over(levels[-1][1] ** 2, 3) + LARGE * large + doubt

    def undecided(self) -> torch.Tensor:
        """Return the mean entropy of choices and variance of gates, each weighted by its doubt."""
        leaves, nodes = self.choices()
        if self.tree == "bottom":
            doubt = 1 - (2 * nodes - 1).abs()
            return _entropy(leaves) + mean_over(nodes * (1 - nodes) * doubt, 2)
        return _entropy(leaves) + (_entropy(nodes) if nodes.shape[-2] else 0.0)

    def _squared_imaginary(self) -> torch.Tensor:
        if self._imaginary is None:
            return self.leaves.new_zeros(self.leaves.shape[:-3])
        value, self._imaginary = mean_over(self._imaginary**2, 3), None
        return value

    def after_step(self, loss: torch.Tensor) -> None:
        self._imaginary, self._levels = None, []

    def exact_parameters(self):
        """Return the logits of the likeliest choices."""
        found = {"leaves": self.leaves, "nodes": self.nodes}
        for name, logits in found.items():
            made = torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, True), 1) > 0
            if name == "nodes" and self.tree == "bottom":
                made = logits > 0
            found[name] = torch.where(made, DECIDED, -DECIDED)
        return found

    def expression(self, names: Sequence[str]) -> str:
        """Return the tree of the likeliest choices of the one output of one run."""
        terms = ["1", *names]
        value = [terms[int(k)] for k in self.leaves[0].argmax(-1)]
        for place in map(self.place, range(self.depth, 0, -1)):
            if self.tree == "bottom":
                gates = self.nodes[0, place] > 0
                value = ["1" if gate else v for gate, v in zip(gates, value, strict=True)]
            elif place:
                picks = self.nodes[0, place].argmax(-1)
                value = [[*terms, v][int(k)] for k, v in zip(picks, value, strict=True)]
            value = [f"eml({a}, {b})" for a, b in zip(value[::2], value[1::2], strict=True)]
        return value[0]

    def computed(self, *inputs: Any) -> Any:
        """Return the formula of that tree, of inputs that are symbols."""
        import sympy

        known: dict[str, Any] = {str(symbol): symbol for symbol in inputs}
        read: Any = sympy.sympify
        return read(self.expression([*known]), known | {"eml": _eml})

    @torch.no_grad()
    def doubt(self) -> float:
        """Return how far the most doubtful choice is from being made, of those that count."""
        leaves, nodes = self.choices()
        slots, found = [0, 1], [0.0]
        for level in range(1, self.depth + 1):
            place = self.place(level)
            own = nodes[0, place]
            if self.tree == "bottom":
                found += [float(own[k].minimum(1 - own[k])) for k in slots]
                slots = [k for k in slots if own[k] <= 0.5]
            elif place:
                found += [1 - float(own[k].max()) for k in slots]
                slots = [k for k in slots if own[k].argmax() == own.shape[-1] - 1]
            if level == self.depth:
                found += [1 - float(leaves[0, k].max()) for k in slots]
            slots = [2 * k + side for k in slots for side in (0, 1)]
        return max(found)


def _eml(a: Any, b: Any) -> Any:
    """Return exp(a) - ln(b) of expressions; no number where exp is beyond the largest double."""
    import sympy

    try:
        within = not a.is_number or abs(complex(a)) < 709  # exp(709) is a double
    except TypeError:
        within = False
    return sympy.exp(a) - sympy.log(b) if within else sympy.nan


def hardened(iteration: int, iterations: int) -> float:
    searched = 0.75 * iterations
    return max(0.0, iteration - searched) / max(1.0, iterations - searched)


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


def _entropy(shares: torch.Tensor) -> torch.Tensor:
    """Return the mean entropy of choices, each weighted by how far it is from decided."""
    doubt = ((1 - shares.amax(-1)) / (1 - 1 / shares.shape[-1])).clamp(0, 1)
    entropy = -(shares * shares.clamp(min=1e-30).log()).sum(-1)
    return mean_over(doubt * entropy, 2)


def _limited(values: torch.Tensor) -> torch.Tensor:
    """Return values whose squares, and gradients of these, are numbers."""
    most = torch.finfo(values.dtype).max ** (1 / 6)
    return values.clamp(-most, most)


class EQLLayer(Layer):
    r"""Learn an equation of sums, products, sines and cosines: the EQL of Martius & Lampert (2016,
    arXiv:1610.02995).

        h = (z_1, sin(z_2), cos(z_3), z_4 z_5),    z = W_k h + b_k,    y = W_L h + b_L

    with `width` columns in each of z_1 to z_5, for each of the `layers` - 1 hidden layers; with
    `sigmoids`, as in the paper, sigmoid(z_6) is one more. Shapes: W1 (*runs, 5 width, in), b1
    (*runs, 5 width), W2 (*runs, out or 5 width, 4 width), …, y (*runs, batch, out). Training of
    `iterations` has three phases: up to a quarter without a penalty; then with the penalty `g` of
    l1 sum |W|, which is in force without a flag (with `l1` 0, --regualizer-z times the sum); from
    19/20 on without it again, while all weights below 0.001 are held at zero. `tau` is the
    iteration.

    Departs from the paper: two columns that are multiplied do not stand side by side; the paper
    tries 26 values of `l1` and three of `layers`, and chooses; its Adam has another epsilon.
    Departs from the published code: as the paper, which its settings differ from.
    """

    default_name = "eql"
    columns_per_output: ClassVar[int] = 1
    option_defaults: ClassVar = {
        **{"layers": 2, "width": 10, "sigmoids": False, "l1": 1e-4, "iterations": 50_000}
    }

    def make_parameters(self) -> None:
        if not 2 <= self.layers <= 9 or self.width < 1 or self.iterations < 1:
            raise ValueError("layers has to be from 2 to 9, width and iterations at least 1")
        if not 0 <= self.l1 < math.inf:
            raise ValueError("l1 has to be a number from 0")
        hidden, kinds = self.layers - 1, 4 + self.sigmoids
        sizes = [self.in_features] + [kinds * self.width] * hidden
        columns = [(kinds + 1) * self.width] * hidden
        columns.append(self.columns_per_output * self.out_features)
        for number, shape in enumerate(zip(columns, sizes, strict=True), start=1):
            setattr(self, f"W{number}", self.new_parameter(*shape))
            setattr(self, f"b{number}", self.new_parameter(shape[0]))
        self.tau = torch.nn.Parameter(torch.zeros(()), requires_grad=False)

    def reset_parameters(self) -> None:
        for number, W in enumerate(self.matrices(), start=1):
            torch.nn.init.normal_(W, std=sum(W.shape[-2:]) ** -0.5)
            torch.nn.init.zeros_(getattr(self, f"b{number}"))

    def tau_at(self, iteration: int) -> float:
        return float(iteration)

    def matrices(self) -> list[torch.Tensor]:
        return [getattr(self, f"W{number}") for number in range(1, self.layers + 1)]

    def weights(self, W: torch.Tensor) -> torch.Tensor:
        """Return effective weights: in the last phase, small ones are zero."""
        is_last_phase = self.tau >= 0.95 * self.iterations
        least = torch.where(is_last_phase, torch.full_like(self.tau, 1e-3), 0.0)
        return torch.where(W.abs() < per_run(least, 2), torch.zeros_like(W), W)

    def last(self, x: torch.Tensor) -> torch.Tensor:
        for number, W in enumerate(self.matrices(), start=1):
            z = linear(x, self.weights(W), getattr(self, f"b{number}"))
            if number == self.layers:
                break
            kept, sine, cosine, one, other, *more = z.split(self.width, -1)
            more = map(torch.sigmoid, more)
            x = torch.cat((kept, sine.sin(), cosine.cos(), one * other, *more), -1)
        return z

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(x)

    def regualizer_terms(self):
        return {"g": self.penalty, "z": None if self.l1 else partial(self.in_phase, 1.0)}

    def penalty(self) -> torch.Tensor:
        """Return the penalty of this phase: `runs`."""
        return self.in_phase(self.l1)

    def in_phase(self, factor: float) -> torch.Tensor:
        """Return the sum of absolute weights times a factor, or 0 out of the second phase."""
        total = sum(mean_over(W.abs(), 2) * math.prod(W.shape[-2:]) for W in self.matrices())
        counts = (self.tau >= self.iterations / 4) & (self.tau < 0.95 * self.iterations)
        return torch.where(counts, factor * total, torch.zeros_like(self.tau))

    @torch.no_grad()
    def active_units(self) -> torch.Tensor:
        """Count hidden units whose norms of weights to and from them have a product above 0.01.

        A product unit has the sum of the norms of its two columns. Returns `runs`.
        """
        total, size = torch.zeros_like(self.tau), self.width
        for before, after in itertools.pairwise(self.matrices()):
            into = before.norm(dim=-1)
            into[..., 3 * size : 4 * size] += into[..., 4 * size : 5 * size]
            into = torch.cat((into[..., : 4 * size], into[..., 5 * size :]), -1)
            total += (into * after.norm(dim=-2) > 0.01).sum(-1)
        return total

    def after_step(self, loss: torch.Tensor) -> None:
        with torch.no_grad():
            for W in self.matrices():
                W.copy_(self.weights(W))


class EQLDivLayer(EQLLayer):
    r"""Learn an equation that ends in a division: the EQL-division of Sahoo et al. (2018,
    arXiv:1806.07259).

        y_o = a_o / b_o if b_o > t, else 0,    (a, b) = W_L h + b_L

    with h as in EQL, and t = (iteration / epoch + 1)^(-1/2) in training, 0.0001 in tests. The
    penalty `g` is also the sum of max(t - b, 0) over the batch and outputs, so it grows with the
    batch, as published. Shapes: the last W (*runs, 2 out, 4 width). `epoch` is how many iterations
    are one. Departs from the paper: as EQL; no epochs of penalties on inputs of the test. Departs
    from the published code: as the paper.
    """

    default_name = "eql_div"
    forgets: ClassVar = {"_shortfall": None}
    columns_per_output = 2
    option_defaults: ClassVar = {"epoch": 450}

    def make_parameters(self) -> None:
        super().make_parameters()
        if self.epoch < 1:
            raise ValueError("epoch has to be at least 1")
        self._shortfall: torch.Tensor | None = None

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.ones_(getattr(self, f"b{self.layers}"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.last(x)
        a, b = z[..., : self.out_features], z[..., self.out_features :]
        least = torch.full_like(self.tau, 1e-4)
        if self.training:
            least = (self.tau / self.epoch + 1) ** -0.5
            self._shortfall = (per_run(least, 2) - b).clamp(min=0)
        divides = b > per_run(least, 2)
        quotient = a / torch.where(divides, b, torch.ones_like(b))
        return torch.where(divides, quotient, torch.zeros_like(b))

    def penalty(self) -> torch.Tensor:
        total, short = super().penalty(), self._shortfall
        if short is None:
            return total
        self._shortfall = None
        return total + mean_over(short, 2) * math.prod(short.shape[-2:])

    def after_step(self, loss: torch.Tensor) -> None:
        super().after_step(loss)
        self._shortfall = None


class NSRLayer(Layer):
    r"""Compare two inputs that are chosen among all: the NSR of Faber & Wattenhofer (2023,
    arXiv:2004.07085).

        y_o = sigmoid(b_o + sum_k w_ok S_ok + u_ok (1 - 2 S_ok^2)),    S_ok = tanh(z d_ok)
        d_ok = sum_i (softmax_i(V_oik) - softmax_i(U_oik)) x_i

    S is the sign bit of the difference d, 1 - 2 S^2 the zero bit, both in [-1, 1]. Shapes: V and U
    (*runs, out, in, copies), w and u (*runs, out, copies), b (*runs, out).

    copies: comparisons that are learned in parallel. z: how small a difference still counts;
        beyond 1 / z, gradients vanish.

    Departs from the paper: the second output, 1 - y, is left out. The penalties of the version of
    2020 are not here.
    """

    default_name = "nsr"
    option_defaults: ClassVar = {"copies": 10, "z": 1.0}

    def make_parameters(self) -> None:
        if self.copies < 1 or not self.z > 0:
            raise ValueError("copies has to be at least 1, and z above 0")
        i, o, k = self.in_features, self.out_features, self.copies
        self.V, self.U = self.new_parameter(o, i, k), self.new_parameter(o, i, k)
        self.w, self.u = self.new_parameter(o, k), self.new_parameter(o, k)
        self.b = self.new_parameter(o)

    def reset_parameters(self) -> None:
        for choice in (self.V, self.U):
            torch.nn.init.normal_(choice, std=math.sqrt(2 / (self.in_features + self.copies)))
        for weight in (self.w, self.u):
            torch.nn.init.normal_(weight, std=math.sqrt(2 / (self.copies + 1)))
        torch.nn.init.zeros_(self.b)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen = torch.softmax(self.V, -2) - torch.softmax(self.U, -2)
        S = torch.tanh(self.z * (x.unsqueeze(-3) @ chosen))
        bits = S @ self.w.unsqueeze(-1) + (1 - 2 * S * S) @ self.u.unsqueeze(-1)
        return torch.sigmoid(self.b.unsqueeze(-2) + bits.squeeze(-1).mT)
