"""What NAU- and NMU-like layers share: a raw weight with penalties and a range."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import Regualizer


class RangedWeightLayer(ExtendedTorchModule):
    """A layer over one raw weight `W`, kept in [`low`, `high`] by clamping or by a penalty.

    Penalties, on the raw W: `W` (to discrete values), `z` (inputs against weights) and `W-OOB`
    (out of bounds, only with `nac_oob="regualized"`).
    """

    follows_robustness_logging = False

    def __init__(
        self,
        default_name: str,
        name: str | None,
        in_features: int,
        out_features: int,
        *,
        support: str,
        weight_range: tuple[float, float],
        regualizer_z_class: type,
        nac_oob: str,
        regualizer_shape: str,
        regualizer_z: float,
    ):
        super().__init__(default_name, name)
        if nac_oob not in ("regualized", "clip"):
            raise ValueError(f"nac_oob {nac_oob!r} is not regualized or clip")
        self.in_features = in_features
        self.out_features = out_features
        self.nac_oob = nac_oob
        self.weight_range = weight_range
        self._bias = Regualizer(support, "bias", regualizer_shape)
        self._oob = Regualizer(support, "oob", regualizer_shape, zero=nac_oob == "clip")
        self._z = regualizer_z_class(zero=regualizer_z == 0)

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
