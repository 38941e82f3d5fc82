"""Training on images against loops by hand for the same network: an epoch, or an update."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import cycle

import numpy as np
import torch

from stable_nalu.dataset.images import EvenDigitPictures, PixelTable, Placement, load_subset
from stable_nalu.script import Interruption

from .bare import NMU
from .clock import Cost, in_turn, median, spent
from .single import quietly
from .stopwatch import Stopwatch, train
from .table import Row, compared, seconds

EPOCHS = 4
"""Without evaluation: that is at every fifth."""
SEQUENCES_IN_A_BATCH = 64
UPDATES = 40
REPEATS = 5


_PRODUCTS = (
    "--operation cumprod --mnist-digits 123456789 --interpolation-length 2 "
    "--extrapolation-lengths [1] --layer-type"
)
_SUMS = "--operation cumsum --interpolation-length 10 --extrapolation-lengths [1] --layer-type"
_NAU, _NMU = "ReRegualizedLinearNAC", "ReRegualizedLinearNAC --nac-mul mnac"


def rows() -> Iterator[Row]:
    """Measure the training epochs of the scripts, less what each run costs once."""
    for title, words, loop in (
        ("digit products, NMU", f"{_PRODUCTS} {_NMU}", lambda: BareLoop(2, NMU(2), 1)),
        ("digit products, NMU, 4 seeds", f"{_PRODUCTS} {_NMU} --seed 0-3",
         lambda: BareLoop(2, NMU(2), 1)),
        ("digit products, LSTM", f"{_PRODUCTS} LSTM", lambda: BareLoop(2, None)),
        ("digit sums, NAU", f"{_SUMS} {_NAU}", lambda: BareLoop(10, NAU(2))),
    ):  # fmt: skip
        runs = 4 if "--seed" in words else 1
        with tempfile.TemporaryDirectory() as folder:
            os.environ |= {"TENSORBOARD_DIR": folder, "LSB_DJOB_NUMPROC": "1"}
            costs = in_turn(partial(_epoch_of_a_run, words, runs), loop().epoch, REPEATS)
        yield compared(f"{title}: epoch / bare loop", costs, "0.5", seconds)
    yield _even_digits()


def _even_digits() -> Row:
    """Measure updates that count even digits, with the drawing of pictures on our side alone."""
    loop, interruption = EvenDigitLoop(), Interruption()
    watch = Stopwatch(UPDATES, REPEATS, {"bare": loop.updates}, interruption)
    words = "--no-cuda --no-save --log-interval 1000000000 --max-iterations 1000000"
    train("even_digit_count", words, watch, interruption)
    costs = median(watch.own), median(watch.others["bare"])
    return compared("even digits: update / bare loop", costs, "1.1", seconds)


def _epoch_of_a_run(words: str, runs: int) -> Cost:
    short = spent(lambda: _train(words, 0))
    return (spent(lambda: _train(words, EPOCHS)) - short) / EPOCHS / runs


def _train(words: str, last: int) -> None:
    words += " --data-source digits --remove-existing-data --no-save --no-cuda"
    quietly("sequential_mnist", f"{words} --max-epochs {last}")


class NAU(torch.nn.Module):
    """A sum by weights between -1 and 1."""

    def __init__(self, inputs: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(1, inputs).uniform_(-0.5, 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, inputs)` to `(batch, 1)`."""
        return torch.nn.functional.linear(x, self.W.clamp(-1, 1))


class DigitSequence(torch.nn.Module):
    """Images to what a cell makes of their digits; without a cell, torch's LSTM does."""

    def __init__(self, cell: torch.nn.Module | None, start: float):
        super().__init__()
        self.image = torch.nn.Sequential(
            torch.nn.Conv2d(1, 20, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(20, 50, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(800, 500), torch.nn.ReLU(),
            torch.nn.Linear(500, 1),
        )  # fmt: skip
        self.cell, self.start = cell, start
        if cell is None:
            self.lstm = torch.nn.LSTM(1, 1, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, time, 1, 28, 28)` to running results `(batch, time, 1)`."""
        labels = self.image(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        if self.cell is None:
            return self.lstm(labels)[0]
        state = torch.full((len(x), 1), self.start)
        states = []
        for label in labels.unbind(1):
            state = self.cell(torch.cat((label, state), 1))
            states.append(state)
        return torch.stack(states, 1)


class BareLoop:
    """Shuffled batches of sequences in memory, as floats; forward, backward, Adam; no log.

    Digits of sequences of two are multiplied, and none is 0; those of longer ones are added.
    """

    def __init__(self, length: int, cell: torch.nn.Module | None, start: float = 0):
        corpus = load_subset("mnist", "digits", "train")
        multiplies = length == 2
        kept = np.flatnonzero(corpus.labels >= multiplies)
        kept = np.random.RandomState(0).permutation(kept)[: len(kept) // length * length]
        images = PixelTable.mnist()(torch.from_numpy(corpus.images[kept]))
        self._x = images.view(-1, length, 1, 28, 28)
        accumulate = np.cumprod if multiplies else np.cumsum
        results = accumulate(corpus.labels[kept].reshape(-1, length), 1)
        self._t = torch.from_numpy(results).float().unsqueeze(-1)
        self._model = DigitSequence(cell, start)
        self._optimizer = torch.optim.Adam(self._model.parameters())

    def epoch(self) -> Cost:
        """Measure one epoch, of as many as the script trains."""
        return spent(lambda: [self._epoch() for _ in range(EPOCHS)]) / EPOCHS

    def _epoch(self) -> None:
        for rows in torch.randperm(len(self._x)).split(SEQUENCES_IN_A_BATCH):
            self._optimizer.zero_grad()
            torch.nn.functional.mse_loss(self._model(self._x[rows]), self._t[rows]).backward()
            self._optimizer.step()


class EvenDigitLoop:
    """Batches of 32 pictures in memory, as floats; torch's layers, Adam; no log."""

    def __init__(self):
        pictures = EvenDigitPictures(load_subset("mnist", "digits", "train"), Placement())
        random = np.random.default_rng(0)
        batches = [pictures.batch(pictures.draw(random, 32)) for _ in range(UPDATES)]
        self._batches = cycle([(x.unsqueeze(1), t) for x, t in batches])
        self._model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 7, 2, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 16, 3, padding=2, dilation=2), torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(),
            torch.nn.Conv2d(32, 1, 1), torch.nn.ReLU(),
            torch.nn.Flatten(), torch.nn.Linear(625, 32), torch.nn.ReLU(), torch.nn.Linear(32, 6),
        )  # fmt: skip
        self._optimizer = torch.optim.Adam(self._model.parameters())

    def updates(self) -> Cost:
        """Measure an update."""
        return spent(lambda: [self._update() for _ in range(UPDATES)]) / UPDATES

    def _update(self) -> None:
        x, t = next(self._batches)
        self._optimizer.zero_grad()
        torch.nn.functional.cross_entropy(self._model(x), t).backward()
        self._optimizer.step()
