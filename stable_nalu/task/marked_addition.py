"""The adding problem of recurrent networks: which of many numbers are marked, and their sum.

Sequence j has a generator of its own, NumPy's `RandomState((seed + j) mod 2^32)`, which draws the
numbers and then the marked steps among all but the last. The second input is 1 at these, -1 at the
last step, else 0. Numbers are float32, and the target is the sum of the marked ones.

Where the number of marked steps varies, it is drawn from `RandomState(seed)`, one for each sequence
beforehand: the published code draws it from a generator without a seed.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.distribution import IndexLoader
from stable_nalu.layer.base import LSTMCell
from stable_nalu.layer.npu import MCLSTMCell
from stable_nalu.layer.registry import GeneralizedCell
from stable_nalu.network.arithmetic import MC_LSTM
from stable_nalu.network.dense import Dense
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import cell_names, integer, number
from stable_nalu.options.flags import LAYER_TYPE, refuse
from stable_nalu.training import floats
from stable_nalu.training.task import EPOCHS, Batch, Kind, Task
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .shared import MEASURED_EPOCHS, task_script

TRAIN_SEED, VALIDATION_SEED, TEST_SEED = 1806, 11806, 1302
ROWS, TESTED = 10_000, 1000
"""Sequences of training, as many of validation, and those of each test."""
AT_ONCE = 500
"""Sequences that are measured at once."""


class Setting(NamedTuple):
    """Length of sequences, largest number, and fewest and most marked steps."""

    length: int = 100
    largest: float = 0.5
    fewest: int = 2
    most: int = 2


TESTS = {
    "reference": Setting(),
    "length": Setting(length=1000),
    "range": Setting(largest=5.0),
    "terms": Setting(most=20),
    "combination": Setting(500, 2.5, 2, 10),
}


@cache
def sequences(setting: Setting, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and marks, `(rows, length, 2)`, and sums, `(rows, 1)`, in float32."""
    x = np.zeros((rows, setting.length, 2), np.float32)
    sums = np.empty((rows, 1), np.float32)
    counts = np.random.RandomState(seed).randint(setting.fewest, setting.most + 1, rows)
    for j, count in enumerate(counts):
        random = np.random.RandomState((seed + j) % 2**32)
        x[j, :, 0] = random.uniform(0, setting.largest, setting.length)
        marked = random.choice(setting.length - 1, count, replace=False)
        x[j, marked, 1] = 1
        sums[j] = x[j, marked, 0].sum()
    x[:, -1, 1] = -1
    return x, sums


class AddingNetwork(ExtendedTorchModule):
    """x `(batch, time, 2)` -> `(batch, 1)`: a cell, and a dense layer of its last output.

    Recurrent weights of an LSTM start as identities, its forget gates at `forget_bias`. All states
    start at 0.
    """

    def __init__(self, c: Config, **layer_options: Any):
        super().__init__("network")
        self.unit_name, self.hidden_size = c.layer_type, c.hidden_size
        self.forget_bias = c.forget_bias
        sizes: Any = (2, c.hidden_size)
        if c.layer_type == MC_LSTM:
            self.cell = MCLSTMCell(*sizes, auxiliary=1, name="cell")
        else:
            self.cell = GeneralizedCell(*sizes, c.layer_type, name="cell", **layer_options)
        self.read_out = Dense(c.hidden_size, 1, name="read_out")

    @torch.no_grad()
    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.unit_name == "LSTM":
            cell, size = self.cell.cell, self.hidden_size
            cell.weight_hh.copy_(torch.eye(size).repeat(4, 1))
            cell.bias_ih[size : 2 * size] = self.forget_bias
            cell.bias_hh[size : 2 * size] = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        zeros = x.new_zeros(len(x), self.hidden_size)
        state: Any = (zeros, zeros) if self.unit_name in ("LSTM", MC_LSTM) else zeros
        if self.unit_name != "LSTM":
            return self.read_out(self.cell.unroll(x, state))
        own: LSTMCell = self.cell.cell
        weights = [own.weight_ih, own.weight_hh, own.bias_ih, own.bias_hh]
        start = [zeros.unsqueeze(0)] * 2
        states, *_ = torch.lstm(x, start, weights, True, 1, 0.0, self.training, False, True)
        return self.read_out(states[:, -1])


class AddingTask(Task):
    """Learn the sum; errors are mean squared ones, those of tests behind the last epoch alone."""

    kind = Kind(EPOCHS, cost=50_000, errors=(METRIC_VALID, f"{METRIC_TEST}/reference"))

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        self._train = self._rows(TRAIN_SEED, config.train_size)
        self._valid = self._rows(VALIDATION_SEED, config.train_size)
        self.about = f"dataset: {config.train_size} sequences of 100 numbers, two of them marked"

    def _rows(self, seed: int, rows: int, setting: Setting = TESTS["reference"]) -> Batch:
        x, t = sequences(setting, seed, rows)
        return floats(torch.from_numpy(x), self.device), floats(torch.from_numpy(t), self.device)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return AddingNetwork(config, **layer_options)

    def batches(self) -> IndexLoader:
        x, t = self._train
        return IndexLoader(len(x), self.config.batch_size, True, lambda rows: (x[rows], t[rows]))

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor]]:
        yield METRIC_VALID, self._error(model, self._valid)
        if self.at == self.config.max_epochs:
            for name, setting in TESTS.items():
                rows = self._rows(TEST_SEED, TESTED, setting)
                yield f"{METRIC_TEST}/{name}", self._error(model, rows)

    def _error(self, model: ExtendedTorchModule, rows: Batch) -> torch.Tensor:
        parts = zip(*(part.split(AT_ONCE) for part in rows), strict=True)
        return torch.cat([(model(x) - t) ** 2 for x, t in parts]).mean()


# A flag is a few lines of a table.
# fmt: off
def _check_forget(c: Config) -> None:
    refuse(c.forget_bias and c.layer_type != "LSTM", "--forget-bias",
        f"{c.layer_type} has no forget gate", "leave it out, or use --layer-type LSTM")


_TASK = (
    LAYER_TYPE.but(default=MC_LSTM, choices=lambda: (*cell_names(), MC_LSTM),
        help="Recurrent cell, by its key or name."),
    Flag("--hidden-size", integer(1), 10, "Width of the state of the cell."),
    Flag("--forget-bias", number(), 0.0, "Start value of the biases of an LSTM's forget gates."),
    Flag("--train-size", integer(1), ROWS, "Sequences of training, and of validation."),
    MEASURED_EPOCHS.but(default=100),
)
SCRIPT = task_script(
    "marked_addition",
    summary="Train a recurrent cell to add the marked ones of a hundred numbers, and test it on "
    "more numbers, larger ones and more marks.",
    example="--layer-type MC-LSTM --learning-rate 5e-2 --seed 1-100",
    task=_TASK,
    fragments=("h{hidden_size:int} fb-{forget_bias:float} n{train_size:int}",),
    checks=(_check_forget,), batch_size=128, learning_rate=1e-3, log_interval=10, unit="Epochs",
)
TASK = AddingTask
