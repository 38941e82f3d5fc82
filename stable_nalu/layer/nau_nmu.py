"""Sums and products of inputs: NAC, NAU, NMU (sNMU with noise), NRU, NMRU, and their relatives."""

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch.overrides import has_torch_function_variadic

from stable_nalu import functional
from stable_nalu.abstract import Bound, Observation, weight_observations
from stable_nalu.functional import linear, mnac, per_run, sign_phase, trailing

from .base import EPSILON, SURE, GatedInputs, WeightLayer, sure


class NACLayer(WeightLayer):
    r"""Add and subtract inputs with weights in (-1, 1): the NAC of Trask et al. (2018,
    arXiv:1808.00508).

        y_o = sum_i W_oi x_i,    W = tanh(W_hat) * sigmoid(M_hat)

    Shapes: W_hat, M_hat (*runs, out, in). `nac_weight="golden-ratio"` uses the golden-ratio tanh
    and sigmoid (G-NALU). Departs from the paper: the initial range is the one that Madsen &
    Johansen (2020) derive.
    """

    positional = ("regualizer_z", "nac_weight")
    option_defaults: ClassVar = {"regualizer_z": 0.0, "nac_weight": "normal"}

    def make_parameters(self) -> None:
        self._z = functional.RegualizerNAUZ(zero=self.regualizer_z == 0)
        self.W_hat, self.M_hat = self.new_parameter(), self.new_parameter()

    def reset_parameters(self) -> None:
        bound = functional.nac_bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W_hat, -bound, bound)
        torch.nn.init.uniform_(self.M_hat, -bound, bound)

    def weights(self) -> torch.Tensor:
        return functional.nac_weight(self.W_hat, self.M_hat, self.nac_weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.allow_random:
            self._z.append_input(x)
        return linear(x, self.weights())

    def regualizer_terms(self):
        return {"z": self._z.of(self.weights)}

    def exact_parameters(self):
        whole = self.weights().round()
        return {"W_hat": whole * SURE, "M_hat": torch.full_like(whole, SURE)}

    def after_step(self, loss: torch.Tensor) -> None:
        self._z.reset()


class SigmoidWeightLayer(WeightLayer):
    """A layer over weights in (0, 1): W = sigmoid(W_hat)."""

    def make_parameters(self) -> None:
        self.W_hat = self.new_parameter()

    def weights(self) -> torch.Tensor:
        return torch.sigmoid(self.W_hat)

    def exact_parameters(self):
        return {"W_hat": sure(self.weights())}


class PosNACLayer(SigmoidWeightLayer):
    r"""Add inputs with weights in (0, 1) (Madsen & Johansen 2020, arXiv:2001.05016).

        y_o = sum_i W_oi x_i,    W = sigmoid(W_hat)

    Shapes: W_hat (*runs, out, in). In log space, after a NAC, it is the paper's NAC with sigmoid
    weights for multiplication.
    """

    def reset_parameters(self) -> None:
        deviation = math.sqrt(2.0 / (self.in_features + self.out_features))
        torch.nn.init.normal_(self.W_hat, 0.0, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.weights())


class MNACLayer(SigmoidWeightLayer):
    r"""Multiply inputs with weights in (0, 1) (Madsen & Johansen 2020, published code).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W = sigmoid(W_hat)

    Shapes: W_hat (*runs, out, in). The single-module network gives the name `MNAC` another meaning:
    the NAC in log space.
    """

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_hat, -functional.MNAC_BOUND, functional.MNAC_BOUND)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mnac(x, self.weights())


class RangedWeightLayer(WeightLayer):
    """A layer over one raw weight `W`, kept in `weight_range` by clamping or by a penalty.

    Penalties, on the raw W: `W` (to discrete values), `z` (inputs against weights) and `W-OOB`
    (out of bounds, only with `nac_oob="regualized"`).
    """

    support: ClassVar[str] = "nac"
    """The discrete values: `nac` for -1, 0 and 1, `mnac` for 0 and 1."""
    weight_range = (-1.0, 1.0)
    option_defaults: ClassVar = {
        **{"nac_oob": "regualized", "regualizer_shape": "squared", "regualizer_z": 0.0}
    }
    option_choices: ClassVar = {"nac_oob": ("regualized", "clip")}

    def make_parameters(self) -> None:
        kinds = {"nac": functional.RegualizerNAUZ, "mnac": functional.RegualizerNMUZ}
        shape, clips = self.regualizer_shape, self.nac_oob == "clip"
        self._bias = functional.Regualizer(self.support, "bias", shape)
        self._oob = functional.Regualizer(self.support, "oob", shape, zero=clips)
        self._z = kinds[self.support](zero=self.regualizer_z == 0)

    def weights(self) -> torch.Tensor:
        """Return the effective weight, clamped here if out of range is penalised, else by steps."""
        return self.W.clamp(*self.weight_range) if self.nac_oob == "regualized" else self.W

    def record_input(self, x: torch.Tensor) -> None:
        """Keep x for the `z` penalty; evaluation without randomness leaves no trace."""
        if self.allow_random:
            self._z.append_input(x)

    def regualizer_terms(self):
        terms = {"W": self._bias, "z": self._z, "W-OOB": self._oob}
        return {key: penalty.of(lambda: self.W) for key, penalty in terms.items()}

    def parameter_bounds(self):
        return {"W": self.weight_range} if self.nac_oob == "clip" else {}

    def exact_parameters(self):
        return super().exact_parameters() | {"W": self.W.round().clamp(*self.weight_range)}

    def after_step(self, loss: torch.Tensor) -> None:
        self._z.reset()


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

    `nau_noise` adds U(-a, a), a = 1 / var(x), to the input in training and takes its image from the
    output again: value and gradients equal the plain layer's up to rounding. `beta_nau` draws
    the initial weights from 2 Beta(7, 7) - 1 instead of a uniform distribution. Departs from the
    published code: W' is clamped with `nac_oob` "clip" too, as there; the noise does not change the
    caller's tensor in place.
    """

    follows_robustness_logging = True
    positional = ("nac_oob", "regualizer_shape", "regualizer_z")
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
        bound = functional.nau_bound(W.shape[-1], W.shape[-2])
        torch.nn.init.uniform_(W, -bound, bound)


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


def nmu_product(
    x: torch.Tensor, W: torch.Tensor, normalized: bool, mode: str = "prod"
) -> torch.Tensor:
    """Return the product of x; normalized: the one of x / c times c^(sum W), c = std(x)."""
    if not normalized:
        return mnac(x, W, mode)
    c = per_run(x.std(trailing(2)), 2)
    return mnac(x / c, W, mode) * c ** W.sum(-1).unsqueeze(-2)


def nmu_init_(W: torch.Tensor) -> None:
    torch.nn.init.uniform_(W, 0.5 - functional.NMU_BOUND, 0.5 + functional.NMU_BOUND)


class PosNAULayer(UnitWeightLayer):
    r"""Add those inputs whose weight is 1 (Madsen & Johansen 2020, arXiv:2001.05016).

        y_o = sum_i W'_oi x_i,    W'_oi in [0, 1]

    W' = clamp(W, mnac_epsilon, 1) with `nac_oob="regualized"`; with "clip" it is W itself, clamped
    after every step. Initial values and penalties are the same as the NMU's. In log space, after an
    NAU, it is the paper's NAC with NMU weights for multiplication.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.record_input(x)
        return linear(x, self.weights())


class NMUBase(UnitWeightLayer):
    """The product over a weight `W`, and the noise that it undoes."""

    noise_range: Sequence[float] = (1, 5)
    option_defaults: ClassVar = {"nmu_noise": False}

    def product(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(*runs, batch, columns of W)` to the output, with the noise if asked for."""
        W = self.weights()
        if not (self.nmu_noise and self.training):
            self.record_input(x)
            return nmu_product(x, W, self.mnac_normalized)
        low, high = self.noise_bounds(x)
        noise = self.random.uniform(x.shape[-2:], low, high, like=x)
        x = x * noise
        self.record_input(x)
        return nmu_product(x, W, self.mnac_normalized) / mnac(noise, W)

    def noise_bounds(self, x: torch.Tensor) -> tuple[Bound, Bound]:
        low, high = self.noise_range
        return low, high


class NMULayer(NMUBase):
    r"""Multiply those inputs whose weight is 1: the NMU of Madsen & Johansen (2020,
    arXiv:2001.05016), and the sNMU of Mistry et al. (2022, arXiv:2211.05624).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W_oi in [0, 1]

        sNMU, in training:  y_o = prod_i (W_oi n_i x_i + 1 - W_oi) / prod_i (W_oi n_i + 1 - W_oi)

    `nmu_noise` makes it the sNMU, which draws one n_i ~ U(noise_range) per element of x, or n_i ~
    U(1, 1 + 1 / std(x)) for the `noise_range` [1, 0]. `mnac_normalized` multiplies x / c and scales
    the product back, c = std(x). Departs from the published code: the noise does not change the
    caller's tensor in place.
    """

    follows_robustness_logging = True
    positional = (
        "nac_oob",
        "regualizer_shape",
        "mnac_epsilon",
        "mnac_normalized",
        "regualizer_z",
    )
    option_defaults: ClassVar = {"mnac_normalized": False, "noise_range": (1, 5)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(x)

    def noise_bounds(self, x: torch.Tensor) -> tuple[Bound, Bound]:
        if self.noise_range != [1, 0]:
            return super().noise_bounds(x)
        upper = 1 + 1 / x.detach().std(trailing(2))
        if self.trace is not None:
            self.trace["snmu_noise/upper"] = upper
        return 1.0, upper

    def observations(self) -> list[Observation]:
        traced = (self.trace or {}).items()
        observed = [Observation("scalar", n, lambda v=v: v, verbose_only=False) for n, v in traced]
        return super().observations() + observed


class ReciprocalNMULayer(RangedWeightLayer):
    r"""Multiply and divide inputs with weights in {-1, 0, 1}: the NRU of Mistry et al. (2022,
    arXiv:2110.05177).

        div           y_o = prod_i (A_oi sign(x_i) |x_i|^W_oi + 1 - A_oi)
        div-sepSign   y_o = prod_i (A_oi |x_i|^W_oi + 1 - A_oi) * prod_i sign(x_i)^round(W_oi)

    with W in [-1, 1]; A = tanh(1000 W)^2 in training and |W| in evaluation. Shapes: trash_cell
    (*runs, 1). `trash_cell` adds a trainable scalar to the output, in training only. An input of
    exactly zero with a negative weight gives NaN (div) or infinity (div-sepSign), and W = 0 has no
    gradient.
    """

    default_name = "nru"
    option_defaults: ClassVar = {
        **{"mnac_epsilon": 0.0, "beta_nau": False, "nru_div_mode": "div", "trash_cell": False}
    }
    option_choices: ClassVar = {"nru_div_mode": ("div", "div-sepSign")}

    def make_parameters(self) -> None:
        super().make_parameters()
        self.weight_range = (-1.0 + self.mnac_epsilon, 1.0)
        self.W = self.new_parameter()
        trash = self.new_parameter(1) if vars(self).pop("trash_cell") else None
        self.register_parameter("trash_cell", trash)

    def reset_parameters(self) -> None:
        nau_init_(self.W, self.beta_nau)
        if self.trash_cell is not None:
            torch.nn.init.zeros_(self.trash_cell)
        self._z.reset()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.record_input(x)
        y = mnac(x, self.weights(), self.nru_div_mode, is_training=self.training)
        if self.training and self.trash_cell is not None:
            return y + self.trash_cell.unsqueeze(-2)
        return y

    def exact_parameters(self):
        trash = self.trash_cell
        own = {} if trash is None else {"trash_cell": torch.zeros_like(trash)}
        return super().exact_parameters() | own


class NMRUBase(NMUBase):
    """A product over inputs and their reciprocals; subclasses say what becomes of the signs."""

    default_name = "nmru"
    weights_per_input = 2

    def with_reciprocal(self, x: torch.Tensor) -> torch.Tensor:
        """Return [x, 1 / x]: `(*runs, batch, in)` -> `(*runs, batch, 2 in)`."""
        y = 1 / (x + EPSILON if self.training else x)
        recorded = x.requires_grad or has_torch_function_variadic(x, y)
        if recorded or not x.is_contiguous() or x.shape[-1] * x.itemsize != 8:
            return torch.cat((x, y), dim=-1)
        # Torch copies short rows number by number: two seen as one take half as long.
        return torch.cat((x.view(torch.float64), y.view(torch.float64)), dim=-1).view(x.dtype)

    def signed_product(self, z: torch.Tensor) -> torch.Tensor:
        # Magnitude first: the order in which gradients of W are summed is part of the figures.
        magnitude = self.product(z.abs())
        return magnitude * torch.cos(sign_phase(z) @ self.W.mT)


SignNMRUBase = NMRUBase
"""A public name of before."""


class ConcatReciprocalNMULayer(NMRUBase):
    r"""Multiply and divide with weights in {0, 1}: the NMRU of Mistry et al. (2022,
    arXiv:2110.05177), in its version without sign retrieval.

        y_o = prod_j (W_oj z_j + 1 - W_oj),    z = [x, 1 / (x + eps)],    W_oj in [0, 1]

    with eps = 2^-23 in training and 0 in evaluation. The first half of the weights multiplies, the
    second half divides. `nmu_noise` multiplies z in training by n ~ U(1, 5), one value per element,
    and divides the output by prod_j (W_oj n_j + 1 - W_oj). Shapes: z (*runs, batch, 2 in), W
    (*runs, out, 2 in). In evaluation, an input of exactly zero has an infinite reciprocal; with
    weight zero the output is NaN.
    """

    option_defaults: ClassVar = {"mnac_normalized": False}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(self.with_reciprocal(x))


class ConcatReciprocalNMUSignRetrievalLayer(NMRUBase):
    r"""Multiply and divide signed inputs with weights in {0, 1}: the NMRU of Mistry et al. (2022,
    arXiv:2110.05177).

        y_o = prod_j (W_oj |z_j| + 1 - W_oj) * cos(sum_j W_oj pi [z_j < 0]),  z = [x, 1 / (x + eps)]

    with W in [0, 1], and eps = 2^-23 in training and 0 in evaluation. The sign takes the raw W,
    even where the magnitude takes a clamped one. `nmu_noise` multiplies |z| in training by n ~
    U(noise_range), one value per element, and undoes it as the NMRU without sign retrieval. Shapes:
    z (*runs, batch, 2 in), W (*runs, out, 2 in). Departs from the published code:
    `mnac_normalized`, which has no effect there, is not an option.
    """

    default_name = "nmru-sign"
    follows_robustness_logging = True
    option_defaults: ClassVar = {"noise_range": (1, 5)}

    def make_parameters(self) -> None:
        super().make_parameters()
        low, high = self.noise_range
        if self.nmu_noise and low > high:
            raise ValueError(
                f"SignNMRU draws noise from U(low, high); noise_range {[low, high]} is empty "
                "([1, 0] has its special meaning for the NMU only)"
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.signed_product(self.with_reciprocal(x))


class ConcatReciprocalNMUGatedSignRetrievalLayer(GatedInputs, NMRUBase):
    r"""Multiply and divide gated, signed inputs with weights in {0, 1}: the gated NMRU of Mistry et
    al. (2022, arXiv:2110.05177).

        y_o = prod_j (W_oj |z_j| + 1 - W_oj) * cos(sum_j W_oj pi [z_j < 0])
        z_j = g_j [x, 1 / (x + eps)]_j

    with W and g in [0, 1], and eps = 2^-23 in training and 0 in evaluation. The gate scales its
    input before sign and magnitude are taken. It is not clamped here, and a closed gate makes z
    zero, not one. `nmu_noise` multiplies |z| in training by n ~ U(1, 5) and undoes it as the NMRU.
    Shapes: z (*runs, batch, 2 in), W (*runs, out, 2 in), g (*runs, 2 in). Departs from the
    published code: `mnac_normalized`, which has no effect there, is not an option.
    """

    default_name = "gated-nmru-sign"
    gates_per_input = 2

    def gate(self) -> torch.Tensor:
        return self.g

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.signed_product(self.with_reciprocal(x) * self.gate().unsqueeze(-2))

    def parameter_bounds(self):
        return super().parameter_bounds() | ({"g": (0.0, 1.0)} if self.nac_oob == "clip" else {})

    def observations(self) -> list[Observation]:
        return super().observations() + weight_observations("gate", self.gate, ndim=1)


ReRegualizedLinearNACLayer, ReRegualizedLinearPosNACLayer = NAULayer, PosNAULayer
ReRegualizedLinearMNACLayer = NMULayer
