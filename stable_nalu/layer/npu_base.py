"""What NPU and RealNPU share: the gated polar form of the input, penalties and clipping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.extended_torch_module import Term
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer
from stable_nalu.functional.initialization import nau_bound, xavier_bound
from stable_nalu.functional.log_space import sign_phase

from .base import Layer

# Keeps the logarithm finite; the published code adds the float32 value in float64 runs too.
EPSILON = 2.0**-23

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

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        npu_clip: str = "none",
        npu_Wr_init: str = "xavier-uniform",
        regualizer_npu_w: float = 0,
        regualizer_gate: float = 0,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        clipped = {"none": (), "w": ("W_real",), "g": ("g",), "wg": ("W_real", "g")}
        clipped["wig"] = self.clipped_by_wig
        if npu_clip not in clipped:
            raise ValueError(f"npu_clip {npu_clip!r} is not one of {', '.join(clipped)}")
        if npu_Wr_init not in INITIAL_BOUNDS:
            known = ", ".join(INITIAL_BOUNDS)
            raise ValueError(f"npu_Wr_init {npu_Wr_init!r} is not one of {known}")
        self.npu_clip = npu_clip
        self.npu_Wr_init = npu_Wr_init
        self.regualizer_npu_w = regualizer_npu_w
        self.regualizer_gate = regualizer_gate
        self._bounds = {parameter: _RANGES[parameter] for parameter in clipped[npu_clip]}
        self._gate_bias = Regualizer("mnac", "bias", "linear", zero=not regualizer_gate, ndim=1)

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
