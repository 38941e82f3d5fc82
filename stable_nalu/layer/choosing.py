"""Trials of published code whose weights are choices: sampled, noisy or expected ones."""

import math
from typing import ClassVar

import torch

from stable_nalu.abstract import Observation, weight_observations
from stable_nalu.functional import chosen_sign, expected_sign, mnac, per_run, xavier_bound

from .base import Layer, WeightLayer


class SoftmaxNACLayer(WeightLayer):
    r"""Add and subtract inputs with expected weights in (-1, 1) (Madsen & Johansen 2020, published
    code).

        y_o = sum_i W_oi x_i,    W = p_+ - p_-,    (p_+, p_-, p_0) = softmax([W_hat, 0])

    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 2), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: it works in
    float64.
    """

    def make_parameters(self) -> None:
        self.W_hat = self.new_parameter(self.out_features, self.in_features, 2)
        # The logit of weight 0 is fixed, as a softmax has one degree of freedom less than logits.
        self.register_buffer("W_hat_k", torch.zeros(self.out_features, self.in_features, 1))

    def reset_parameters(self) -> None:
        # Xavier fans of a tensor (out, in, 2) count the last dimension on both sides.
        fans = 2 * self.in_features, 2 * self.out_features
        bound = xavier_bound(*fans, gain=math.sqrt(0.5))
        torch.nn.init.uniform_(self.W_hat, -bound, bound)

    def probabilities(self) -> torch.Tensor:
        """Return probabilities of the weights 1, -1 and 0: `(*runs, out, in, 3)`."""
        return torch.softmax(torch.cat((self.W_hat, self.W_hat_k), dim=-1), dim=-1)

    def weights(self) -> torch.Tensor:
        return expected_sign(self.probabilities())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weights().mT


class HardSoftmaxNACLayer(SoftmaxNACLayer):
    r"""Add and subtract inputs with weights that every forward pass samples (Madsen & Johansen
    2020, published code).

        y_o = sum_i W_oi x_i,    W_oi in {1, -1, 0} sampled from softmax([W_hat, 0])

    The gradient is that of the expected weight p_+ - p_-.
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 2), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: it works in
    float64.
    It samples in evaluation and under `no_random` too, as there.
    """

    evaluates_rows_independently = False

    def make_parameters(self) -> None:
        super().make_parameters()
        sample = torch.zeros(self.out_features, self.in_features, dtype=torch.int64)
        self.register_buffer("sample", sample)

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the weights of the last forward pass."""
        p = self.probabilities()
        if not reuse:
            self.sample = self.random.multinomial(p.shape[-3:], p)
        W = expected_sign(p)
        # W - W is exactly zero, so that the value is the hard weight to the last bit.
        W = (W - W.detach()) + chosen_sign(self.sample, W.dtype)
        return x @ W.mT


_SMALLEST_UNIFORM = 1e-10


class GumbelNACLayer(WeightLayer):
    r"""Add and subtract inputs with noisy weights in (-1, 1) (Madsen & Johansen 2020, published
    code; Gumbel-softmax: Jang et al. 2017, arXiv:1611.01144).

        y_o = sum_i W_oi x_i,    W = q_+ - q_-

        q = softmax((log p - log(-log U)) / tau),    p = softmax([W_hat, 0]),    U ~ U(1e-10, 1)

    Without randomness, q = p. `set_parameter("tau", v)` cools the noise down during training.
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 2), tau (*runs), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: it works in
    float64 and on a GPU.
    """

    def make_parameters(self) -> None:
        self.W_hat = self.new_parameter(self.out_features, self.in_features, 2)
        self.register_buffer("W_hat_k", torch.zeros(self.out_features, self.in_features, 1))
        self.tau = torch.nn.Parameter(torch.ones(()), requires_grad=False)
        self._gumbel: torch.Tensor | None = None

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_hat)

    def log_probabilities(self) -> torch.Tensor:
        """Return log probabilities of 1, -1 and 0: `(*runs, out, in, 3)`."""
        return torch.log_softmax(torch.cat((self.W_hat, self.W_hat_k), dim=-1), dim=-1)

    def weights(self) -> torch.Tensor:
        """Return the expected weight, free of noise."""
        return expected_sign(self.log_probabilities().exp())

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the noise of the last forward pass."""
        if not self.allow_random:
            return x @ self.weights().mT
        logits = self.log_probabilities()
        gumbel = self._gumbel
        if gumbel is None or not reuse:
            u = self.random.uniform(logits.shape[-3:], _SMALLEST_UNIFORM, 1, like=logits)
            gumbel = self._gumbel = -torch.log(-torch.log(u))
        q = torch.softmax((logits + gumbel) / per_run(self.tau, 3), dim=-1)
        return x @ expected_sign(q).mT

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights, text_always=True, sparsity=False)


_EPSILON = 1e-8


class GumbelMNACLayer(WeightLayer):
    r"""Multiply inputs with noisy weights in (0, 1) (Madsen & Johansen 2020, published code).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W = sigmoid((W_hat + n) / tau)

        n = -log(1e-8 - log(U + 1e-8)),    U ~ U(0, 1)

    Without randomness, W = sigmoid(W_hat). `set_parameter("tau", v)` cools the noise down.
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in), tau (*runs), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: no. The cell,
    which cannot be built there, is the one over this layer.
    """

    def make_parameters(self) -> None:
        self.W_hat = self.new_parameter()
        self.tau = torch.nn.Parameter(torch.ones(()), requires_grad=False)

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.W_hat)

    def weights(self) -> torch.Tensor:
        """Return the expected weight, free of noise."""
        return torch.sigmoid(self.W_hat)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.allow_random:
            return mnac(x, self.weights())
        u = self.random.uniform(self.W_hat.shape[-2:], 0, 1, like=self.W_hat)
        noise = -torch.log(_EPSILON - torch.log(u + _EPSILON))
        return mnac(x, torch.sigmoid((self.W_hat + noise) / per_run(self.tau, 2)))

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights, text_always=True, sparsity=False)


CHOICES = 3


class GradientBanditNACLayer(WeightLayer):
    r"""Add and subtract with weights learned from the loss alone (Madsen & Johansen 2020, published
    code; gradient bandits: Sutton & Barto, Reinforcement Learning, section 2.8).

        y_o = sum_i W_oi x_i,    W_oi in {1, -1, 0} sampled from p = softmax(W_hat)

        after step t, with loss L:
            m <- beta m + (1 - beta) L
            W_hat <- W_hat + lr (m / (1 - beta^t) - L) (onehot(sample) - p)

    Without randomness, the most probable weight is used. Nothing is trained by gradients: `W_hat`
    is a buffer; `lr` and `running_mean_beta` can be changed with `set_parameter`. The first update
    is zero (up to rounding).
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 3), L, m, t, lr, beta (*runs).

    Departs from the paper: it is not in the paper. Departs from the published code: L is detached
    (the same numbers, without a growing graph); works in float64 and on a GPU.
    """

    W_hat: torch.Tensor
    running_mean_iter: torch.Tensor
    running_mean_loss: torch.Tensor
    sample: torch.Tensor

    def make_parameters(self) -> None:
        shape = self.out_features, self.in_features
        self.lr = torch.nn.Parameter(torch.full((), 1e-3), requires_grad=False)
        self.running_mean_beta = torch.nn.Parameter(torch.full((), 0.9), requires_grad=False)
        self.register_buffer("W_hat", torch.zeros(*shape, CHOICES))
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
        chosen = self.sample.unsqueeze(-1) == torch.arange(CHOICES, device=self.sample.device)
        advantage = per_run(self.lr * (mean_loss - loss), 3)
        self.W_hat = self.W_hat + advantage * (chosen.to(advantage.dtype) - self.probabilities())


_INPUTS_PER_MASK = 4
_COOLING_RATE = 1e-5


class EnsembleGumbelNAULayer(Layer):
    r"""Add those inputs that hard Gumbel-softmax masks pick, drawn anew for every row (Mistry et
    al. 2023, published code; Gumbel-softmax: Jang et al. 2017, arXiv:1611.01144).

        y_bo = sum_i x_bi max_m mask^m_bio,    m = 1 ... ceil(in / 4)

        soft^m_b.o = softmax_i((x_bi W_io - log E^m_bio) / tau),    E ~ Exp(1)
        mask^m_b.o = onehot_i(argmax_i soft^m_bio),    with the gradient of soft^m
        tau = min(1, exp(-1e-5 iteration))

    Shapes: x (*runs, batch, in), W_logits (*runs, in, out), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: numbers are
    drawn on the CPU for every device. It samples in evaluation and under `no_random` too, as there.
    Its `z` penalty, taken of constant ones there, is always zero.
    """

    evaluates_rows_independently = False

    def make_parameters(self) -> None:
        self.W_logits = self.new_parameter(self.in_features, self.out_features)

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_logits, 0.25, 0.75)

    @property
    def temperature(self) -> float:
        """Return the softmax temperature at this iteration."""
        return min(1.0, math.exp(-_COOLING_RATE * self.iteration))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = x.unsqueeze(-1) * self.W_logits.unsqueeze(-3)
        count = math.ceil(self.in_features / _INPUTS_PER_MASK)
        masks = torch.stack([self._mask(logits) for _ in range(count)])
        return (x.unsqueeze(-1) * masks.amax(0)).sum(-2)

    def _mask(self, logits):
        gumbel = -self.random.exponential(logits.shape[-3:], like=logits).log()
        soft = torch.softmax((logits + gumbel) / self.temperature, dim=-2)
        picked = soft.argmax(-2, keepdim=True)
        hard = torch.zeros_like(soft).scatter(-2, picked, 1.0)
        return hard - soft.detach() + soft

    def regualizer_terms(self):
        return {"z": None}


_INITIAL_SCALE = 0.01


class FeatureSelector(Layer):
    r"""Add inputs that pass noisy gates: the stochastic gates of Yamada et al. (2020,
    arXiv:1810.04247).

        y_o = sum_i x_i gate_io,    gate = clamp(mu + sigma n + 0.5, 0, 1)

    with n ~ N(0, 1) in training and n = 0 in evaluation.
    Shapes: x (*runs, batch, in), mu (*runs, in, out), y (*runs, batch, out).

    It has no registry key: no task selects it by name.

    Departs from the paper: one gate for every pair of input and output instead of one per input.
    Departs from the published code: no numbers are drawn in evaluation.
    """

    default_name = "feature_selector"
    option_defaults: ClassVar = {"sigma": 0.5}

    def make_parameters(self) -> None:
        self.mu = self.new_parameter(self.in_features, self.out_features)

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.mu.normal_().mul_(_INITIAL_SCALE)

    def gate(self) -> torch.Tensor:
        """Return the gates without noise."""
        return _hard_sigmoid(self.mu)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x @ self.gate()
        noise = self.random.normal(self.mu.shape[-2:], like=self.mu)
        return x @ _hard_sigmoid(self.mu + self.sigma * noise)


def _hard_sigmoid(v):
    return (v + 0.5).clamp(0.0, 1.0)


EnsembleGumbelSoftmaxNAU = EnsembleGumbelNAULayer
