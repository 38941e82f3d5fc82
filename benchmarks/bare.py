"""The yardstick: one run each, written by hand as anyone would, without this project's code.

Draw a batch from the generator that a data set uses, forward, backward, Adam; no regulariser,
clipping, validation or log.
"""

import math
import time
from collections.abc import Callable

import numpy as np
import torch

BATCH = 128
Batch = Callable[[np.random.RandomState], tuple[np.ndarray, np.ndarray]]


def product(inputs: int) -> Batch:
    """Return what draws samples of the product of the first two inputs from U(1, 2)."""

    def batch(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        x = random.uniform(1, 2, (BATCH, inputs))
        return x, x[:, :1] * x[:, 1:2]

    return batch


def ratio(inputs: int) -> Batch:
    """Return what draws samples of the ratio of the first two inputs from U(1, 2)."""

    def batch(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        x = random.uniform(1, 2, (BATCH, inputs))
        return x, x[:, :1] / x[:, 1:2]

    return batch


def product_of_sums(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of the arithmetic data set: products of two sums over 25 of 100 inputs."""
    x = random.uniform(1, 2, (BATCH, 100))
    return x, x[:, 10:35].sum(1, keepdims=True) * x[:, 23:48].sum(1, keepdims=True)


class NMU(torch.nn.Module):
    """Multiplication."""

    def __init__(self, inputs: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(1, inputs).uniform_(0.25, 0.75))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, in)` to `(batch, 1)`."""
        w = self.W.clamp(0, 1).t().unsqueeze(0)
        return torch.prod(x.unsqueeze(2) * w + 1 - w, 1)


class RealNPU(torch.nn.Module):
    """Multiplication and division by powers of gated inputs."""

    def __init__(self, inputs: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(inputs, 1).uniform_(-0.5, 0.5))
        self.g = torch.nn.Parameter(torch.full((inputs,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, in)` to `(batch, 1)`."""
        g = self.g.clamp(0, 1)
        r = g * (x.abs() + 2.0**-23) + 1 - g
        k = g * math.pi * (x < 0).to(x.dtype)
        return torch.exp(torch.log(r) @ self.W) * torch.cos(k @ self.W)


class NRU(torch.nn.Module):
    """Multiplication and division by signed powers."""

    def __init__(self, inputs: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(1, inputs).uniform_(-0.5, 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, in)` to `(batch, 1)`."""
        w = self.W.clamp(-1, 1).t().unsqueeze(0)
        x = x.unsqueeze(2)
        a = torch.tanh(1000 * w) ** 2
        return torch.prod(a * torch.sign(x) * x.abs() ** w + 1 - a, 1)


class NMRU(torch.nn.Module):
    """Multiplication of inputs and their reciprocals, signs apart."""

    def __init__(self, inputs: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(1, 2 * inputs).uniform_(0.25, 0.75))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, in)` to `(batch, 1)`."""
        z = torch.cat((x, 1 / (x + 2.0**-23)), 1)
        w = self.W.clamp(0, 1).t().unsqueeze(0)
        magnitude = torch.prod(z.abs().unsqueeze(2) * w + 1 - w, 1)
        return magnitude * torch.cos((math.pi * (z < 0).to(z.dtype)) @ self.W.t())


class NAUNMU(torch.nn.Module):
    """Two sums, then their product."""

    def __init__(self):
        super().__init__()
        self.sums = torch.nn.Parameter(torch.empty(2, 100).uniform_(-0.1, 0.1))
        self.product = NMU(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, 100)` to `(batch, 1)`."""
        return self.product(x @ self.sums.clamp(-1, 1).t())


def mlp() -> torch.nn.Module:
    """Return a hidden layer of a hundred units."""
    return torch.nn.Sequential(torch.nn.Linear(2, 100), torch.nn.ReLU6(), torch.nn.Linear(100, 1))


class BareLoop:
    """The training of one model; `turn` goes on where it stopped."""

    def __init__(self, model: torch.nn.Module, batch: Batch):
        self._model = model
        self._batch = batch
        self._random = np.random.RandomState(0)
        self._optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self._criterion = torch.nn.MSELoss()

    def turn(self, iterations: int) -> float:
        """Train, and return the microseconds of CPU time of an iteration."""
        began = time.process_time()
        for _ in range(iterations):
            x, t = self._batch(self._random)
            x = torch.as_tensor(x, dtype=torch.float32)
            t = torch.as_tensor(t, dtype=torch.float32)
            self._optimizer.zero_grad()
            self._criterion(self._model(x), t).backward()
            self._optimizer.step()
        return (time.process_time() - began) * 1e6 / iterations
