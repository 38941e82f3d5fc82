"""NAU, the Neural Addition Unit, PosNAU, NMU, the Neural Multiplication Unit, and sNMU.

They share a weight in a range; sNMU is the stochastic version of the NMU.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch

from stable_nalu.abstract import Bound, Observation, weight_observations
from stable_nalu.functional import (
    NMU_BOUND,
    Regualizer,
    RegualizerNAUZ,
    RegualizerNMUZ,
    linear,
    mnac,
    nau_bound,
    per_run,
    trailing,
)

from .base import WeightLayer


class RangedWeightLayer(WeightLayer):
    """A layer over one raw weight `W`, kept in `weight_range` by clamping or by a penalty.

    Penalties, on the raw W: `W` (to discrete values), `z` (inputs against weights) and `W-OOB`
    (out of bounds, only with `nac_oob="regualized"`).
    """

    follows_robustness_logging = False
    support: ClassVar[str] = "nac"
    """The discrete values: `nac` for -1, 0 and 1, `mnac` for 0 and 1."""
    weight_range = (-1.0, 1.0)
    option_defaults: ClassVar = {
        "nac_oob": "regualized",
        "regualizer_shape": "squared",
        "regualizer_z": 0.0,
    }
    option_choices: ClassVar = {"nac_oob": ("regualized", "clip")}

    def make_parameters(self) -> None:
        penalty_z = RegualizerNAUZ if self.support == "nac" else RegualizerNMUZ
        shape, clips = self.regualizer_shape, self.nac_oob == "clip"
        self._bias = Regualizer(self.support, "bias", shape)
        self._oob = Regualizer(self.support, "oob", shape, zero=clips)
        self._z = penalty_z(zero=self.regualizer_z == 0)

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
    mnac_normalized = False
    option_defaults: ClassVar = {"mnac_epsilon": 0.0}

    def make_parameters(self) -> None:
        super().make_parameters()
        self.weight_range = (float(self.mnac_epsilon), 1.0)
        self.evaluates_rows_independently = not self.mnac_normalized
        self.W = self.new_parameter(self.out_features, self.weights_per_input * self.in_features)

    def reset_parameters(self) -> None:
        nmu_init_(self.W)
        self._z.reset()


def nmu_init_(W: torch.Tensor) -> None:
    """Initialise as NMU: uniform around 0.5."""
    torch.nn.init.uniform_(W, 0.5 - NMU_BOUND, 0.5 + NMU_BOUND)


class NAUBase(RangedWeightLayer):
    """The sum over a clamped weight `W`, which subclasses own."""

    option_defaults: ClassVar = {"nau_noise": False}

    def weights(self) -> torch.Tensor:
        return self.W.clamp(*self.weight_range)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W = self.weights()
        if not (self.nau_noise and self.training):
            self.record_input(x)
            return linear(x, W)
        amplitude = 1 / x.detach().var(trailing(2))
        noise = self.random.uniform(x.shape[-2:], -amplitude, amplitude, like=x)
        x = x + noise
        self.record_input(x)
        return x @ W.mT - noise @ W.mT


class NAULayer(NAUBase):
    r"""Add and subtract inputs with weights in {-1, 0, 1}: the NAU of Madsen & Johansen (2020,
    arXiv:2001.05016).

        y_o = sum_i W'_oi x_i,    W' = clamp(W, -1, 1)

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    `nau_noise` adds U(-a, a), a = 1 / var(x), to the input in training and takes its image from the
    output again: value and gradients are those of the plain layer up to rounding. `beta_nau` draws
    the initial weights from 2 Beta(7, 7) - 1 instead of a uniform distribution.

    Departs from the paper: no. Departs from the published code: W' is clamped with `nac_oob` "clip"
    too, as there; the noise does not change the caller's tensor in place.
    """

    follows_robustness_logging = True
    option_defaults: ClassVar = {"beta_nau": False}

    def make_parameters(self) -> None:
        super().make_parameters()
        self.W = self.new_parameter()

    def reset_parameters(self) -> None:
        nau_init_(self.W, self.beta_nau)
        self._z.reset()


def nau_init_(W: torch.Tensor, beta_nau: bool) -> None:
    """Initialise as NAU: uniform within the bound, or 2 Beta(7, 7) - 1."""
    if beta_nau:
        seven = torch.tensor([7.0], dtype=W.dtype)
        sample = torch.distributions.Beta(seven, seven).sample(W.shape[-2:]).squeeze(-1)
        with torch.no_grad():
            W.copy_(2 * sample - 1)
    else:
        bound = nau_bound(W.shape[-1], W.shape[-2])
        torch.nn.init.uniform_(W, -bound, bound)


class PosNAULayer(UnitWeightLayer):
    r"""Add those inputs whose weight is 1 (Madsen & Johansen 2020, arXiv:2001.05016).

        y_o = sum_i W'_oi x_i,    W'_oi in [0, 1]

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    W' = clamp(W, mnac_epsilon, 1) with `nac_oob="regualized"`; with "clip" it is W itself, clamped
    after every step. Initial values and penalties are those of the NMU. In log space, after an NAU,
    it is the paper's NAC with NMU weights for multiplication.

    Departs from the published code: no.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.record_input(x)
        return linear(x, self.weights())


ReRegualizedLinearNACLayer = NAULayer
ReRegualizedLinearPosNACLayer = PosNAULayer


BATCH_NOISE = [1, 0]


class NMUBase(UnitWeightLayer):
    """The product over a weight `W`, and the noise that it undoes."""

    noise_range: Sequence[float] = (1, 5)
    option_defaults: ClassVar = {"nmu_noise": False}

    def product(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(*runs, batch, columns of W)` to the output, with the noise if asked for."""
        W = self.weights()
        if not (self.nmu_noise and self.training):
            self.record_input(x)
            return self._product(x, W)
        low, high = self.noise_bounds(x)
        noise = self.random.uniform(x.shape[-2:], low, high, like=x)
        x = x * noise
        self.record_input(x)
        return self._product(x, W) / mnac(noise, W)

    def _product(self, x, W):
        return normalized_mnac(x, W) if self.mnac_normalized else mnac(x, W)

    def noise_bounds(self, x: torch.Tensor) -> tuple[Bound, Bound]:
        """Return the lowest and highest noise for the input x."""
        low, high = self.noise_range
        return low, high


class NMULayer(NMUBase):
    r"""Multiply those inputs whose weight is 1: the NMU of Madsen & Johansen (2020,
    arXiv:2001.05016), and the sNMU of Mistry et al. (2022, arXiv:2211.05624).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W_oi in [0, 1]

        sNMU, in training:  y_o = prod_i (W_oi n_i x_i + 1 - W_oi) / prod_i (W_oi n_i + 1 - W_oi)

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    `nmu_noise` makes it the sNMU, which draws one n_i ~ U(noise_range) per element of x, or
    n_i ~ U(1, 1 + 1 / std(x)) for the `noise_range` [1, 0]. `mnac_normalized` multiplies x / c and
    scales the product back, c = std(x).

    Departs from the paper: no. Departs from the published code: the noise does not change the
    caller's tensor in place.
    """

    follows_robustness_logging = True
    option_defaults: ClassVar = {"mnac_normalized": False, "noise_range": (1, 5)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(x)

    def noise_bounds(self, x: torch.Tensor) -> tuple[Bound, Bound]:
        if self.noise_range != BATCH_NOISE:
            return super().noise_bounds(x)
        upper = 1 + 1 / x.detach().std(trailing(2))
        if self.trace is not None:
            self.trace["snmu_noise/upper"] = upper
        return 1.0, upper

    def observations(self) -> list[Observation]:
        observed = super().observations()
        if self.trace and "snmu_noise/upper" in self.trace:
            upper = self.trace["snmu_noise/upper"]
            observed.append(
                Observation("scalar", "snmu_noise/upper", lambda: upper, verbose_only=False)
            )
        return observed


def normalized_mnac(x: torch.Tensor, W: torch.Tensor, mode: str = "prod") -> torch.Tensor:
    """Return the product of x / c times c^(sum W), c the standard deviation of a run's x."""
    c = per_run(x.std(trailing(2)), 2)
    return mnac(x / c, W, mode) * c ** W.sum(-1).unsqueeze(-2)


ReRegualizedLinearMNACLayer = NMULayer
