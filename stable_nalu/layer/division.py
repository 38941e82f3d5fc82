"""NRU, the Neural Reciprocal Unit, and NMRU, the Neural Multiplicative Reciprocal Unit."""

from typing import ClassVar

import torch
from torch.overrides import has_torch_function_variadic

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import Regualizer, mnac, sign_phase

from .base import EPSILON
from .nau_nmu import NMUBase, RangedWeightLayer, nau_init_

DIV_MODES = ("div", "div-sepSign")


class ReciprocalNMULayer(RangedWeightLayer):
    r"""Multiply and divide inputs with weights in {-1, 0, 1}: the NRU of Mistry et al. (2022,
    arXiv:2110.05177).

        div           y_o = prod_i (A_oi sign(x_i) |x_i|^W_oi + 1 - A_oi)
        div-sepSign   y_o = prod_i (A_oi |x_i|^W_oi + 1 - A_oi) * prod_i sign(x_i)^round(W_oi)

    with W in [-1, 1]; A = tanh(1000 W)^2 in training and |W| in evaluation.

    Shapes: x (*runs, batch, in), W (*runs, out, in), trash_cell (*runs, 1), y (*runs, batch, out).

    `trash_cell` adds a trainable scalar to the output, in training only. An input of exactly zero
    with a negative weight gives NaN (div) or infinity (div-sepSign), and W = 0 has no gradient.

    Departs from the paper: no. Departs from the published code: no.
    """

    default_name = "nru"
    option_defaults: ClassVar = {
        "mnac_epsilon": 0.0,
        "beta_nau": False,
        "nru_div_mode": "div",
        "trash_cell": False,
    }
    option_choices: ClassVar = {"nru_div_mode": DIV_MODES}

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


_BYTES_AT_ONCE = 8


class NMRUBase(NMUBase):
    """A product over inputs and their reciprocals; subclasses say what becomes of the signs."""

    default_name = "nmru"
    weights_per_input = 2

    def with_reciprocal(self, x: torch.Tensor) -> torch.Tensor:
        """Return [x, 1 / x]: `(*runs, batch, in)` -> `(*runs, batch, 2 in)`."""
        return _side_by_side(x, 1 / (x + EPSILON if self.training else x))


class ConcatReciprocalNMULayer(NMRUBase):
    r"""Multiply and divide with weights in {0, 1}: the NMRU of Mistry et al. (2022,
    arXiv:2110.05177), in its version without sign retrieval.

        y_o = prod_j (W_oj z_j + 1 - W_oj),    z = [x, 1 / (x + eps)],    W_oj in [0, 1]

    with eps = 2^-23 in training and 0 in evaluation. The first half of the weights multiplies, the
    second half divides. `nmu_noise` multiplies z in training by n ~ U(1, 5), one value per
    element, and divides the output by prod_j (W_oj n_j + 1 - W_oj).

    Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in),
    y (*runs, batch, out).

    In evaluation, an input of exactly zero has an infinite reciprocal; with weight zero the output
    is NaN.

    Departs from the paper: no. Departs from the published code: no.
    """

    option_defaults: ClassVar = {"mnac_normalized": False}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(self.with_reciprocal(x))


def _side_by_side(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return [x, y] along the last dimension."""
    recorded = x.requires_grad or has_torch_function_variadic(x, y)
    if recorded or not x.is_contiguous() or x.shape[-1] * x.itemsize != _BYTES_AT_ONCE:
        return torch.cat((x, y), dim=-1)
    # Torch copies short rows number by number: two seen as one take half as long.
    return torch.cat((x.view(torch.float64), y.view(torch.float64)), dim=-1).view(x.dtype)


class SignNMRUBase(NMRUBase):
    """Magnitude and sign of the product of `z`, apart."""

    default_name = "nmru-sign"

    def signed_product(self, z: torch.Tensor) -> torch.Tensor:
        """Map z `(*runs, batch, 2 in)` to `(*runs, batch, out)`."""
        # Magnitude first: the order in which gradients of W are summed is part of the figures.
        magnitude = self.product(z.abs())
        return magnitude * torch.cos(sign_phase(z) @ self.W.mT)


class ConcatReciprocalNMUSignRetrievalLayer(SignNMRUBase):
    r"""Multiply and divide signed inputs with weights in {0, 1}: the NMRU of Mistry et al. (2022,
    arXiv:2110.05177).

        y_o = prod_j (W_oj |z_j| + 1 - W_oj) * cos(sum_j W_oj pi [z_j < 0]),  z = [x, 1 / (x + eps)]

    with W in [0, 1], and eps = 2^-23 in training and 0 in evaluation. The sign takes the raw W,
    even where the magnitude takes a clamped one. `nmu_noise` multiplies |z| in training by
    n ~ U(noise_range), one value per element, and undoes it as the NMRU without sign retrieval.

    Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in),
    y (*runs, batch, out).

    Departs from the paper: no. Departs from the published code: `mnac_normalized`, which has no
    effect there, is not an option.
    """

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


_GATE_RANGE = (0.0, 1.0)


class ConcatReciprocalNMUGatedSignRetrievalLayer(SignNMRUBase):
    r"""Multiply and divide gated, signed inputs with weights in {0, 1}: the gated NMRU of Mistry et
    al. (2022, arXiv:2110.05177).

        y_o = prod_j (W_oj |z_j| + 1 - W_oj) * cos(sum_j W_oj pi [z_j < 0])
        z_j = g_j [x, 1 / (x + eps)]_j

    with W and g in [0, 1], and eps = 2^-23 in training and 0 in evaluation. The gate scales its
    input before sign and magnitude are taken. It is not clamped here, and a closed gate makes z
    zero, not one. `nmu_noise` multiplies |z| in training by n ~ U(1, 5) and undoes it as the NMRU.

    Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in), g (*runs, 2 in),
    y (*runs, batch, out).

    Departs from the paper: no. Departs from the published code: `mnac_normalized`, which has no
    effect there, is not an option.
    """

    default_name = "gated-nmru-sign"
    option_defaults: ClassVar = {"regualizer_gate": 0.0}

    def make_parameters(self) -> None:
        super().make_parameters()
        off = not self.regualizer_gate
        self._gate_bias = Regualizer("mnac", "bias", "linear", zero=off, ndim=1)
        self.g = self.new_parameter(2 * self.in_features)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.constant_(self.g, 0.5)

    def gate(self) -> torch.Tensor:
        """Return the effective gate: `(*runs, 2 in)`."""
        return self.g

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.signed_product(self.with_reciprocal(x) * self.gate().unsqueeze(-2))

    def regualizer_terms(self):
        gate_term = None if self._gate_bias.is_zero else lambda: self._gate_bias(self.g)
        return super().regualizer_terms() | {"g-NPU": gate_term}

    def parameter_bounds(self):
        return super().parameter_bounds() | ({"g": _GATE_RANGE} if self.nac_oob == "clip" else {})

    def observations(self) -> list[Observation]:
        return super().observations() + weight_observations("gate", self.gate, ndim=1)
