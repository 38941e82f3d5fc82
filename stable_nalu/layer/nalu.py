"""Gates between a sum and a product: NALU, G-NALU, gated NAU/NMU, iNALU and DMU.

All NALUs share the following.

A gate chooses between an additive and a multiplicative path:

    y = g * a + (1 - g) * m,    a = nac_add(x),    m = in log space: exp(nac_mul(log(|x| + eps)))
    g = sigmoid(G x + b)

Shapes: x (*runs, batch, in), G (*runs, out, in), b (*runs, out), y (*runs, batch, out).

`nalu_two_nac`     the paths have a NAC each instead of sharing one
`nalu_two_gate`    m has a gate of its own in place of 1 - g
`nalu_bias`        the gates have the bias b
`nalu_mul`         how m is computed: a mode of `in_log_space`, or `mnac`: nac_mul multiplies itself
`nalu_gate`        `normal`; `golden-ratio`: the golden-ratio sigmoid; `regualized`: the penalty `g`
                   pulls gates to 0 and 1; `gumbel`, `obs-gumbel`: Gumbel noise on the gate, one
                   number per output, or one per output and row; `linear`: g = G x + b, without
                   bounds; `independent`: g = sigmoid(G), G (*runs, out), the same for all inputs
`gate_of_abs`      the gate reads |x|, as in the code of G-NALU
`nalu_gate_shape`  `matrix`; `vector`: G (*runs, 1, in), one gate per row for all outputs
`nalu_init`        `default`: start values of the NACs and Xavier-uniform gates; `xavier-normal` and
                   `truncated` (normal, deviation 0.02, cut at 0.04), `uniform` (within 0.01 of 0):
                   all matrices are drawn so

Some have other layers than the NAC in its place.
"""

import math
from functools import partial
from typing import ClassVar

import torch

from stable_nalu import functional
from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import in_log_space, linear, mean_over, mnac, sign_phase, sparsity_error

from .base import SURE, Layer, WeightLayer, sure
from .nau_nmu import MNACLayer, NACLayer, NAULayer, NMULayer

NALU_STARTS = {
    "truncated": partial(torch.nn.init.trunc_normal_, std=0.02, a=-0.04, b=0.04),
    "xavier-normal": torch.nn.init.xavier_normal_,
    "uniform": partial(torch.nn.init.uniform_, a=-0.01, b=0.01),
}


class AbstractNALULayer(Layer):
    """Subclasses name the layers of the two paths; options they read are options of the NALU."""

    default_name = "nalu"
    forgets: ClassVar = {"_gates": ()}
    NACOp: ClassVar[type[Layer]]
    MNACOp: ClassVar[type[Layer] | None] = None
    """The multiplying layer of `nalu_mul="mnac"`; None if this kind has no layer."""

    option_defaults: ClassVar = {
        **{"eps": 1e-7, "nalu_two_nac": False, "nalu_two_gate": False, "nalu_bias": False},
        **{"nalu_mul": "normal", "nalu_gate": "normal", "nalu_gate_shape": "matrix"},
        **{"nalu_init": "default", "gate_of_abs": False},
    }
    option_choices: ClassVar = {
        "nalu_mul": (*functional.LOG_SPACE_MODES, "mnac"),
        "nalu_gate": (
            *("normal", "regualized", "golden-ratio", "gumbel", "obs-gumbel"),
            *("linear", "independent"),
        ),
        "nalu_gate_shape": ("matrix", "vector"),
        "nalu_init": ("default", *NALU_STARTS),
    }

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for op in (getattr(cls, "NACOp", None), cls.MNACOp):
            own = cls.option_defaults
            cls.option_defaults = own | getattr(op, "option_defaults", {}) | own

    def make_parameters(self) -> None:
        multiplies, free = self.nalu_mul == "mnac", self.nalu_gate == "independent"
        if multiplies and self.MNACOp is None:
            raise ValueError(f"nalu_mul 'mnac': {type(self).__name__} has no multiplying layer")
        if multiplies and not self.nalu_two_nac:
            raise ValueError("nalu_mul 'mnac' needs a layer for each path (--nalu-two-nac)")
        if free and self.nalu_gate_shape == "vector":
            raise ValueError("nalu_gate_shape 'vector' maps inputs, an independent gate has none")
        if free and self.nalu_bias:
            raise ValueError("nalu_bias: an independent gate is nothing but a bias")
        own = AbstractNALULayer.option_defaults
        rest = {n: vars(self).pop(n) for n in self.option_defaults if n not in own}
        self._gates: tuple[torch.Tensor, ...] = ()
        outputs = 1 if self.nalu_gate_shape == "vector" else self.out_features
        shape = (outputs,) if free else (outputs, self.in_features)
        for path, present in (("add", True), ("mul", self.nalu_two_gate)):
            G = self.new_parameter(*shape) if present else None
            b = self.new_parameter(outputs) if present and self.nalu_bias else None
            self.register_parameter(f"G_{path}", G)
            self.register_parameter(f"bias_{path}", b)

        def child(op, name):
            options = {option: rest[option] for option in op.option_defaults}
            return op(self.in_features, self.out_features, name=name, **options)

        if self.nalu_two_nac:
            self.nac_add = child(self.NACOp, "nac_add")
            self.nac_mul = child(self.MNACOp if multiplies else self.NACOp, "nac_mul")
        else:
            self.nac_add = child(self.NACOp, None)
            self.nac_add.passes_per_forward = 2

    def reset_parameters(self) -> None:
        super().reset_parameters()
        bound = 0.01  # As in the implementation that has independent gates.
        if self.nalu_gate != "independent":
            bound = functional.xavier_bound(self.in_features, len(self.G_add))
        for name, parameter in self.named_parameters(recurse=False):
            if name.startswith("G_"):
                torch.nn.init.uniform_(parameter, -bound, bound)
            elif name.startswith("bias_"):
                torch.nn.init.zeros_(parameter)
        if self.nalu_init != "default":
            for weight in (p for p in self.parameters() if p.ndim > 1):
                NALU_STARTS[self.nalu_init](weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        g_add = self.gate(x, self.G_add, self.bias_add)
        g_mul = self.gate(x, self.G_mul, self.bias_mul) if self.nalu_two_gate else 1 - g_add
        a, m = self.nac_add(x), self.multiply(x)
        gates = (g_add, g_mul) if self.nalu_two_gate else (g_add,)
        if self.nalu_gate == "regualized":
            self._gates = gates
        if self.trace is not None:
            names = ("gate/add", "gate/mul") if self.nalu_two_gate else ("gate",)
            values = zip((*names, "add", "mul"), (*gates, a, m), strict=True)
            self.trace.update({name: value.detach() for name, value in values})
        return g_add * a + g_mul * m

    def gate(
        self, x: torch.Tensor, G: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return gate values, `(*runs, batch, out)` or what broadcasts to it."""
        if self.nalu_gate == "independent":
            return torch.sigmoid(G).unsqueeze(-2)
        z = linear(x.abs() if self.gate_of_abs else x, G, bias)
        if self.nalu_gate == "linear":
            return z
        if self.nalu_gate == "golden-ratio":
            return functional.sigmoid(z)
        if self.allow_random and self.nalu_gate in ("gumbel", "obs-gumbel"):
            # Its temperature is fixed at 1: `--tau` schedules do not reach the gates of a NALU.
            of_outputs = self.nalu_gate == "gumbel"
            u = self.random.uniform(z.shape[-1 if of_outputs else -2 :], 0.0, 1.0, like=z)
            noise = -torch.log(1e-8 - torch.log(u + 1e-8))
            z = z + (noise.unsqueeze(-2) if of_outputs else noise)
        return torch.sigmoid(z)

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        if self.nalu_mul == "mnac":
            return self.nac_mul(x)
        nac_mul = self.nac_mul if self.nalu_two_nac else self.shared_nac
        return in_log_space(nac_mul, x, self.nalu_mul, self.eps)

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        """Pass the shared NAC for the second time; a sampling NAC repeats its sample here."""
        return self.nac_add(x)

    def regualizer_terms(self):
        return {"g": self._gate_penalty} if self.nalu_gate == "regualized" else {}

    def exact_parameters(self):
        free = self.nalu_gate == "independent"
        gates = {name: getattr(self, f"G_{name}") for name in ("add", "mul") if free}
        return {f"G_{n}": sure(torch.sigmoid(G)) for n, G in gates.items() if G is not None}

    def _gate_penalty(self):
        """Sum, over batch and outputs, of g^2 (1 - g)^2 in the last forward pass."""
        zero = self.G_add.new_zeros(self.G_add.shape[:-2])
        return sum(((g**2 * (1 - g) ** 2).sum((-2, -1)) for g in self._gates), start=zero)

    def after_step(self, loss: torch.Tensor) -> None:
        self._gates = ()

    def observations(self) -> list[Observation]:
        trace = self.trace or {}
        observed = [Observation("histogram", n, lambda v=v: v) for n, v in trace.items()]
        if "gate" in trace:
            mean = mean_over(trace["gate"], 2)
            observed.append(Observation("scalar", "gate/mean", lambda: mean, verbose_only=False))
        return observed


class NALULayer(AbstractNALULayer):
    r"""Choose by a gate between a sum and a product of NACs: the NALU of Trask et al. (2018,
    arXiv:1808.00508), and the G-NALU of Rana et al. (2019, doi:10.1109/ICTAI.2019.00192).

        y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

        G-NALU: tanh, sigmoid and exp in the NACs, the gate and the product have base phi, not e.
        As in the published benchmark, its gate reads x; in its paper's code, as with `gate_of_abs`,
        |x|.

    Shapes: G (*runs, out, in). Options: see `stable_nalu.layer.nalu`. Departs from the paper:
    initial values follow Madsen & Johansen (2020) unless `nalu_init` says otherwise.
    docs/layers.md says what the published variants can represent. Departs from the published code:
    `nalu_mul="max-safe"` computes its formula, there it raises.
    """

    NACOp = NACLayer
    MNACOp = MNACLayer


class GatedNAUNMULayer(AbstractNALULayer):
    r"""Choose by a gate between the sum of an NAU and the product of an NMU (Madsen & Johansen
    2020, arXiv:2001.05016).

        y = g * NAU(x) + (1 - g) * NMU(x),    g = sigmoid(G x)

    Shapes: G (*runs, out, in). Options: see `stable_nalu.layer.nalu`. The formula holds for
    `nalu_two_nac=True, nalu_mul="mnac"`. Otherwise the product is the NAU in log space, as in the
    NALU.
    """

    NACOp = NAULayer
    MNACOp = NMULayer


ReRegualizedLinearNALULayer = GatedNAUNMULayer


def is_gate(name: str) -> bool:
    """Return whether a parameter of a NALU or an iNALU, by its name, makes gates."""
    return name.rpartition(".")[2][0] in "gG"


LARGEST_EXPONENT = 20.0
"""At which the exponent of a product is cut."""


_PENALTIES = {ndim: functional.Regualizer("inalu", "bias", "linear", ndim=ndim) for ndim in (1, 2)}


class INALULayer(Layer):
    r"""Compute all four operations, with weights to add, weights to multiply and a gate that no
    input moves: the iNALU of Schlör et al. (2020, arXiv:2003.07629).

        y_o = c_o a_o + (1 - c_o) m_o s_o,    c = sigmoid(g)
        a_o = sum_i A_io x_i,                 A = tanh(W_a_hat) sigmoid(M_a_hat)
        m_o = exp(min(sum_i M_io log max(|x_i|, 1e-7), 20))
        s_o = prod_i (|M_io| sign(x_i) + 1 - |M_io|),    M = tanh(W_m_hat) sigmoid(M_m_hat)

    Shapes: the four hat matrices (*runs, in, out), g (*runs, out). `gate_of_input` makes the gate
    c = sigmoid(g x), g (*runs, out, in). `shared_weights`: the product has the weights of the sum,
    M = A. The penalty `inalu` pushes every parameter p away from zero: sum over all parameters of
    mean relu(20 - |p|). Departs from the published code: the penalty has its gradient (as in
    nalm-benchmark, not in nalm-robust-nmu); float64 and a GPU work.
    """

    default_name = "inalu"
    option_defaults: ClassVar = {"gate_of_input": False, "shared_weights": False}

    def make_parameters(self) -> None:
        self._matrices = [f"{m}_{path}_hat" for path in self.paths for m in "WM"]
        for name in self._matrices:
            setattr(self, name, self.new_parameter(self.in_features, self.out_features))
        inputs = [self.in_features] * self.gate_of_input
        self.g = self.new_parameter(self.out_features, *inputs)

    @property
    def paths(self) -> str:
        """Return the letters of the sum and of the product, if it has weights of its own."""
        return "a" if self.shared_weights else "am"

    def reset_parameters(self) -> None:
        for name in self._matrices:
            mean = 0.88 if name.startswith("W") else 0.5
            torch.nn.init.normal_(getattr(self, name), mean, 0.2)
        torch.nn.init.normal_(self.g, 0.0, 0.2)

    def add_weights(self) -> torch.Tensor:
        """Return the effective weight of the sum: `(*runs, in, out)`."""
        return torch.tanh(self.W_a_hat) * torch.sigmoid(self.M_a_hat)

    def mul_weights(self) -> torch.Tensor:
        """Return the effective weight of the product: `(*runs, in, out)`."""
        if self.shared_weights:
            return self.add_weights()
        return torch.tanh(self.W_m_hat) * torch.sigmoid(self.M_m_hat)

    def gate(self) -> torch.Tensor:
        """Return the effective gate: `(*runs, out)`; 1 is the sum, 0 the product."""
        return torch.sigmoid(self.g)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W_m = self.mul_weights()
        add = x @ (W_m if self.shared_weights else self.add_weights())
        log_x = x.abs().clamp(min=1e-7).log()
        mul = (log_x @ W_m).clamp(max=LARGEST_EXPONENT).exp()
        sign = mnac(torch.sign(x), W_m.abs().mT)
        gate = torch.sigmoid(linear(x, self.g)) if self.gate_of_input else self.gate().unsqueeze(-2)
        if self.trace is not None:
            self.trace.update(add=add.detach(), mul=mul.detach(), sign=sign.detach())
        return gate * add + (1 - gate) * mul * sign

    def regualizer_terms(self):
        return {"inalu": self._distance_to_saturation}

    def exact_parameters(self):
        found = {} if self.gate_of_input else {"g": sure(self.gate())}
        pairs = zip(self.paths, (self.add_weights(), self.mul_weights()), strict=False)
        for path, weights in pairs:
            found[f"W_{path}_hat"] = weights.round() * SURE
            found[f"M_{path}_hat"] = torch.full_like(weights, SURE)
        return found

    def _distance_to_saturation(self) -> torch.Tensor:
        penalties = [_PENALTIES[2](getattr(self, name)) for name in self._matrices]
        penalties.append(_PENALTIES[1 + self.gate_of_input](self.g))
        return torch.stack(penalties, dim=-1).sum(-1)

    def observations(self) -> list[Observation]:
        def mean_error():
            return (sparsity_error(self.add_weights()) + sparsity_error(self.mul_weights())) / 2

        def gate_error():
            return sparsity_error(self.gate(), 1 + self.gate_of_input)

        observed = weight_observations("W_a", self.add_weights)
        observed += weight_observations("W_m", self.mul_weights)
        observed += [
            Observation("scalar", "W/sparsity_error", mean_error, verbose_only=False),
            # The text shows the raw parameter, everything else the gate: published logs do so.
            Observation("tensor", "gate", lambda: self.g),
            Observation("histogram", "gate", self.gate),
            Observation(
                "scalar", "gate/mean", lambda: mean_over(self.gate(), 1 + self.gate_of_input)
            ),
            Observation("scalar", "gate/sparsity_error", gate_error, verbose_only=False),
        ]
        traced = (self.trace or {}).items()
        return observed + [Observation("histogram", name, lambda v=v: v) for name, v in traced]


class DMULayer(WeightLayer):
    r"""Add or multiply with one set of operands, subtract or divide with another: the DMU of Curry
    (2025, arXiv:2509.08180).

        y_o = s_o exp(m_o),    s_o = g_o tanh(R_o / 1e-4) + h_o cos(pi sum_i |W_oi| [x_i < 0])
        m_o = clip(g_o log(sqrt(R_o^2 + 1e-8)) + h_o Q_o),    R_o = sum_i W_oi x_i
        Q_o = clip(sum_i W_oi log max(|x_i|, 1e-11)),    (g_o, h_o) = softmax(G_o / T)

    with clip to [-L, L], L = log(1e6) - 1, so that |y| is at most 3.7e5. Shapes: G (*runs, out, 2).

    operands: `learned` from 0.5; or given, and not learned: `add`, all 1, for sums and products;
        `sub`, the first 1 and all others -1, for differences and quotients.
    temperature: T. single_gate: g = sigmoid(G / T) and h = 1 - g, with G (*runs, out).
    gate_smoothing: c, which keeps g and h away from 0: c + (1 - 2 c) g.

    All start values are fixed, so seeds differ in their data alone. Departs from the paper: T is
    0.1, not 1, at which gates do not come close to 0 and 1 in the published number of steps; the
    paper's share of solved runs is of operands that are given. Departs from the published code: the
    last state of its branch param_g is followed, without normalisation of the operands, which for
    two of them keeps nothing but a sign; any number of inputs and outputs.
    """

    default_name = "dmu"
    option_defaults: ClassVar = {
        **{"operands": "learned", "temperature": 0.1, "single_gate": False, "gate_smoothing": 0.0}
    }
    option_choices: ClassVar = {"operands": ("learned", "add", "sub")}

    def make_parameters(self) -> None:
        if not self.temperature > 0 or not 0 <= self.gate_smoothing < 0.5:
            raise ValueError("temperature has to be above 0, and gate_smoothing from 0 to 0.5")
        W = torch.ones(self.out_features, self.in_features)
        if self.operands == "learned":
            self.W = torch.nn.Parameter(W)
        else:
            W[:, 1:] = 1 if self.operands == "add" else -1
            self.register_buffer("W", W)
        self.G = self.new_parameter(self.out_features, *([] if self.single_gate else [2]))

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.G)
        if self.operands == "learned":
            torch.nn.init.constant_(self.W, 0.5)

    def shares(self) -> tuple[torch.Tensor, torch.Tensor]:
        G = self.G / self.temperature
        if self.single_gate:
            g = torch.sigmoid(G)
            h = 1 - g
        else:
            g, h = torch.softmax(G, -1).unbind(-1)
        c = self.gate_smoothing
        return (c + (1 - 2 * c) * g, c + (1 - 2 * c) * h) if c else (g, h)

    def gate(self) -> torch.Tensor:
        """Return the effective gate: `(*runs, out)`; 1 is the sum, 0 the product."""
        return self.shares()[0]

    def exact_parameters(self):
        sum_ = sure(self.gate())
        own = {"W": self.W.round()} if "W" in self._parameters else {}
        return own | {"G": sum_ if self.single_gate else torch.stack((sum_, -sum_), -1)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W, L = self.weights(), math.log(1e6) - 1
        g, h = (share.unsqueeze(-2) for share in self.shares())
        R = linear(x, W)
        Q = linear(x.abs().clamp(min=1e-11).log(), W).clamp(-L, L)
        sign = g * torch.tanh(R / 1e-4) + h * torch.cos(linear(sign_phase(x), W.abs()))
        m = g * (R * R + 1e-8).sqrt().log() + h * Q
        return sign * m.clamp(-L, L).exp()

    def observations(self) -> list[Observation]:
        def farthest() -> torch.Tensor:
            return torch.maximum(sparsity_error(self.W), sparsity_error(self.gate(), 1))

        observed = weight_observations("W", self.weights, sparsity=False)
        observed += weight_observations("gate", self.gate, ndim=1)
        return [*observed, Observation("scalar", "W/sparsity_error", farthest, verbose_only=False)]
