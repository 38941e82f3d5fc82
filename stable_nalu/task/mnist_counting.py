"""Counting the digits of a sequence of images, or adding them up, beyond the length of training.

Section 4.2 and table 2 of the NALU paper.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import images
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.layer.base import TorchCell
from stable_nalu.layer.registry import GeneralizedCell
from stable_nalu.network.dense import Convolution, Dense, pooled
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import cell_names, choice, integer, lengths, number
from stable_nalu.options.flags import LAYER_TYPE, refuse
from stable_nalu.training import floats
from stable_nalu.training.task import EPOCHS, Batch, Goal, Kind, Task
from stable_nalu.writer.event_file import (
    METRIC_TEST,
    MSE_TRAIN,
)

from . import shared
from .shared import TEST_SEED, TRAIN_SEED, VALID_SEED

READERS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "small": ((10, 20), 320, 50),
    "large": ((20, 50), 800, 500),
    "mlp8": ((), 64, 64),
}
"""Image network -> filters of its convolutions, what the hidden layer reads, and its size.

The first two are PyTorch's examples of 2017 and of 2018, the last one reads images of 8 x 8.
"""


class DigitReader(ExtendedTorchModule):
    """x `(images, 1, side, side)` -> `(images, outputs)`, through a network of `READERS`.

    Convolutions of 5 x 5, each pooled by 2 x 2, if there are any, and a hidden layer, ReLU
    throughout. dropout: the probability with which whole channels of the second convolution, and
    units of the hidden layer, are left out of an update; PyTorch's example of 2017 has 0.5.
    """

    def __init__(self, outputs: int, cnn: str, dropout: float = 0.0):
        super().__init__("reader")
        self.dropout = dropout
        filters, flat, hidden = READERS[cnn]
        self.convolves = bool(filters)
        if filters:
            self.first = Convolution(1, filters[0], 5, name="first")
            self.second = Convolution(filters[0], filters[1], 5, name="second")
        self.hidden = Dense(flat, hidden, "ReLU", "hidden")
        self.output = Dense(hidden, outputs, name="output")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.convolves:
            x = self.second(torch.relu(pooled(self.first(x))))
            x = torch.relu(pooled(self._dropped(x, 2)))
        return self.output(self._dropped(self.hidden(x.flatten(-3)), 0))

    def _dropped(self, x: torch.Tensor, inner: int) -> torch.Tensor:
        """Return x without some of its channels, whose `inner` dimensions go as one.

        The rest is larger, so that the mean stays.
        """
        if not (self.dropout and self.allow_random):
            return x
        shape = x.shape[x.ndim - inner - 2 : x.ndim - inner]
        noise = self.random.uniform(tuple(shape), 0, 1, x)
        kept = (noise >= self.dropout).to(x) / (1 - self.dropout)
        return x * kept.reshape(*kept.shape, *[1] * inner)


class CountingNetwork(ExtendedTorchModule):
    """Digit images, in sequences, -> what a cell has counted or added up.

    f_t = reader(x_t); h_t = cell(f_t, h_{t-1}) from h = 0; y_t = h_t or, for a cell of torch
    (LSTM, GRU, RNN), a dense layer of it without an activation.

    Shapes: x `(batch, time, 1, side, side)`, f `(batch, time, features)`,
    y `(batch, time or 1, outputs)`.
    """

    def __init__(self, c: Config, **layer_options: Any):
        super().__init__("network")
        self.unit_name, self.outputs = c.layer_type, OUTPUTS[c.task]
        outputs, features = self.outputs, c.cnn_outputs or self.outputs
        self.reader = DigitReader(features, c.cnn, c.cnn_dropout)
        self.cell = GeneralizedCell(features, outputs, c.layer_type, name="cell", **layer_options)
        is_torch = isinstance(self.cell.cell, TorchCell)
        self.read_out = Dense(outputs, outputs, name="read_out") if is_torch else None

    def read(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the image network makes of x, all images in one pass."""
        return self.reader(x.flatten(-5, -4)).unflatten(-2, x.shape[-5:-3])

    def accumulate(self, features: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        """Return the outputs of the last step alone, or of every one."""
        h = features.new_zeros(*features.shape[:-2], self.outputs)
        state: Any = (h, h) if self.unit_name == "LSTM" else h
        states = []
        for step in features.unbind(-2):
            state = self.cell(step, state)
            h = state[0] if isinstance(state, tuple) else state
            if every:
                states.append(h)
        found = torch.stack(states, -2) if every else h.unsqueeze(-2)
        if self.read_out is None:
            return found
        return self.read_out(found.flatten(-3, -2)).unflatten(-2, found.shape[-3:-1])

    def forward(self, x: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        return self.accumulate(self.read(x), every=every)


SHOWN_DIGITS = 10
"""The first images of the test, whose outputs are logged step by step."""

MSE_VALID = "metric/valid/mse"
IMAGES_AT_ONCE = 500

OUTPUTS = {"count": 10, "sum": 1}
"""Task -> outputs of the cell, and those of the image network by default."""


class CountingTask(Task):
    """Learn what follows from all digits of a sequence, and be tested on other lengths.

    Sequences are cut from orders of images: of training in another order in each epoch, of tests in
    orders that are the same for all runs and lengths.
    """

    kind = Kind(EPOCHS, cost=20_000)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        longest = max(config.interpolation_length, *config.extrapolation_lengths)
        return Goal(MSE_VALID, f"{METRIC_TEST}/{longest}/mse")

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        flat = config.cnn == "mlp8"
        self._pixels = images.PixelTable() if flat else images.PixelTable.mnist()
        family, source = "digits" if flat else "mnist", config.digit_source
        self._subsets: dict[str, images.DigitSubset] = {}
        for name in ("train", "valid", "test"):
            corpus = images.load_subset(family, source, name, config.data_dir)
            self._subsets[name] = images.DigitSubset(corpus, range(10), device)
        count = len(self._subsets["train"])
        self.about = f"dataset: {count} training images of {source}"
        labels = {name: torch.from_numpy(subset.labels) for name, subset in self._subsets.items()}
        self._labels = {name: own.to(device) for name, own in labels.items()}
        self._every = config.sequence_loss == "all"
        length = config.interpolation_length
        self.lengths = sorted({length, *config.extrapolation_lengths})
        # As many images of the training set as validate: all would take as long as an epoch's half.
        self._measured = len(self._subsets["valid"])
        self._fixed = {}
        for tag, name, seed in ((MSE_TRAIN, "train", TRAIN_SEED), (MSE_VALID, "valid", VALID_SEED)):
            self._fixed[tag] = name, self._places(fixed_places(self._measured, length, seed))
        tested = len(self._subsets["test"])
        self._tested = {
            length: self._places(fixed_places(tested, length, TEST_SEED, config.test_repeats))
            for length in self.lengths
        }
        self._shown = self._tested[self.lengths[0]].flatten()[:SHOWN_DIGITS]
        training_places(count, length, 0, 0)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return CountingNetwork(config, **layer_options)

    def _places(self, places: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(places).to(self.device)

    def _seen(self, name: str, places: torch.Tensor) -> torch.Tensor:
        return floats(self._pixels(self._subsets[name].images[places]), self.device)

    def _answers(self, name: str, places: torch.Tensor) -> torch.Tensor:
        """Return what is true after each digit of sequences, `(..., time, outputs)`."""
        labels = self._labels[name][places]
        if self.config.task == "sum":
            return floats(labels.cumsum(-1).unsqueeze(-1), self.device)
        return floats(torch.nn.functional.one_hot(labels, 10).cumsum(-2), self.device)

    def batches(self) -> Iterator[Batch]:
        config, count = self.config, len(self._subsets["train"])
        places = training_places(count, config.interpolation_length, config.seed, self.at)
        for part in self._places(places).split(config.batch_size):
            yield self._seen("train", part), self._answers("train", part)

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        y = model(x, every=self._every)
        t = t if self._every else t[:, -1:]
        return criterion(y.flatten(0, 1), t.flatten(0, 1))

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = {}
        for tag, (name, places) in self._fixed.items():
            read = self._read(model, name, self._measured)
            found[tag] = self._errors(model, read, name, places)["mse"]
        read = self._read(model, "test", len(self._subsets["test"]))
        for length, places in self._tested.items():
            errors = self._errors(model, read, "test", places)
            found |= {f"{METRIC_TEST}/{length}/{tag}": error for tag, error in errors.items()}
        return found | (self._examples(model, read) if self.at == self.config.max_epochs else {})

    def _examples(self, model: ExtendedTorchModule, read: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return digits of the test and, after each, the outputs of the cell."""
        outputs = model.accumulate(read[self._shown].unsqueeze(0), every=True)[0]
        digits = self._labels["test"][self._shown].to(outputs)
        found: dict[str, torch.Tensor] = {}
        for step, digit in enumerate(digits):
            found[f"metric/test/shown/{step + 1}/digit"] = digit
            for place in range(model.outputs):
                found[f"metric/test/shown/{step + 1}/{place}"] = outputs[step, place]
        return found

    def _read(self, model: ExtendedTorchModule, name: str, count: int) -> torch.Tensor:
        """Return what the image network makes of the first images, `(images, features)`."""
        parts = torch.arange(count, device=self.device).split(IMAGES_AT_ONCE)
        return torch.cat([model.reader(self._seen(name, part)) for part in parts])

    def _errors(
        self, model: ExtendedTorchModule, read: torch.Tensor, name: str, places: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return errors after the last digit, and the share of sequences with the right answer.

        An answer is right if all outputs round to the true values. A count of a single image is
        right if the output of its digit is the largest.
        """
        y = model.accumulate(read[places]).squeeze(-2)
        t = self._answers(name, places)[:, -1]
        if places.shape[-1] == 1 and self.config.task == "count":
            right = y.argmax(-1) == t.argmax(-1)
        else:
            right = (y.round() == t).all(-1)
        error = y - t
        return {"mse": (error**2).mean(), "mae": error.abs().mean(), "acc": right.to(y).mean()}


def training_places(count: int, length: int, seed: int, epoch: int) -> np.ndarray:
    """Return places of `count` images cut into sequences, in another order in each epoch."""
    return _cut(np.random.default_rng((seed, epoch)).permutation(count), length)


def fixed_places(count: int, length: int, seed: int, repeats: int = 1) -> np.ndarray:
    """Return places of `count` images, `repeats` times over in a new order, cut into sequences.

    Orders depend on `seed` alone: sequences of all lengths are cut from the same orders.
    """
    random = LegacyRandom(seed)
    return _cut(np.concatenate([random.permutation(count) for _ in range(repeats)]), length)


def _cut(order: np.ndarray, length: int) -> np.ndarray:
    count = len(order) // length
    if count == 0:
        raise ValueError(f"{len(order)} images make no sequence of {length}; ask for shorter ones")
    return order[: count * length].reshape(count, length)


# A check, a script or a flag is a few lines of a table.
# fmt: off
def _check_images(c: Config) -> None:
    refuse(c.cnn == "mlp8" and c.digit_source != "digits", "--cnn",
        f"mlp8 reads images of 8 x 8, those of --digit-source {c.digit_source} are larger",
        "use --cnn small, or --digit-source digits")
    refuse(c.cnn != "small" and c.cnn_dropout, "--cnn-dropout", f"--cnn {c.cnn} has no dropout",
        "leave it out, or use --cnn small")
    refuse(c.cnn_dropout == 1, "--cnn-dropout", "1 leaves everything out", "give less than 1")


_TASK = (
    choice("--task", "count", "Count how often each digit was seen, or add the digits up.",
        tuple(OUTPUTS), in_name="t-{task}"),
    LAYER_TYPE.but(default="NAC", choices=cell_names,
        help="Recurrent cell, by its key or name; an output layer follows LSTM, GRU and RNNs."),
    choice("--cnn", "small",
        "Image network: PyTorch's example of 2017, with filters of 10 and 20 and a hidden "
        "layer of 50 (small); of 2018, with 20, 50 and 500 (large); or a hidden layer of "
        "64 on digits of 8 x 8 (mlp8).", tuple(READERS), in_name="c-{cnn}"),
    choice("--sequence-loss", "last", "Compute the loss at the last step only, or at every step.",
        ("last", "all"), in_name="l-{sequence_loss}"),
    *(shared.DIGIT_SOURCE.but(in_name="d-{digit_source}"), shared.DATA_DIR),
    Flag("--interpolation-length", integer(1), 10,
        "Length of the sequences of training and validation.", in_name="i-{interpolation_length}"),
    Flag("--extrapolation-lengths", lengths, [1, 100, 1000],
        "Lengths of test sequences, in addition to the training lengths.",
        in_name="e-{extrapolation_lengths:lengths}"),
    Flag("--cnn-outputs", integer(1), None,
        "Outputs of the image network, the inputs of the cell; by default 10 for count and 1 "
        "for sum.", in_name="h-{cnn_outputs}"),
    Flag("--cnn-dropout", number(0, maximum=1), 0.0,
        "Part of the small image network that each update leaves out: whole channels of its "
        "second convolution, and hidden units. PyTorch's example has 0.5.",
        in_name="do-{cnn_dropout}"),
    Flag("--test-repeats", integer(1, 10**6), 10,
        "How often all test images are tested, each time in a new order.", unnamed=shared.TESTING),
    shared.MEASURED_EPOCHS.but(default=100),
)
SCRIPT = shared.task_script(
    "mnist_counting",
    summary="Train an image network and a cell to count or add the digits of a sequence.",
    example="--task count --layer-type NAC --seed 0-2",
    task=_TASK,
    checks=(_check_images,), batch_size=64, learning_rate=1e-3, clip_grad_norm=1, log_interval=1,
    unit="Epochs",
)
TASK = CountingTask
