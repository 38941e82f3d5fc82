"""Powers of inputs: NPU, RealNPU and the product unit of 1989; shares of inputs: the MCFC, which
conserves mass, its recurrent cell MC-LSTM, and the MulMCFC, the MCFC in log space.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch

from stable_nalu import functional
from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import linear, mean_over, mnac, sign_phase, trailing

from .base import EPSILON, Cell, GatedInputs, Layer, WeightLayer

INITIAL_BOUNDS: dict[str, Callable[[int, int], float]] = {
    "xavier-uniform": functional.xavier_bound,
    "xavier-uniform-constrained": functional.nau_bound,
}
_RANGES = {"W_real": (-1.0, 1.0), "W_im": (-1.0, 1.0), "g": (0.0, 1.0)}


class NPUBase(GatedInputs):
    """Powers of gated inputs; subclasses own `W_real (*runs, in, out)` and `g (*runs, in)`.

    `npu_clip` names the parameters clamped after every step: w (W_real), g, wg, or wig, which
    each subclass defines. A penalty is switched on by a value other than zero. `npu_gate="open"`
    fixes g at 1: the NaiveNPU.
    """

    clipped_by_wig: ClassVar[tuple[str, ...]]
    positional = ("npu_clip",)
    option_defaults: ClassVar = {
        **{"npu_clip": "none", "npu_Wr_init": "xavier-uniform", "regualizer_npu_w": 0.0},
        **{"regualizer_gate": 0.0, "npu_gate": "learned"},
    }
    option_choices: ClassVar = {
        "npu_clip": ("none", "w", "g", "wg", "wig"),
        "npu_gate": ("learned", "open"),
        "npu_Wr_init": INITIAL_BOUNDS,
    }

    def make_parameters(self) -> None:
        clipped = {"none": (), "w": ("W_real",), "g": ("g",), "wg": ("W_real", "g")}
        clipped["wig"] = self.clipped_by_wig
        self._bounds = {parameter: _RANGES[parameter] for parameter in clipped[self.npu_clip]}
        self.W_real = self.new_parameter(self.in_features, self.out_features)
        super().make_parameters()
        self.g.requires_grad_(self.npu_gate == "learned")

    def reset_parameters(self) -> None:
        bound = INITIAL_BOUNDS[self.npu_Wr_init](self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W_real, -bound, bound)
        super().reset_parameters()
        if self.npu_gate == "open":
            torch.nn.init.ones_(self.g)

    def polar(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return magnitude and phase of the gated input; a closed gate passes 1 = (1, 0)."""
        gate = self.gate().unsqueeze(-2)
        magnitude = gate * (x.abs() + EPSILON) + (1 - gate)
        return magnitude, gate * sign_phase(x)

    def weight_penalty(self) -> torch.Tensor:
        raise NotImplementedError

    def regualizer_terms(self):
        own = {"W-NPU": self.weight_penalty if self.regualizer_npu_w else None}
        return super().regualizer_terms() | own

    def parameter_bounds(self) -> dict[str, tuple[float, float]]:
        return self._bounds

    def exact_parameters(self):
        return super().exact_parameters() | {"W_real": self.W_real.round()}

    def observations(self) -> list[Observation]:
        shown = partial(weight_observations, text_always=self.text_always)
        return shown("W_real", lambda: self.W_real) + shown("gate", self.gate, ndim=1)


_WEIGHT_PENALTIES = {
    "W": functional.Regualizer("npu", "W", "linear"),
    "bias": functional.Regualizer("nac", "bias", "linear"),
}


class NPULayer(NPUBase):
    r"""Multiply, divide and raise to powers, with complex weights: the NPU of Heim et al. (2020,
    arXiv:2006.01681).

        y_o = exp(sum_i Wr_io log r_i - Wi_io k_i) * cos(sum_i Wr_io k_i + Wi_io log r_i)
        r_i = g'_i (|x_i| + eps) + 1 - g'_i,    k_i = g'_i pi [x_i < 0],    g' = clamp(g, 0, 1)

    with Wr = W_real, Wi = W_im and eps = 2^-23: the real part of prod_i x_i^(Wr + j Wi), each input
    switched by its gate. Shapes: W_real and W_im (*runs, in, out), g (*runs, in). An input of zero
    counts as positive. `npu_clip="wig"` clamps W_im as well, and adds sum |W_im| to the penalty
    `W-NPU`. Departs from the published code: an unknown `npu_Wr_init` or `npu_clip` is an error.
    """

    default_name = "npu"
    clipped_by_wig = ("W_real", "W_im", "g")

    def make_parameters(self) -> None:
        self.W_im = self.new_parameter(self.in_features, self.out_features)
        super().make_parameters()

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_im)
        super().reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        r, k = self.polar(x)
        # Two logarithms: the order in which gradients of r are summed is part of the figures.
        log_magnitude = r.log() @ self.W_real - k @ self.W_im
        phase = k @ self.W_real + r.log() @ self.W_im
        return log_magnitude.exp() * phase.cos()

    def weight_penalty(self) -> torch.Tensor:
        penalty = _WEIGHT_PENALTIES["W"](self.W_real)
        if self.npu_clip != "wig":
            return penalty
        return penalty + self.W_im.abs().sum(trailing(2))

    def exact_parameters(self):
        return super().exact_parameters() | {"W_im": self.W_im.round()}

    def observations(self) -> list[Observation]:
        return super().observations() + weight_observations("W_im", lambda: self.W_im)


class RealNPULayer(NPUBase):
    r"""Multiply, divide and raise to powers, with real weights: the RealNPU of Heim et al. (2020,
    arXiv:2006.01681).

        y_o = exp(sum_i W_io log r_i) * cos(sum_i W_io k_i)
        r_i = g'_i (|x_i| + eps) + 1 - g'_i,    k_i = g'_i pi [x_i < 0],    g' = clamp(g, 0, 1)

    with W = W_real and eps = 2^-23. Shapes: W_real (*runs, in, out), g (*runs, in).
    `realnpu_reg_type` is the form of the penalty `W-NPU`: W pulls the weights to -1 and 1, bias to
    -1, 0 and 1. `npu_clip="wig"` clips nothing, as in the published code. Departs from the
    published code: an unknown option value is an error.
    """

    default_name = "real_npu"
    follows_robustness_logging = True
    clipped_by_wig = ()
    option_defaults: ClassVar = {"realnpu_reg_type": "W"}
    option_choices: ClassVar = {"realnpu_reg_type": _WEIGHT_PENALTIES}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        r, k = self.polar(x)
        return (r.log() @ self.W_real).exp() * (k @ self.W_real).cos()

    def weight_penalty(self) -> torch.Tensor:
        return _WEIGHT_PENALTIES[self.realnpu_reg_type](self.W_real)


class ProductUnitLayer(WeightLayer):
    r"""Multiply inputs raised to learned powers: the product unit of Durbin & Rumelhart (1989,
    Neural Computation 1(1)).

        y_o = exp(sum_i W_oi log max(|x_i|, 1e-7)) * cos(sum_i W_oi pi [x_i < 0])

    the real part of prod_i x_i^W_oi. An input of zero counts as positive. start: W starts from
    U(-start, start). Departs from the paper: not known in how weights start and what becomes of an
    input of zero. Summing units behind it are layers of their own.
    """

    default_name = "product-unit"
    option_defaults: ClassVar = {"start": 0.5}

    def make_parameters(self) -> None:
        if not self.start >= 0:
            raise ValueError("start has to be at least 0")
        super().make_parameters()

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W, -self.start, self.start)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        magnitude = linear(x.abs().clamp(min=1e-7).log(), self.W).exp()
        return magnitude * torch.cos(linear(sign_phase(x), self.W))

    def exact_parameters(self):
        return {"W": self.W.round()}


@torch.no_grad()
def orthogonal_(W: torch.Tensor) -> None:
    """Initialise with orthonormal rows or columns; torch needs at least 32 bits to find them."""
    wide = torch.empty_like(W, dtype=torch.promote_types(W.dtype, torch.float32))
    W.copy_(torch.nn.init.orthogonal_(wide))


class OutGate(torch.nn.Module):
    """A gate on each output, by the weights of a linear map of the constant 1."""

    def __init__(self, out_features: int):
        super().__init__()
        self.fc = torch.nn.Linear(1, out_features)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        orthogonal_(self.fc.weight)
        torch.nn.init.zeros_(self.fc.bias)

    def forward(self) -> torch.Tensor:
        # Not `self.fc(1)`: weight and bias may lead with run dimensions.
        return torch.sigmoid(self.fc.weight.squeeze(-1) + self.fc.bias)


class Junction(torch.nn.Module):
    """Shares of every input among the outputs; the rows of J sum to 1."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.r = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.r.shape[-2] == self.r.shape[-1]:
            torch.nn.init.eye_(self.r)
        else:
            orthogonal_(self.r)

    def forward(self) -> torch.Tensor:
        return torch.softmax(self.r, dim=-1)


class MCFullyConnected(Layer):
    r"""Add inputs and conserve, up to a gate, their sum: the MCFC of Hoedt et al. (2021,
    arXiv:2101.05186), as an arithmetic module in Mistry et al. (2022, arXiv:2101.09530).

        y_o = c_o sum_i J_io x_i,    c = sigmoid(w + b),    J = softmax of r over outputs

    Shapes: junction.r (*runs, in, out), out_gate.fc.weight = w (*runs, out, 1), out_gate.fc.bias =
    b (*runs, out). Each input is shared out completely by J; the gate lets part of it go. With one
    output J is 1 whatever r is. The penalty `W` = -mean r^2 - mean w^2 - mean b^2 is negative: it
    rewards large parameters. Departs from the paper: the gate has no input. As in the published
    code, the constructor draws random numbers.
    """

    default_name = "MCFC"
    follows_robustness_logging = True

    def make_parameters(self) -> None:
        self.out_gate = OutGate(self.out_features)
        self.junction = Junction(self.in_features, self.out_features)

    def reset_parameters(self) -> None:
        self.out_gate.reset_parameters()
        self.junction.reset_parameters()

    def redistribute(self, x: torch.Tensor, J: torch.Tensor) -> torch.Tensor:
        return self.out_gate().unsqueeze(-2) * (x @ J)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.redistribute(x, self.junction())

    def regualizer_terms(self):
        return {"W": self._unsaturation}

    def _unsaturation(self) -> torch.Tensor:
        fc = self.out_gate.fc
        squares = mean_over(self.junction.r**2, 2), mean_over(fc.weight**2, 2)
        return -squares[0] - squares[1] - mean_over(fc.bias**2, 1)

    def observations(self) -> list[Observation]:
        shown = partial(weight_observations, histogram=False, text_always=self.text_always)
        junction = shown("mcfc_junction", lambda: self.junction().unsqueeze(-3), ndim=3)
        return junction + shown("mcfc_out_gate", self.out_gate, ndim=1)


class MCLSTMCell(Cell):
    r"""Map (x_t, (h, c)) to (h_t, c_t), which share what c and x_t hold: the MC-LSTM of Hoedt et
    al. (2021, arXiv:2101.05186).

        m = c R + sum_j x_j i_j,    h_t = o m,    c_t = m - h_t
        R = softmax of r over its rows,    i_j = softmax(W_j a + b_j),    o = sigmoid(V a + v)

    The last `auxiliary` inputs are a, which moves the gates, and the others are mass. Without any,
    a is 1, and -1 at the last step of `unroll`; i is then a softmax of a matrix. Shapes:
    junction.r = r (*runs, hidden, hidden), W (*runs, mass hidden, auxiliary). r starts as the
    identity, v at `out_bias`. The penalty `W` rewards large r, W, V and v, as in the MCFC.
    Departs from the paper: neither gate sees c, as in the published code for arithmetic.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        auxiliary: int = 0,
        out_bias: float = -3.0,
        name: str | None = None,
        writer: Any = None,
    ):
        super().__init__(input_size, hidden_size, name=name, writer=writer)
        self.auxiliary, self.mass, self.first_bias = auxiliary, input_size - auxiliary, out_bias
        self.junction = Junction(hidden_size, hidden_size)
        shares = self.mass * hidden_size
        if auxiliary:
            self.W = torch.nn.Parameter(torch.empty(shares, auxiliary))
            self.b = torch.nn.Parameter(torch.empty(shares))
        else:
            self.W = torch.nn.Parameter(torch.empty(self.mass, hidden_size))
        self.V = torch.nn.Parameter(torch.empty(hidden_size, auxiliary or 1))
        self.v = torch.nn.Parameter(torch.empty(hidden_size))

    def reset_parameters(self) -> None:
        self.junction.reset_parameters()
        for gate in (self.W, self.V):
            orthogonal_(gate)
        if self.auxiliary:
            torch.nn.init.zeros_(self.b)
        torch.nn.init.constant_(self.v, self.first_bias)

    def gates(self, x: torch.Tensor, sign: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mass that flows into each cell, and o, of rows; sign: a where x has none."""
        if not self.auxiliary:
            o = torch.sigmoid(self.V.squeeze(-1) * sign + self.v).unsqueeze(-2)
            return x @ torch.softmax(self.W, dim=-1), o
        mass, a = x.split((self.mass, self.auxiliary), -1)
        shares = linear(a, self.W, self.b).unflatten(-1, (self.mass, self.hidden_size)).softmax(-1)
        return (mass.unsqueeze(-1) * shares).sum(-2), torch.sigmoid(linear(a, self.V, self.v))

    def forward(self, x_t: torch.Tensor, state: Any) -> tuple[torch.Tensor, torch.Tensor]:
        inflow, o = self.gates(x_t)
        m = state[1] @ self.junction() + inflow
        return o * m, (1 - o) * m

    def unroll(self, x: torch.Tensor, state: Any) -> torch.Tensor:
        R, c, steps = self.junction(), state[1], x.shape[-2]
        if self.auxiliary:
            # Gates see inputs alone: those of all steps are one product.
            inflow, o = self.gates(x.flatten(-3, -2))
            every = (part.unflatten(-2, x.shape[-3:-1]).unbind(-2) for part in (inflow, o, 1 - o))
            gates = zip(*every, strict=True)
        else:
            signs = (-1.0 if step == steps - 1 else 1.0 for step in range(steps))
            pairs = (self.gates(x[..., k, :], sign) for k, sign in enumerate(signs))
            gates = ((inflow, o, 1 - o) for inflow, o in pairs)
        for inflow, of_step, kept in gates:
            m, o = c @ R + inflow, of_step
            c = kept * m
        return o * m

    def regualizer_terms(self):
        return {"W": self._unsaturation}

    def _unsaturation(self) -> torch.Tensor:
        squares = (mean_over(p**2, 2) for p in (self.junction.r, self.W, self.V))
        return -sum(squares, mean_over(self.v**2, 1))


class MulMCFC(Layer):
    r"""Multiply positive inputs (Mistry et al. 2022, arXiv:2101.09530); it is the base of the
    versions that treat signs.

        y_o = exp(bias_o + c_o sum_i J_io log x_i)

    with gate c and junction J of the MCFC. Shapes: bias (*runs, out), J (*runs, in, out). A
    negative input gives NaN, an input of zero gives zero. The inner MCFC logs in the namespace of
    this layer, not below it.
    """

    default_name = "MulMCFC"
    follows_robustness_logging = True

    def make_parameters(self) -> None:
        self.mcfc = MCFullyConnected(self.in_features, self.out_features)
        self.mcfc.namespace_is_sibling = True
        self.bias = self.new_parameter(self.out_features)

    def reset_parameters(self) -> None:
        self.mcfc.reset_parameters()
        torch.nn.init.zeros_(self.bias)

    def magnitude(self, x: torch.Tensor, J: torch.Tensor) -> torch.Tensor:
        """Return exp(MCFC(log x) + bias) for positive x, given J."""
        return torch.exp(self.mcfc.redistribute(x.log(), J) + self.bias.unsqueeze(-2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.magnitude(x, self.mcfc.junction())

    def logged(self, name: str, values: Callable[[], torch.Tensor]) -> list[Observation]:
        options = {"ndim": 1, "histogram": False, "text_always": self.text_always}
        return weight_observations(name, values, **options)

    def observations(self) -> list[Observation]:
        return self.logged("mulmcfc_bias", lambda: self.bias)


class MulMCFCSignINALU(MulMCFC):
    r"""Multiply signed inputs, with the sign by a product of mixed signs (Mistry et al. 2022,
    arXiv:2101.09530).

        y_o = exp(bias_o + c_o sum_i J_io log |x_i|) * prod_i (J_io sign(x_i) + 1 - J_io)

    with gate c and junction J of the MCFC. Shapes: bias (*runs, out), J (*runs, in, out).
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        J = self.mcfc.junction()
        return self.magnitude(x.abs(), J) * mnac(torch.sign(x), J.mT)


class MulMCFCSignRealNPU(GatedInputs, MulMCFC):
    r"""Multiply signed inputs, with the sign as the cosine of a gated phase (Mistry et al. 2022,
    arXiv:2101.09530).

        y_o = exp(bias_o + c_o sum_i J_io log |x_i|) * cos(sum_i J_io g'_i pi [x_i < 0])

    with g' = clamp(g, 0, 1), and gate c and junction J of the MCFC. Shapes: bias (*runs, out), J
    (*runs, in, out), g (*runs, in). As in the published code, g is not clamped after a step.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        J = self.mcfc.junction()
        phase = self.gate().unsqueeze(-2) * sign_phase(x)
        return self.magnitude(x.abs(), J) * torch.cos(phase @ J)

    def observations(self) -> list[Observation]:
        return super().observations() + self.logged("mulmcfcsignrealnpu_g_hat", self.gate)
