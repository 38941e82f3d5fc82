"""The yardstick: one run each, written by hand as anyone would, without this project's code.

Draw a batch, forward, backward, Adam; no regulariser, clipping, validation or log.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

BATCH = 128
PROGRAMS = 64
"""Programs of a batch."""

Batch = Callable[[np.random.RandomState], tuple[np.ndarray | torch.Tensor, ...]]
SizedBatch = Callable[[np.random.RandomState, int], tuple[np.ndarray, np.ndarray]]


def multiply(random: np.random.RandomState, inputs: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of the product of the first two inputs from U(1, 2)."""
    x = random.uniform(1, 2, (BATCH, inputs))
    return x, x[:, :1] * x[:, 1:2]


def divide(random: np.random.RandomState, inputs: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of the ratio of the first two inputs from U(1, 2)."""
    x = random.uniform(1, 2, (BATCH, inputs))
    return x, x[:, :1] / x[:, 1:2]


def multiply_sums(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of the arithmetic data set: products of two sums over 25 of 100 inputs."""
    x = random.uniform(1, 2, (BATCH, 100))
    return x, x[:, 10:35].sum(1, keepdims=True) * x[:, 23:48].sum(1, keepdims=True)


def whole_numbers(_: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole numbers from -5 to 5, to be given back."""
    x = np.arange(-5, 6)[:, None]
    return x, x


def autoencoder() -> torch.nn.Module:
    """Return the scalar autoencoder of the NALU paper: three hidden layers of eight."""
    layers: list[torch.nn.Module] = []
    for size in (1, 8, 8):
        layers += [torch.nn.Linear(size, 8), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))


def ten_numbers(rows: int) -> Batch:
    """Return rows of ten numbers from U(0, 10) and their sum, the same at every call."""
    x = torch.rand(rows, 10) * 10
    t = x.sum(1, keepdim=True)
    return lambda _: (x, t)


class NALU(torch.nn.Module):
    """A gate between sums and products, with one weight matrix for both."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        draw = torch.nn.init.trunc_normal_
        self.w, self.m, self.g = (
            torch.nn.Parameter(draw(torch.empty(outputs, inputs), std=0.02)) for _ in range(3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, in)` to `(batch, out)`."""
        w = torch.tanh(self.w) * torch.sigmoid(self.m)
        g = torch.sigmoid(x @ self.g.t())
        return g * (x @ w.t()) + (1 - g) * torch.exp(torch.log(x.abs() + 1e-7) @ w.t())


def mystery_rows() -> Batch:
    """Return what gives the next 32 of a thousand rows, and ten sums, differences and products."""
    random = np.random.RandomState(0)
    x = random.uniform(-10, 10, (1000, 100))
    a, b = x[:, :10], x[:, 10:20]
    t = np.concatenate([a[:, :4] + b[:, :4], a[:, 4:7] - b[:, 4:7], a[:, 7:] * b[:, 7:]], 1)
    parts = itertools.cycle([(x[k : k + 32], t[k : k + 32]) for k in range(0, 1000, 32)])
    return lambda _: next(parts)


class ArticleNAC(torch.nn.Module):
    """A NAC of 100 inputs and ten outputs, as the article on the mystery problem has it."""

    def __init__(self):
        super().__init__()
        self.what, self.mhat = (_xavier_normal() for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, 100)` to `(batch, 10)`."""
        return x @ (self.what.sigmoid() * self.mhat.tanh())


class ArticleNALU(torch.nn.Module):
    """The article's NALU: two NACs, and a gate that is not squashed."""

    def __init__(self):
        super().__init__()
        self.level, self.log, self.G = ArticleNAC(), ArticleNAC(), _xavier_normal()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, 100)` to `(batch, 10)`."""
        g = x @ self.G
        return g * self.level(x) + (1 - g) * self.log((x.abs() + 1e-7).log()).exp()


def _xavier_normal() -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.nn.init.xavier_normal_(torch.empty(100, 10)))


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


def sums_over_time(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of the sum of two slices of ten vectors from U(0, 1), each over all steps."""
    x = random.uniform(0, 1, (BATCH, 10, 10))
    return x, x[..., 3:5].sum((1, 2))[:, None] + x[..., 4:6].sum((1, 2))[:, None]


class NACRecurrent(torch.nn.Module):
    """A cell that adds inputs and state, and a layer of its kind behind it."""

    def __init__(self):
        super().__init__()
        self.state = torch.nn.Parameter(torch.zeros(2))
        self.W, self.M = (torch.nn.Parameter(torch.randn(2, 12) / 10) for _ in range(2))
        self.V, self.N = (torch.nn.Parameter(torch.randn(1, 2) / 10) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, time, 10)` to `(batch, 1)`."""
        cell = (torch.tanh(self.W) * torch.sigmoid(self.M)).t()
        state = self.state.expand(len(x), 2)
        for step in x.unbind(1):
            state = torch.cat((step, state), 1) @ cell
        return state @ (torch.tanh(self.V) * torch.sigmoid(self.N)).t()


class Recurrent(torch.nn.Sequential):
    """A cell that maps inputs and state, and what maps the last state."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, time, 10)` to `(batch, 1)`."""
        state = x.new_zeros(len(x), 2)
        for step in x.unbind(1):
            state = self[0](torch.cat((step, state), 1))
        return self[1](state)


class TorchRecurrent(torch.nn.Module):
    """Torch's own LSTM or RNN, and a linear layer behind its last state."""

    def __init__(self, kind: Callable[..., torch.nn.Module], **options: str):
        super().__init__()
        self.cell = kind(10, 2, batch_first=True, **options)
        self.output = torch.nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, time, 10)` to `(batch, 1)`."""
        return self.output(self.cell(x)[0][:, -1])


def sums(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of numbers below 100, and their sums."""
    x = random.randint(0, 100, (PROGRAMS, 2))
    return x, x.sum(1)


_FORMS = (
    ("{} + {}", lambda a, b: a + b),
    ("{} - {}", lambda a, b: a - b),
    ("{} if {} < {} else {}", lambda a, b, c, d: a if b < c else d),
    ("{} if {} > {} else {}", lambda a, b, c, d: a if b > c else d),
)
_WORDS = ("num", "+", "-", "if", "<", ">", "else", "(", ")")


def written_programs(
    random: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return programs of two operations, padded at the left, and their results.

    x `(batch, words, 11)`: a word, the number that it is, and whether it is one at all.
    """
    x, t = np.zeros((PROGRAMS, 15, 11), np.float32), np.zeros(PROGRAMS, np.float32)
    for row in range(PROGRAMS):
        inner, result = "", 0
        for level in range(2):
            operation = random.randint(3)
            form, compute = _FORMS[operation + (operation == 2) * random.randint(2)]
            numbers = random.randint(0, 100, form.count("{}")).tolist()
            texts = list(map(str, numbers))
            if level:
                place = random.randint(len(numbers))
                numbers[place], texts[place] = result, f"( {inner} )"
            inner, result = form.format(*texts), compute(*numbers)
        words = inner.split()
        for at, word in enumerate(words, start=15 - len(words)):
            x[row, at, _WORDS.index("num" if word.isdigit() else word)] = 1
            x[row, at, 9:] = int(word) if word.isdigit() else 0, 1
        t[row] = result
    return x, t


class ProgramReader(torch.nn.Module):
    """An LSTM that makes the matrices of a NALU with four registers, word by word.

    sees: whether the LSTM sees the registers.
    """

    def __init__(self, sees: bool):
        super().__init__()
        self.sees = sees
        self.lstm = torch.nn.LSTMCell(9 + 4 * sees, 64)
        self.maps = torch.nn.Linear(64, 60)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map pairs of numbers `(batch, 2)`, or programs `(batch, words, 11)`, to answers."""
        x = _as_words(x)
        h = c = x.new_zeros(len(x), 64)
        n = x.new_zeros(len(x), 4)
        for step in x.unbind(1):
            word, value, read = step[:, :9], step[:, 9:10], step[:, 10:]
            seen = torch.cat((word, torch.tanh(n)), 1) if self.sees else word
            h, c = self.lstm(seen, (h * read, c * read))
            what, mhat, gate = self.maps(h).view(-1, 3, 4, 5).unbind(1)
            w = what.tanh() * mhat.sigmoid()
            inputs = torch.cat((value, n), 1).unsqueeze(2)
            m = (w @ (inputs.abs() + 1e-7).log()).clamp(max=20).exp()
            g = (gate @ inputs).sigmoid()
            n = (g * (w @ inputs) + (1 - g) * m).squeeze(2) * read
        return n[:, 0]


class LSTMReader(torch.nn.Module):
    """An LSTM on words and numbers, and a linear layer behind its last state."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTMCell(10, 64)
        self.answer = torch.nn.Linear(64, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map pairs of numbers `(batch, 2)`, or programs `(batch, words, 11)`, to answers."""
        x = _as_words(x)
        x[..., 9] /= 100
        h = c = x.new_zeros(len(x), 64)
        for step in x.unbind(1):
            read = step[:, 10:]
            h, c = self.lstm(step[:, :10], (h * read, c * read))
        return self.answer(h)[:, 0]


def _as_words(x: torch.Tensor) -> torch.Tensor:
    if x.ndim == 3:
        return x
    words = x.new_zeros(len(x), 3, 11)
    words[:, :, 10] = 1
    words[:, [0, 2], 0] = 1
    words[:, 1, 1] = 1
    words[:, 0, 9], words[:, 2, 9] = x.unbind(1)
    return words


def digit_sequences(batch: int) -> Batch:
    """Return what gives the next sequences of ten digits, and how often each digit is there."""
    digits: Any = load_digits()
    images = torch.as_tensor(digits.images[:1197], dtype=torch.float32).unsqueeze(1)
    images = torch.nn.functional.interpolate(images, (28, 28), mode="bilinear") / 16
    counts = torch.nn.functional.one_hot(torch.as_tensor(digits.target[:1197]), 10)

    def epochs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        while True:
            for part in torch.randperm(1190).view(-1, 10).split(batch):
                yield images[part], counts[part].sum(1)

    parts = epochs()
    return lambda _: next(parts)


class NACOfDigits(torch.nn.Module):
    """The example network of PyTorch as of 2017, and a NAC that counts what it reads."""

    def __init__(self):
        super().__init__()
        self.reader = torch.nn.Sequential(
            *(torch.nn.Conv2d(1, 10, 5), torch.nn.MaxPool2d(2), torch.nn.ReLU()),
            *(torch.nn.Conv2d(10, 20, 5), torch.nn.MaxPool2d(2), torch.nn.ReLU()),
            *(torch.nn.Flatten(), torch.nn.Linear(320, 50), torch.nn.ReLU()),
            torch.nn.Linear(50, 10),
        )
        self.W, self.M = (torch.nn.Parameter(torch.randn(10, 20) / 10) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, time, 1, 28, 28)` to `(batch, 10)`."""
        read = self.reader(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        cell = (torch.tanh(self.W) * torch.sigmoid(self.M)).t()
        state = torch.zeros(len(x), 10)
        for step in read.unbind(1):
            state = torch.cat((step, state), 1) @ cell
        return state


class BareLoop:
    """The training of one model; `run` goes on where it stopped."""

    def __init__(self, model: torch.nn.Module, batch: Batch):
        self._model = model
        self._batch = batch
        self._random = np.random.RandomState(0)
        self._optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self._criterion = torch.nn.MSELoss()

    def run(self, iterations: int) -> None:
        """Run so many iterations."""
        for _ in range(iterations):
            x, t = self._batch(self._random)
            x = torch.as_tensor(x, dtype=torch.float32)
            t = torch.as_tensor(t, dtype=torch.float32)
            self._optimizer.zero_grad()
            self._criterion(self._model(x), t).backward()
            self._optimizer.step()
