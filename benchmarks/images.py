"""Training on images against loops by hand for the same network: an epoch of pairs, an update."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
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
PAIRS_IN_A_BATCH = 64
UPDATES = 40
REPEATS = 5


def rows() -> Iterator[Row]:
    """Measure the training epochs of the script, less what each run costs once."""
    loop = BareLoop()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TENSORBOARD_DIR": folder, "LSB_DJOB_NUMPROC": "1"}
        costs = in_turn(_epoch_of_a_run, loop.epoch, REPEATS)
    yield compared("digit products: epoch / bare loop", costs, "0.5", seconds)
    yield _even_digits()


def _even_digits() -> Row:
    """Measure updates that count even digits, with the drawing of pictures on our side alone."""
    loop, interruption = EvenDigitLoop(), Interruption()
    watch = Stopwatch(UPDATES, REPEATS, {"bare": loop.updates}, interruption)
    words = "--no-cuda --no-save --log-interval 1000000000 --max-iterations 1000000"
    train("even_digit_count", words, watch, interruption)
    costs = median(watch.own), median(watch.others["bare"])
    return compared("even digits: update / bare loop", costs, "1.1", seconds)


def _epoch_of_a_run() -> Cost:
    short = spent(lambda: _train(0))
    return (spent(lambda: _train(EPOCHS)) - short) / EPOCHS


def _train(last: int) -> None:
    words = "--data-source digits --operation cumprod --layer-type ReRegualizedLinearNAC"
    words += " --nac-mul mnac --mnist-digits 123456789 --interpolation-length 2"
    words += " --extrapolation-lengths [1] --remove-existing-data --no-save --no-cuda"
    words += f" --max-epochs {last}"
    quietly("sequential_mnist", words)


class DigitProduct(torch.nn.Module):
    """Two images to the product of their digits."""

    def __init__(self):
        super().__init__()
        self.image = torch.nn.Sequential(
            torch.nn.Conv2d(1, 20, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(20, 50, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(800, 500), torch.nn.ReLU(),
            torch.nn.Linear(500, 1),
        )  # fmt: skip
        self.cell = NMU(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, 2, 1, 28, 28)` to running products `(batch, 2, 1)`."""
        labels = self.image(x.flatten(0, 1)).unflatten(0, (len(x), 2))
        state = torch.ones(len(x), 1)
        states = []
        for label in labels.unbind(1):
            state = self.cell(torch.cat((label, state), 1))
            states.append(state)
        return torch.stack(states, 1)


class BareLoop:
    """Shuffled batches of pairs in memory, as floats; forward, backward, Adam; no log."""

    def __init__(self):
        corpus = load_subset("mnist", "digits", "train")
        kept = np.random.RandomState(0).permutation(np.flatnonzero(corpus.labels > 0))
        kept = kept[: len(kept) // 2 * 2]
        images = PixelTable.mnist()(torch.from_numpy(corpus.images[kept]))
        self._x = images.view(-1, 2, 1, 28, 28)
        products = np.cumprod(corpus.labels[kept].reshape(-1, 2), 1)
        self._t = torch.from_numpy(products).float().unsqueeze(-1)
        self._model = DigitProduct()
        self._optimizer = torch.optim.Adam(self._model.parameters())

    def epoch(self) -> Cost:
        """Measure one epoch, of as many as the script trains."""
        return spent(lambda: [self._epoch() for _ in range(EPOCHS)]) / EPOCHS

    def _epoch(self) -> None:
        for rows in torch.randperm(len(self._x)).split(PAIRS_IN_A_BATCH):
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
