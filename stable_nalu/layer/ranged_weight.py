"""What NAU- and NMU-like layers share: a raw weight with penalties and a range."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer, RegualizerNAUZ, RegualizerNMUZ
from stable_nalu.functional.initialization import NMU_BOUND

from .base import Layer


class RangedWeightLayer(Layer):
    """A layer over one raw weight `W`, kept in `weight_range` by clamping or by a penalty.

    Penalties, on the raw W: `W` (to discrete values), `z` (inputs against weights) and `W-OOB`
    (out of bounds, only with `nac_oob="regualized"`).
    """

    follows_robustness_logging = False
    support: ClassVar[str] = "nac"
    """The discrete values: `nac` for -1, 0 and 1, `mnac` for 0 and 1."""
    weight_range = (-1.0, 1.0)

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        nac_oob: str = "regualized",
        regualizer_shape: str = "squared",
        regualizer_z: float = 0,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if nac_oob not in ("regualized", "clip"):
            raise ValueError(f"nac_oob {nac_oob!r} is not regualized or clip")
        self.nac_oob = nac_oob
        self.regualizer_shape = regualizer_shape
        self.regualizer_z = regualizer_z
        penalty_z = RegualizerNAUZ if self.support == "nac" else RegualizerNMUZ
        self._bias = Regualizer(self.support, "bias", regualizer_shape)
        self._oob = Regualizer(self.support, "oob", regualizer_shape, zero=nac_oob == "clip")
        self._z = penalty_z(zero=regualizer_z == 0)

    def weights(self) -> torch.Tensor:
        """Return the effective weight, clamped here if out of range is penalised, else by steps."""
        return self.W.clamp(*self.weight_range) if self.nac_oob == "regualized" else self.W

    def record_input(self, x: torch.Tensor) -> None:
        """Keep x for the `z` penalty; evaluation without randomness leaves no trace."""
        if self.allow_random:
            self._z.append_input(x)

    def regualizer_terms(self):
        terms = {"W": self._bias, "z": self._z, "W-OOB": self._oob}
        return {k: None if r.is_zero else (lambda r=r: r(self.W)) for k, r in terms.items()}

    def parameter_bounds(self):
        return {"W": self.weight_range} if self.nac_oob == "clip" else {}

    def after_step(self, loss: torch.Tensor) -> None:
        self._z.reset()

    def observations(self) -> list[Observation]:
        text_always = self.robustness_logging and self.follows_robustness_logging
        return weight_observations("W", self.weights, text_always=text_always)


class UnitWeightLayer(RangedWeightLayer):
    """A layer over a weight of the NMU: in [`mnac_epsilon`, 1], drawn uniformly around 0.5."""

    support = "mnac"
    weights_per_input: ClassVar[int] = 1

    def __init__(
        self, in_features: int, out_features: int, *, mnac_epsilon: float = 0, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.mnac_epsilon = mnac_epsilon
        self.weight_range = (float(mnac_epsilon), 1.0)
        self.W = torch.nn.Parameter(torch.empty(out_features, self.weights_per_input * in_features))

    def reset_parameters(self) -> None:
        nmu_init_(self.W)
        self._z.reset()


def nmu_init_(W: torch.Tensor) -> None:
    """Initialise as NMU: uniform around 0.5."""
    torch.nn.init.uniform_(W, 0.5 - NMU_BOUND, 0.5 + NMU_BOUND)
