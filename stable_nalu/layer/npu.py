"""Powers: NPU, the Neural Power Unit, RealNPU, with real weights, and the product unit of 1989."""

from collections.abc import Callable
from typing import ClassVar

import torch

from stable_nalu.abstract import Observation, Term, weight_observations
from stable_nalu.functional import Regualizer, linear, nau_bound, sign_phase, trailing, xavier_bound

from .base import EPSILON, Layer, WeightLayer

INITIAL_BOUNDS: dict[str, Callable[[int, int], float]] = {
    "xavier-uniform": xavier_bound,
    "xavier-uniform-constrained": nau_bound,
}
_RANGES = {"W_real": (-1.0, 1.0), "W_im": (-1.0, 1.0), "g": (0.0, 1.0)}


class NPUBase(Layer):
    """Powers of gated inputs; subclasses own `W_real (*runs, in, out)` and `g (*runs, in)`.

    `npu_clip` names the parameters clamped after every step: w (W_real), g, wg, or wig, which
    each subclass defines. A penalty is switched on by a value other than zero.
    """

    follows_robustness_logging = False
    clipped_by_wig: ClassVar[tuple[str, ...]]
    option_defaults: ClassVar = {
        "npu_clip": "none",
        "npu_Wr_init": "xavier-uniform",
        "regualizer_npu_w": 0.0,
        "regualizer_gate": 0.0,
    }
    option_choices: ClassVar = {
        "npu_clip": ("none", "w", "g", "wg", "wig"),
        "npu_Wr_init": INITIAL_BOUNDS,
    }

    def make_parameters(self) -> None:
        clipped = {"none": (), "w": ("W_real",), "g": ("g",), "wg": ("W_real", "g")}
        clipped["wig"] = self.clipped_by_wig
        self._bounds = {parameter: _RANGES[parameter] for parameter in clipped[self.npu_clip]}
        off = not self.regualizer_gate
        self._gate_bias = Regualizer("mnac", "bias", "linear", zero=off, ndim=1)
        self.W_real = self.new_parameter(self.in_features, self.out_features)
        self.g = self.new_parameter(self.in_features)

    def reset_parameters(self) -> None:
        bound = INITIAL_BOUNDS[self.npu_Wr_init](self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W_real, -bound, bound)
        torch.nn.init.constant_(self.g, 0.5)

    def gate(self) -> torch.Tensor:
        """Return the effective gate: `(*runs, in)`."""
        return self.g.clamp(0.0, 1.0)

    def polar(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return magnitude and phase of the gated input; a closed gate passes 1 = (1, 0)."""
        gate = self.gate().unsqueeze(-2)
        magnitude = gate * (x.abs() + EPSILON) + (1 - gate)
        return magnitude, gate * sign_phase(x)

    def weight_penalty(self) -> torch.Tensor:
        """Return the penalty `W-NPU`, of shape `runs`."""
        raise NotImplementedError

    def regualizer_terms(self) -> dict[str, Term | None]:
        return {
            "g-NPU": None if self._gate_bias.is_zero else lambda: self._gate_bias(self.g),
            "W-NPU": self.weight_penalty if self.regualizer_npu_w else None,
        }

    def parameter_bounds(self) -> dict[str, tuple[float, float]]:
        return self._bounds

    def observations(self) -> list[Observation]:
        text_always = self.robustness_logging and self.follows_robustness_logging
        observed = weight_observations("W_real", lambda: self.W_real, text_always=text_always)
        return observed + weight_observations("gate", self.gate, ndim=1, text_always=text_always)


_weight_penalty = Regualizer("npu", "W", "linear")


class NPULayer(NPUBase):
    r"""Multiply, divide and raise to powers, with complex weights: the NPU of Heim et al. (2020,
    arXiv:2006.01681).

        y_o = exp(sum_i Wr_io log r_i - Wi_io k_i) * cos(sum_i Wr_io k_i + Wi_io log r_i)
        r_i = g'_i (|x_i| + eps) + 1 - g'_i,    k_i = g'_i pi [x_i < 0],    g' = clamp(g, 0, 1)

    with Wr = W_real, Wi = W_im and eps = 2^-23: the real part of prod_i x_i^(Wr + j Wi), each input
    switched by its gate.

    Shapes: x (*runs, batch, in), W_real and W_im (*runs, in, out), g (*runs, in),
    y (*runs, batch, out). An input of zero counts as positive.

    `npu_clip="wig"` clamps W_im as well, and adds sum |W_im| to the penalty `W-NPU`.

    Departs from the paper: no. Departs from the published code: an unknown `npu_Wr_init` or
    `npu_clip` is an error.
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
        penalty = _weight_penalty(self.W_real)
        if self.npu_clip != "wig":
            return penalty
        return penalty + self.W_im.abs().sum(trailing(2))

    def observations(self) -> list[Observation]:
        return super().observations() + weight_observations("W_im", lambda: self.W_im)


_WEIGHT_PENALTIES = {
    "W": Regualizer("npu", "W", "linear"),
    "bias": Regualizer("nac", "bias", "linear"),
}


class RealNPULayer(NPUBase):
    r"""Multiply, divide and raise to powers, with real weights: the RealNPU of Heim et al. (2020,
    arXiv:2006.01681).

        y_o = exp(sum_i W_io log r_i) * cos(sum_i W_io k_i)
        r_i = g'_i (|x_i| + eps) + 1 - g'_i,    k_i = g'_i pi [x_i < 0],    g' = clamp(g, 0, 1)

    with W = W_real and eps = 2^-23.

    Shapes: x (*runs, batch, in), W_real (*runs, in, out), g (*runs, in), y (*runs, batch, out).

    `realnpu_reg_type` is the form of the penalty `W-NPU`: W pulls the weights to -1 and 1, bias to
    -1, 0 and 1. `npu_clip="wig"` clips nothing, as in the published code.

    Departs from the paper: no. Departs from the published code: an unknown option value is an
    error.
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


SMALLEST_INPUT = 1e-7


class ProductUnitLayer(WeightLayer):
    r"""Multiply inputs raised to learned powers: the product unit of Durbin & Rumelhart (1989,
    Neural Computation 1(1)).

        y_o = exp(sum_i W_oi log max(|x_i|, 1e-7)) * cos(sum_i W_oi pi [x_i < 0])

    the real part of prod_i x_i^W_oi. An input of zero counts as positive.

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    start: W starts from U(-start, start).

    Departs from the paper: not known in how weights start and what becomes of an input of zero.
    Summing units behind it are layers of their own.
    """

    default_name = "product-unit"
    option_defaults: ClassVar = {"start": 0.5}

    def make_parameters(self) -> None:
        if not self.start >= 0:
            raise ValueError("start has to be at least 0")
        self.W = self.new_parameter()

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W, -self.start, self.start)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        magnitude = linear(x.abs().clamp(min=SMALLEST_INPUT).log(), self.W).exp()
        return magnitude * torch.cos(linear(sign_phase(x), self.W))
