"""Trials of published code that leave something out of NAC, NAU and NMU, or put it another way."""

from typing import ClassVar

import torch

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import MNAC_BOUND, Regualizer, linear, mean_over, mnac, xavier_bound

from .base import Layer, WeightLayer
from .nac import NACLayer
from .nau_nmu import NAUBase, UnitWeightLayer, nau_init_, normalized_mnac


class LinearNACLayer(WeightLayer):
    r"""Map inputs linearly, without bias, range or penalty: the unconstrained baseline of the NAC
    (Madsen & Johansen 2020, published code).

        y_o = sum_i W_oi x_i

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: no.
    """

    def make_parameters(self) -> None:
        self.W = self.new_parameter()

    def reset_parameters(self) -> None:
        bound = xavier_bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.W.mT

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights, text_always=True, sparsity=False)


class RegualizedLinearNACLayer(LinearNACLayer):
    r"""Map inputs linearly, with weights pulled to {-1, 0, 1} by the NAU's penalty `W` alone: an
    ablation of Madsen & Johansen (2020, published code).

        y_o = sum_i W_oi x_i

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
    be built (a missing import); this is what it was meant to be. W is never clamped.
    """

    option_defaults: ClassVar = {"regualizer_shape": "squared"}

    def make_parameters(self) -> None:
        super().make_parameters()
        self._bias = Regualizer("nac", "bias", self.regualizer_shape)

    def regualizer_terms(self):
        return {"W": None if self._bias.is_zero else lambda: self._bias(self.W)}


class RegualizedLinearMNACLayer(WeightLayer):
    r"""Multiply inputs with unbounded weights and the NMU's penalty `W`: an ablation of Madsen &
    Johansen (2020, published code).

        y_o = prod_i (W_oi x_i + 1 - W_oi)

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    `mnac_normalized` takes the product of x / c and scales it back, c = std(x).

    Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
    be built (a missing import); this is what it was meant to be. W is never clamped.
    """

    option_defaults: ClassVar = {"regualizer_shape": "squared", "mnac_normalized": False}

    def make_parameters(self) -> None:
        self.evaluates_rows_independently = not self.mnac_normalized
        self._bias = Regualizer("mnac", "bias", self.regualizer_shape)
        self.W = self.new_parameter()

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W, 0.5 - MNAC_BOUND, 0.5 + MNAC_BOUND)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return normalized_mnac(x, self.W) if self.mnac_normalized else mnac(x, self.W)

    def regualizer_terms(self):
        return {"W": None if self._bias.is_zero else lambda: self._bias(self.W)}


_MODE = "no-idendity"


class SillyReRegualizedLinearMNACLayer(UnitWeightLayer):
    r"""Multiply all inputs, scaled by their weights: an ablation of the NMU in which an unused
    input (weight 0) makes the product zero (Madsen & Johansen 2020, published code).

        y_o = prod_i W'_oi x_i

    W' is the NMU's: clamp(W, mnac_epsilon, 1) with `nac_oob="regualized"`, else the raw W.

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    Two more keys, SillyReRegualizedLinearNAC and -NALU, only name a layer type: a network with
    `nac_mul="mnac"` replaces the last three letters by "MNAC", and so finds this layer.

    Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
    be built (a missing import); this is what it was meant to be.
    """

    option_defaults: ClassVar = {"mnac_normalized": False}
    # Unlike the NMU it has no penalty z.
    regualizer_z = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        product = normalized_mnac if self.mnac_normalized else mnac
        return product(x, self.weights(), _MODE)

    def regualizer_terms(self):
        return {key: term for key, term in super().regualizer_terms().items() if key != "z"}


class IndependentNACLayer(NACLayer):
    r"""Add and subtract as the NAC does, with an altered backward pass (Madsen & Johansen 2020,
    published code).

        y_o = sum_i W_oi x_i,    W = tanh(W_hat) * sigmoid(M_hat)

        dW / dW_hat := 1 - tanh(W_hat)^2,    dW / dM_hat := sigmoid'(M_hat)

    Shapes: x (*runs, batch, in), W_hat, M_hat (*runs, out, in), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: the penalty `z`
    works as the NAC's; there, asking for it is an error because inputs are never recorded.
    """

    nac_weight = "independent"


class MultiWeightNAULayer(NAUBase):
    r"""Add and subtract with one of K weights, which the iteration decides (Mistry et al. 2022,
    published code).

        y_o = sum_i clamp(W_k,oi, -1, 1) x_i,    k = iteration mod K

    Shapes: x (*runs, batch, in), W_0 ... W_{K-1} (*runs, out, in), y (*runs, batch, out).

    `W_set_count` is K. All penalties and the range are those of the active weight; the key `W-set`
    holds the spread of all of them, mean (W_k - mean_k W_k)^2, which no script adds to its loss.
    Weights that are not active get no gradient.

    Departs from the paper: it is not in the paper. Departs from the published code: no.
    """

    option_defaults: ClassVar = {"W_set_count": 5}

    def make_parameters(self) -> None:
        super().make_parameters()
        for k in range(self.W_set_count):
            self.register_parameter(f"W_{k}", self.new_parameter())

    def reset_parameters(self) -> None:
        for W in self.weight_set():
            nau_init_(W, beta_nau=False)
        self._z.reset()

    @property
    def active_name(self) -> str:
        """Return the name of the weight in use at this iteration."""
        return f"W_{self.iteration % self.W_set_count}"

    @property
    def W(self) -> torch.Tensor:
        """Return the weight in use at this iteration."""
        return getattr(self, self.active_name)

    def weight_set(self) -> list[torch.Tensor]:
        """Return all K weights."""
        return [getattr(self, f"W_{k}") for k in range(self.W_set_count)]

    def spread(self) -> torch.Tensor:
        """Return the mean squared distance of the K weights from their mean, shape `runs`."""
        stacked = torch.stack(self.weight_set(), dim=-3)
        return mean_over((stacked - stacked.mean(-3, keepdim=True)) ** 2, 3)

    def regualizer_terms(self):
        return super().regualizer_terms() | {"W-set": self.spread}

    def parameter_bounds(self):
        return {self.active_name: self.weight_range} if self.nac_oob == "clip" else {}

    def observations(self) -> list[Observation]:
        # The raw weight is logged here, unlike the clamped one of the NAU.
        return weight_observations("W", lambda: self.W)


class RowNorm(torch.nn.BatchNorm1d):
    """torch's, for the rows of x `(*runs, rows, features)`."""

    momentum: float
    running_mean: torch.Tensor
    running_var: torch.Tensor
    num_batches_tracked: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # pyright: ignore
        """Return x normalised by its own statistics in training, else by the running ones."""
        if self.training:
            mean, variance = x.mean(-2), x.var(-2, correction=0)
            rows = x.detach()
            self.running_mean.lerp_(rows.mean(-2), self.momentum)
            self.running_var.lerp_(rows.var(-2), self.momentum)
            self.num_batches_tracked += 1
        else:
            mean, variance = self.running_mean, self.running_var
        normal = (x - mean.unsqueeze(-2)) / torch.sqrt(variance + self.eps).unsqueeze(-2)
        return normal * self.weight.unsqueeze(-2) + self.bias.unsqueeze(-2)


class SelectionBase(Layer):
    """Addition of inputs that `mask` selects: softly in training, else rounded to {0, 1}."""

    def make_parameters(self) -> None:
        # Holds parameters and draws them; its own forward pass knows no run dimensions.
        self.l1 = torch.nn.Linear(self.out_features, self.out_features)
        self.W_logits = self.new_parameter(self.in_features, self.out_features)

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_logits, 0.25, 0.75)

    def hidden(self) -> torch.Tensor:
        """Return what the mask is made of: `(*runs, in, out)`."""
        return linear(self.W_logits, self.l1.weight, self.l1.bias)

    def mask(self) -> torch.Tensor:
        """Return the soft mask."""
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = self.mask()
        return x @ (mask if self.training else mask.round())

    def regualizer_terms(self):
        return {"z": None}


class SigmoidNAULayer(SelectionBase):
    r"""Add those inputs that a batch-normalised sigmoid mask selects (Mistry et al. 2022, published
    code).

        y_o = sum_i x_i mask_io,    mask = sigmoid(bn(W_logits l1.weight^T + l1.bias))

    `bn` normalises over the rows (inputs) of the mask: with their own mean and variance in
    training, with running ones in evaluation, where the mask is also rounded to {0, 1}.
    Shapes: x (*runs, batch, in), W_logits (*runs, in, out), l1.weight (*runs, out, out),
    l1.bias and all of bn (*runs, out), y (*runs, batch, out).

    The constructor draws l1 (it belongs to no later initialisation); `reset_parameters` draws
    W_logits.

    Departs from the paper: it is not in the paper. Departs from the published code: no. Its `z`
    penalty, taken of constant ones there, is always zero.
    """

    # In training mode every pass moves the running statistics, however few rows it has.
    evaluates_rows_independently = False

    def make_parameters(self) -> None:
        if self.in_features < 2:
            raise ValueError("SigmoidNAU normalises over its inputs and needs at least 2")
        self.bn = RowNorm(self.out_features)
        super().make_parameters()

    def mask(self) -> torch.Tensor:
        """Return the soft mask; in training this moves running statistics, as batch norm does."""
        return torch.sigmoid(self.bn(self.hidden()))


class ScaledSigmoidNAULayer(SelectionBase):
    r"""Add those inputs that a folded sigmoid mask selects (Mistry et al. 2022, published code).

        y_o = sum_i x_i mask_io,    mask = 2 sigmoid(-|W_logits l1.weight^T + l1.bias| / 2)

    In evaluation the mask is rounded to {0, 1}.
    Shapes: x (*runs, batch, in), W_logits (*runs, in, out), l1.weight (*runs, out, out),
    l1.bias (*runs, out), y (*runs, batch, out).

    The constructor draws l1 (it belongs to no later initialisation); `reset_parameters` draws
    W_logits.

    Departs from the paper: it is not in the paper. Departs from the published code: no. Its `z`
    penalty, taken of constant ones there, is always zero.
    """

    def mask(self) -> torch.Tensor:
        """Return the soft mask."""
        return 2 * torch.sigmoid(-0.5 * self.hidden().abs())


SigmoidNAU, ScaledSigmoidNAU = SigmoidNAULayer, ScaledSigmoidNAULayer
