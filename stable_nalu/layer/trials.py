"""Trials of published code that no figure and no paper shows, by Madsen & Johansen (2020) and
Mistry et al. (2022): NAC, NAU and NMU with something left out, put another way, or chosen.
"""

import math
from types import new_class
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import MNAC_BOUND, Regualizer, linear, mean_over, mnac, per_run
from stable_nalu.functional import xavier_bound as xavier

from . import nau_nmu
from .base import Layer, WeightLayer
from .nalu import AbstractNALULayer


class LinearNACLayer(WeightLayer):
    r"""Map inputs linearly: the unconstrained baseline of the NAC.

        y_o = sum_i W_oi x_i

    It has no bias, range or penalty.
    """

    log_options: ClassVar = {"text_always": True, "sparsity": False}

    def reset_parameters(self) -> None:
        bound = xavier(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.W.mT


class RegualizedLinearNACLayer(LinearNACLayer):
    r"""Map inputs linearly, with weights pulled to {-1, 0, 1} by the NAU's penalty `W` alone.

        y_o = sum_i W_oi x_i

    W is never clamped. The published code cannot be built (a missing import).
    """

    support: ClassVar[str] = "nac"
    option_defaults: ClassVar = {"regualizer_shape": "squared"}

    def make_parameters(self) -> None:
        super().make_parameters()
        self._bias = Regualizer(self.support, "bias", self.regualizer_shape)

    def regualizer_terms(self):
        return {"W": self._bias.of(self.weights)}

    def exact_parameters(self):
        return {"W": self.W.round()}


class RegualizedLinearMNACLayer(RegualizedLinearNACLayer):
    r"""Multiply inputs with unbounded weights and the NMU's penalty `W`.

        y_o = prod_i (W_oi x_i + 1 - W_oi)

    `mnac_normalized` takes the product of x / c and scales it back, c = std(x). W is never clamped.
    The published code cannot be built (a missing import).
    """

    support, log_options = "mnac", {}
    option_defaults: ClassVar = {"mnac_normalized": False}

    def make_parameters(self) -> None:
        super().make_parameters()
        self.evaluates_rows_independently = not self.mnac_normalized

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W, 0.5 - MNAC_BOUND, 0.5 + MNAC_BOUND)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nau_nmu.nmu_product(x, self.W, self.mnac_normalized)


class SillyReRegualizedLinearMNACLayer(nau_nmu.UnitWeightLayer):
    r"""Multiply all inputs, scaled by the NMU's weights, of which a zero makes the product zero.

        y_o = prod_i W'_oi x_i

    W' is clamp(W, mnac_epsilon, 1) with `nac_oob="regualized"`, else the raw W. Two more keys,
    SillyReRegualizedLinearNAC and -NALU, only name a layer type: a network with `nac_mul="mnac"`
    replaces the last three letters by "MNAC", and so finds this layer. The published code cannot be
    built (a missing import).
    """

    option_defaults: ClassVar = {"mnac_normalized": False}
    # Unlike the NMU it has no penalty z.
    regualizer_z = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nau_nmu.nmu_product(x, self.weights(), self.mnac_normalized, "no-idendity")

    def regualizer_terms(self):
        return {key: term for key, term in super().regualizer_terms().items() if key != "z"}


class IndependentNACLayer(nau_nmu.NACLayer):
    r"""Add and subtract as the NAC does, with an altered backward pass.

        y_o = sum_i W_oi x_i,    W = tanh(W_hat) * sigmoid(M_hat)

        dW / dW_hat := 1 - tanh(W_hat)^2,    dW / dM_hat := sigmoid'(M_hat)

    Departs from the published code: the penalty `z` works as the NAC's; there, asking for it is an
    error because inputs are never recorded.
    """

    nac_weight = "independent"


class MultiWeightNAULayer(nau_nmu.NAUBase):
    r"""Add and subtract with one of K weights, which the iteration decides.

        y_o = sum_i clamp(W_k,oi, -1, 1) x_i,    k = iteration mod K

    Shapes: W_0 ... W_{K-1} (*runs, out, in). `W_set_count` is K. All penalties and the range apply
    to the active weight, which is logged as it is. The key `W-set` holds the spread of all weights,
    mean (W_k - mean_k W_k)^2, which no script adds to its loss.
    """

    option_defaults: ClassVar = {"W_set_count": 5}

    def make_parameters(self) -> None:
        super().make_parameters()
        for k in range(self.W_set_count):
            self.register_parameter(f"W_{k}", self.new_parameter())

    def reset_parameters(self) -> None:
        for W in self.weight_set():
            nau_nmu.nau_init_(W, beta_nau=False)
        self._z.reset()

    @property
    def active_name(self) -> str:
        return f"W_{self.iteration % self.W_set_count}"

    @property
    def W(self) -> torch.Tensor:
        return getattr(self, self.active_name)

    def weight_set(self) -> list[torch.Tensor]:
        return [getattr(self, f"W_{k}") for k in range(self.W_set_count)]

    def spread(self) -> torch.Tensor:
        stacked = torch.stack(self.weight_set(), dim=-3)
        return mean_over((stacked - stacked.mean(-3, keepdim=True)) ** 2, 3)

    def regualizer_terms(self):
        return super().regualizer_terms() | {"W-set": self.spread}

    def parameter_bounds(self):
        return {self.active_name: self.weight_range} if self.nac_oob == "clip" else {}

    def exact_parameters(self):
        own = ((f"W_{k}", W) for k, W in enumerate(self.weight_set()))
        return {name: W.round().clamp(*self.weight_range) for name, W in own}

    def observations(self) -> list[Observation]:
        return weight_observations("W", lambda: self.W)


class RowNorm(torch.nn.BatchNorm1d):
    """torch's, for the rows of x `(*runs, rows, features)`."""

    momentum: float
    running_mean: torch.Tensor
    running_var: torch.Tensor
    num_batches_tracked: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # pyright: ignore
        """Return x normalised by its own statistics in training, else by the running ones."""
        mean, variance = self.running_mean, self.running_var
        if self.training:
            mean, variance = x.mean(-2), x.var(-2, correction=0)
            rows = x.detach()
            self.running_mean.lerp_(rows.mean(-2), self.momentum)
            self.running_var.lerp_(rows.var(-2), self.momentum)
            self.num_batches_tracked += 1
        normal = (x - mean.unsqueeze(-2)) / torch.sqrt(variance + self.eps).unsqueeze(-2)
        return normal * self.weight.unsqueeze(-2) + self.bias.unsqueeze(-2)


class LogitBase(Layer):
    """Addition of inputs that masks select by `W_logits`; the penalty `z` is zero."""

    def make_parameters(self) -> None:
        self.W_logits = self.new_parameter(self.in_features, self.out_features)

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_logits, 0.25, 0.75)

    def regualizer_terms(self):
        return {"z": None}


class SelectionBase(LogitBase):
    """Addition of inputs that `mask` selects: softly in training, else rounded to {0, 1}."""

    def make_parameters(self) -> None:
        # Holds parameters and draws them; its own forward pass knows no run dimensions.
        self.l1 = torch.nn.Linear(self.out_features, self.out_features)
        super().make_parameters()

    def hidden(self) -> torch.Tensor:
        return linear(self.W_logits, self.l1.weight, self.l1.bias)

    def mask(self) -> torch.Tensor:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = self.mask()
        return x @ (mask if self.training else mask.round())


class SigmoidNAULayer(SelectionBase):
    r"""Add those inputs that a batch-normalised sigmoid mask selects.

        y_o = sum_i x_i mask_io,    mask = sigmoid(bn(W_logits l1.weight^T + l1.bias))

    `bn` normalises over the rows (inputs) of the mask: with their own mean and variance in
    training, with running ones in evaluation, where the mask is also rounded to {0, 1}. Shapes:
    W_logits (*runs, in, out), l1.weight (*runs, out, out), l1.bias and all of bn (*runs, out). The
    constructor draws l1, `reset_parameters` W_logits. The `z` penalty, taken of constant ones in
    the published code, is zero.
    """

    # In training mode every pass moves the running statistics, however few rows it has.
    evaluates_rows_independently = False

    def make_parameters(self) -> None:
        if self.in_features < 2:
            raise ValueError("SigmoidNAU normalises over its inputs and needs at least 2")
        self.bn = RowNorm(self.out_features)
        super().make_parameters()

    def mask(self) -> torch.Tensor:
        return torch.sigmoid(self.bn(self.hidden()))


class ScaledSigmoidNAULayer(SelectionBase):
    r"""Add those inputs that a folded sigmoid mask selects.

        y_o = sum_i x_i mask_io,    mask = 2 sigmoid(-|W_logits l1.weight^T + l1.bias| / 2)

    In evaluation the mask is rounded to {0, 1}. Shapes, draws and `z` are as in the SigmoidNAU.
    """

    def mask(self) -> torch.Tensor:
        return 2 * torch.sigmoid(-0.5 * self.hidden().abs())


def expected_sign(probabilities: torch.Tensor) -> torch.Tensor:
    """Return the mean of the choice, p_+ - p_-: `(…, 3)` -> `(…)`."""
    return probabilities[..., 0] - probabilities[..., 1]


def chosen_sign(category: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the sign of a category index: 0, 1, 2 -> +1, -1, 0."""
    return (category == 0).to(dtype) - (category == 1).to(dtype)


class SoftmaxNACLayer(WeightLayer):
    r"""Add and subtract inputs with expected weights in (-1, 1).

        y_o = sum_i W_oi x_i,    W = p_+ - p_-,    (p_+, p_-, p_0) = softmax([W_hat, 0])

    Shapes: W_hat (*runs, out, in, 2).
    """

    published_state: ClassVar = {"target_weights": None}

    def make_parameters(self) -> None:
        self.W_hat = self.new_parameter(self.out_features, self.in_features, 2)
        # The logit of weight 0 is fixed, as a softmax has one degree of freedom less than logits.
        self.register_buffer("W_hat_k", torch.zeros(self.out_features, self.in_features, 1))

    def reset_parameters(self) -> None:
        # Xavier fans of a tensor (out, in, 2) count the last dimension on both sides.
        bound = xavier(2 * self.in_features, 2 * self.out_features, gain=math.sqrt(0.5))
        torch.nn.init.uniform_(self.W_hat, -bound, bound)

    def logits(self) -> torch.Tensor:
        """Return logits of the weights 1, -1 and 0: `(*runs, out, in, 3)`."""
        return torch.cat((self.W_hat, self.W_hat_k), dim=-1)

    def weights(self) -> torch.Tensor:
        return expected_sign(torch.softmax(self.logits(), dim=-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weights().mT


class HardSoftmaxNACLayer(SoftmaxNACLayer):
    r"""Add and subtract inputs with weights that every forward pass samples.

        y_o = sum_i W_oi x_i,    W_oi in {1, -1, 0} sampled from softmax([W_hat, 0])

    Its gradient is the expected weight's, p_+ - p_-. It samples in evaluation and under
    `no_random` too, as published. Shapes: W_hat (*runs, out, in, 2).
    """

    evaluates_rows_independently = False

    def make_parameters(self) -> None:
        super().make_parameters()
        sample = torch.zeros(self.out_features, self.in_features, dtype=torch.int64)
        self.register_buffer("sample", sample)

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the weights of the last forward pass."""
        p = torch.softmax(self.logits(), dim=-1)
        if not reuse:
            self.sample = self.random.multinomial(p.shape[-3:], p)
        W = expected_sign(p)
        # W - W is exactly zero, so that the value is the hard weight to the last bit.
        W = (W - W.detach()) + chosen_sign(self.sample, W.dtype)
        return x @ W.mT


class GumbelNACLayer(SoftmaxNACLayer):
    r"""Add and subtract with noisy weights in (-1, 1), by a Gumbel-softmax (Jang et al. 2017).

        y_o = sum_i W_oi x_i,    W = q_+ - q_-

        q = softmax((log p - log(-log U)) / tau),    p = softmax([W_hat, 0]),    U ~ U(1e-10, 1)

    Without randomness, q = p. `set_parameter("tau", v)` cools the noise down during training.
    Shapes: W_hat (*runs, out, in, 2), tau (*runs).
    """

    log_options: ClassVar = {"text_always": True, "sparsity": False}

    def make_parameters(self) -> None:
        super().make_parameters()
        self.tau = torch.nn.Parameter(torch.ones(()), requires_grad=False)
        self._gumbel: torch.Tensor | None = None

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_hat)

    def weights(self) -> torch.Tensor:
        """Return the expected weight, free of noise."""
        return expected_sign(torch.log_softmax(self.logits(), dim=-1).exp())

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the noise of the last forward pass."""
        if not self.allow_random:
            return x @ self.weights().mT
        log_p, gumbel = torch.log_softmax(self.logits(), dim=-1), self._gumbel
        if gumbel is None or not reuse:
            u = self.random.uniform(log_p.shape[-3:], 1e-10, 1, like=log_p)
            gumbel = self._gumbel = -torch.log(-torch.log(u))
        q = torch.softmax((log_p + gumbel) / per_run(self.tau, 3), dim=-1)
        return x @ expected_sign(q).mT


class GumbelMNACLayer(nau_nmu.SigmoidWeightLayer):
    r"""Multiply inputs with noisy weights in (0, 1).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W = sigmoid((W_hat + n) / tau)

        n = -log(1e-8 - log(U + 1e-8)),    U ~ U(0, 1)

    Without randomness, W = sigmoid(W_hat). `set_parameter("tau", v)` cools the noise down. Shapes:
    W_hat (*runs, out, in), tau (*runs).
    """

    log_options: ClassVar = {"text_always": True, "sparsity": False}

    def make_parameters(self) -> None:
        super().make_parameters()
        self.tau = torch.nn.Parameter(torch.ones(()), requires_grad=False)

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_hat)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.allow_random:
            return mnac(x, self.weights())
        u = self.random.uniform(self.W_hat.shape[-2:], 0, 1, like=self.W_hat)
        noise = -torch.log(1e-8 - torch.log(u + 1e-8))
        return mnac(x, torch.sigmoid((self.W_hat + noise) / per_run(self.tau, 2)))


class GradientBanditNACLayer(WeightLayer):
    r"""Add and subtract with weights learned from the loss alone, by gradient bandits (Sutton &
    Barto, Reinforcement Learning, section 2.8).

        y_o = sum_i W_oi x_i,    W_oi in {1, -1, 0} sampled from p = softmax(W_hat)

        after step t, with loss L:
            m <- beta m + (1 - beta) L
            W_hat <- W_hat + lr (m / (1 - beta^t) - L) (onehot(sample) - p)

    Without randomness, the most probable weight is used. Nothing is trained by gradients: `W_hat`
    is a buffer; `lr` and `running_mean_beta` can be changed with `set_parameter`. The first update
    is zero (up to rounding). Shapes: W_hat (*runs, out, in, 3), L, m, t, lr, beta (*runs). Departs
    from the published code: L is detached (the same numbers, without a growing graph).
    """

    published_state: ClassVar = {"target_weights": None}
    running_mean_iter: torch.Tensor

    def make_parameters(self) -> None:
        shape = self.out_features, self.in_features
        self.lr = torch.nn.Parameter(torch.full((), 1e-3), requires_grad=False)
        self.running_mean_beta = torch.nn.Parameter(torch.full((), 0.9), requires_grad=False)
        self.register_buffer("W_hat", torch.zeros(*shape, 3))
        self.register_buffer("running_mean_iter", torch.zeros((), dtype=torch.int64))
        self.register_buffer("running_mean_loss", torch.zeros(()))
        sample = torch.zeros(shape, dtype=torch.int64)
        self.register_buffer("sample", sample, persistent=False)

    def reset_parameters(self) -> None:
        for state in (self.W_hat, self.running_mean_iter, self.running_mean_loss):
            state.zero_()

    def probabilities(self) -> torch.Tensor:
        """Return probabilities of the weights 1, -1 and 0: `(*runs, out, in, 3)`."""
        return torch.softmax(self.W_hat, dim=-1)

    def weights(self) -> torch.Tensor:
        """Return the weights of the last sample or, without randomness, the most probable ones."""
        category = self.sample if self.allow_random else self.W_hat.argmax(-1)
        return chosen_sign(category, self.W_hat.dtype)

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the weights of the last forward pass."""
        if self.allow_random and not reuse:
            p = self.probabilities()
            self.sample = self.random.multinomial(p.shape[-3:], p)
        return x @ self.weights().mT

    def after_step(self, loss: torch.Tensor) -> None:
        beta = self.running_mean_beta
        self.running_mean_iter = self.running_mean_iter + 1
        self.running_mean_loss = beta * self.running_mean_loss + (1 - beta) * loss
        mean_loss = self.running_mean_loss / (1 - beta**self.running_mean_iter)
        chosen = self.sample.unsqueeze(-1) == torch.arange(3, device=self.sample.device)
        advantage = per_run(self.lr * (mean_loss - loss), 3)
        self.W_hat = self.W_hat + advantage * (chosen.to(advantage.dtype) - self.probabilities())


class EnsembleGumbelNAULayer(LogitBase):
    r"""Add those inputs that hard Gumbel-softmax masks pick (Jang et al. 2017), drawn for each row.

        y_bo = sum_i x_bi max_m mask^m_bio,    m = 1 ... ceil(in / 4)

        soft^m_b.o = softmax_i((x_bi W_io - log E^m_bio) / tau),    E ~ Exp(1)
        mask^m_b.o = onehot_i(argmax_i soft^m_bio),    with the gradient of soft^m
        tau = min(1, exp(-1e-5 iteration))

    It samples in evaluation and under `no_random` too, as published. Shapes: W_logits (*runs, in,
    out). The `z` penalty, taken of constant ones in the published code, is always zero.
    """

    evaluates_rows_independently = False

    @property
    def temperature(self) -> float:
        return min(1.0, math.exp(-1e-5 * self.iteration))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = x.unsqueeze(-1) * self.W_logits.unsqueeze(-3)
        masks = [self._mask(logits) for _ in range(math.ceil(self.in_features / 4))]
        return (x.unsqueeze(-1) * torch.stack(masks).amax(0)).sum(-2)

    def _mask(self, logits):
        gumbel = -self.random.exponential(logits.shape[-3:], like=logits).log()
        soft = torch.softmax((logits + gumbel) / self.temperature, dim=-2)
        hard = torch.zeros_like(soft).scatter(-2, soft.argmax(-2, keepdim=True), 1.0)
        return hard - soft.detach() + soft


class FeatureSelector(Layer):
    r"""Add inputs that pass noisy gates: the stochastic gates of Yamada et al. (2020,
    arXiv:1810.04247).

        y_o = sum_i x_i gate_io,    gate = clamp(mu + sigma n + 0.5, 0, 1)

    with n ~ N(0, 1) in training and n = 0 in evaluation. Shapes: mu (*runs, in, out). It has no
    registry key: no task selects it by name. Departs from the paper: one gate for every pair of
    input and output instead of one per input. Departs from the published code: no numbers are drawn
    in evaluation.
    """

    default_name = "feature_selector"
    option_defaults: ClassVar = {"sigma": 0.5}

    def make_parameters(self) -> None:
        self.mu = self.new_parameter(self.in_features, self.out_features)

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.mu.normal_().mul_(0.01)

    def gate(self, noise: float | torch.Tensor = 0.0) -> torch.Tensor:
        """Return the gates, by default without noise."""
        return (self.mu + noise + 0.5).clamp(0.0, 1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x @ self.gate()
        return x @ self.gate(self.sigma * self.random.normal(self.mu.shape[-2:], like=self.mu))


_OF_VARIANTS = """\
    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

where NAC stands for the layer that is in the name. Shapes: G (*runs, out, in). Options: see
`stable_nalu.layer.nalu`. Of the GradientBanditNALU only the gate is trained by gradients.
`set_parameter("tau", v)` reaches the NACs of the GumbelNALU, not its gate; with
`nalu_two_nac=True, nalu_mul="mnac"` a GumbelMNAC multiplies. In the published code the
RegualizedLinearNALU cannot be built (a missing import), nor can the cells of the bandit, Gumbel,
hard softmax and independent NALU.
"""


class SampledNALU(AbstractNALULayer):
    """A NALU whose shared NAC multiplies with what it drew for adding."""

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        return self.nac_add(x, reuse=True)


def over(
    nac: type[Layer], base: type[AbstractNALULayer] = AbstractNALULayer, **members: Any
) -> type[AbstractNALULayer]:
    """Return the NALU of a layer, for a variable called as the layer but `NALU`."""
    name = nac.__name__.replace("NAC", "NALU")
    about = f"Choose by a gate between a sum and a product of {nac.__name__}s.\n\n{_OF_VARIANTS}"
    members |= {"NACOp": nac, "__module__": __name__, "__doc__": about}
    return new_class(name, (base,), exec_body=lambda body: body.update(members))


GradientBanditNALULayer = over(GradientBanditNACLayer, SampledNALU)
GumbelNALULayer = over(GumbelNACLayer, SampledNALU, MNACOp=GumbelMNACLayer)
HardSoftmaxNALULayer = over(HardSoftmaxNACLayer, SampledNALU)
IndependentNALULayer = over(IndependentNACLayer)
LinearNALULayer = over(LinearNACLayer)
PosNALULayer = over(nau_nmu.PosNACLayer)
RegualizedLinearNALULayer = over(RegualizedLinearNACLayer)
SoftmaxNALULayer = over(SoftmaxNACLayer)

SigmoidNAU, ScaledSigmoidNAU = SigmoidNAULayer, ScaledSigmoidNAULayer
EnsembleGumbelSoftmaxNAU = EnsembleGumbelNAULayer
