"""The adding problem of recurrent networks: which of many numbers are marked, and their sum.

Sequence j has a generator of its own, NumPy's `RandomState((seed + j) mod 2^32)`, which draws the
numbers and then the marked steps among all but the last. The second input is 1 at these, -1 at the
last step, else 0. Numbers are float32, and the target is the sum of the marked ones.

Where the number of marked steps varies, it is drawn from `RandomState(seed)`, one for each sequence
beforehand: the published code draws it from a generator without a seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.npu import MCLSTMCell
from stable_nalu.layer.registry import GeneralizedCell
from stable_nalu.network.arithmetic import MC_LSTM
from stable_nalu.network.dense import Dense
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import cell_names, integer, number
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS, refuse
from stable_nalu.training import floats
from stable_nalu.training.task import Batch, Kind
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .shared import RowsTask, task_script

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


@lru_cache(32)
def _order(seed: int, epoch: int, rows: int) -> np.ndarray:
    return np.random.default_rng((seed, epoch)).permutation(rows)


class AddingNetwork(ExtendedTorchModule):
    """x `(*runs, batch, time, 2)` -> `(*runs, batch, 1)`: a cell, and a dense layer of its end.

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
        zeros = x.new_zeros(*x.shape[:-2], self.hidden_size)
        state = (zeros, zeros) if self.unit_name in ("LSTM", MC_LSTM) else zeros
        return self.read_out(self.cell.unroll(x, state))


class AddingTask(RowsTask):
    """Learn the sum; errors are mean squared ones, those of tests behind the last update alone.

    Each epoch has another order of all sequences; those that do not fill a batch are left out.
    """

    kind = Kind(cost=2000, errors=(METRIC_VALID, f"{METRIC_TEST}/reference"))
    in_torch = ("seed",)

    def rows_of(self, config: Config) -> Batch:
        self.drawn = [0] * len(self.configs)
        return self._rows(TRAIN_SEED, config.train_size)

    def _rows(self, seed: int, rows: int, test: str = "reference") -> Batch:
        x, t = sequences(TESTS[test], seed, rows)
        return floats(torch.from_numpy(x), self.device), floats(torch.from_numpy(t), self.device)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return AddingNetwork(config, **layer_options)

    def batches(self) -> Iterator[Batch]:
        x, t = self.given([0], 1)
        yield torch.from_numpy(x[0, 0]), torch.from_numpy(t[0, 0])

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        every = [[self._next(run) for run in runs] for _ in range(count)]
        x, t = (part.numpy() for part in self.data[0])
        return x[np.array(every)], t[np.array(every)]

    def _next(self, run: int) -> np.ndarray:
        """Return the sequences of the next batch of a run."""
        c = self.configs[run]
        epoch, place = divmod(self.drawn[run], c.train_size // c.batch_size)
        self.drawn[run] += 1
        return _order(c.seed, epoch, c.train_size)[place * c.batch_size :][: c.batch_size]

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        return ((model(x) - t) ** 2).mean((-1, -2))

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        rows = {METRIC_VALID: self._rows(VALIDATION_SEED, self.config.train_size)}
        if self.at >= self.config.max_iterations:
            tested = {
                f"{METRIC_TEST}/{test}": self._rows(TEST_SEED, TESTED, test) for test in TESTS
            }
            rows |= tested
        return {tag: self._error(model, *own) for tag, own in rows.items()}

    def _error(self, model: ExtendedTorchModule, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        runs = () if self.engine is None else (len(self.configs),)
        x = x.expand(*runs, *x.shape)
        parts = zip(x.split(AT_ONCE, -3), t.split(AT_ONCE), strict=True)
        return torch.cat([(model(own) - of) ** 2 for own, of in parts], -2).mean((-1, -2))

    def get_state(self, run: int) -> dict[str, Any]:
        return {"drawn": self.drawn[run]}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.drawn[run] = state["drawn"]


# A flag is a few lines of a table.
# fmt: off
def _check(c: Config) -> None:
    refuse(c.forget_bias and c.layer_type != "LSTM", "--forget-bias",
        f"{c.layer_type} has no forget gate", "leave it out, or use --layer-type LSTM")
    refuse(c.train_size < c.batch_size, "--train-size", f"{c.train_size} sequences make no batch",
        f"give at least --batch-size {c.batch_size}")


_TASK = (
    LAYER_TYPE.but(default=MC_LSTM, choices=lambda: (*cell_names(), MC_LSTM),
        help="Recurrent cell, by its key or name."),
    Flag("--hidden-size", integer(1), 10, "Width of the state of the cell."),
    Flag("--forget-bias", number(), 0.0, "Start value of the biases of an LSTM's forget gates."),
    Flag("--train-size", integer(1), ROWS, "Sequences of training, and of validation."),
    MAX_ITERATIONS.but(default=7800),
)
SCRIPT = task_script(
    "marked_addition",
    summary="Train a cell to add marked ones of a hundred numbers, and test it on more of them.",
    example="--layer-type MC-LSTM --learning-rate 5e-2 --seed 1-100",
    task=_TASK, fragments=("h{hidden_size:int} fb-{forget_bias:float} n{train_size:int}",),
    checks=(_check,), batch_size=128, learning_rate=1e-3, log_interval=780, inputs=2,
)
TASK = AddingTask
