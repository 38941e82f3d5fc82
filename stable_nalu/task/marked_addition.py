"""The adding problem of recurrent networks: which of many numbers are marked, and their sum."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.adding_problem import TESTS, sequences
from stable_nalu.network.arithmetic import MC_LSTM, cell_of
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
        own = {"auxiliary": 1} if c.layer_type == MC_LSTM else layer_options
        self.cell = cell_of(c.layer_type, 2, c.hidden_size, name="cell", **own)
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
    """Learn the sum. Errors are mean squared ones; tests are measured after the last update only.

    Each epoch has another order of all sequences; the ones that do not fill a batch are left out.
    """

    kind = Kind(cost=2000, errors=(METRIC_VALID, f"{METRIC_TEST}/reference"))
    in_torch = ("seed",)
    drawn = 0
    """Batches that each run has had."""

    def rows_of(self, config: Config) -> Batch:
        return self._rows(TRAIN_SEED, config.train_size)

    def _rows(self, seed: int, rows: int, test: str = "reference") -> Batch:
        x, t = sequences(TESTS[test], seed, rows)
        return floats(torch.from_numpy(x), self.device), floats(torch.from_numpy(t), self.device)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return AddingNetwork(config, **layer_options)

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        size, batch, chosen = self.config.train_size, self.config.batch_size, []
        for at in range(self.drawn, self.drawn + count):
            epoch, place = divmod(at, size // batch)
            orders = (_order(self.configs[run].seed, epoch, size) for run in runs)
            chosen.append([order[place * batch :][:batch] for order in orders])
        self.drawn += count
        x, t = (part.numpy()[np.array(chosen)] for part in self.data[0])
        return x, t

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        return ((model(x) - t) ** 2).mean((-1, -2))

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        own: dict[str, Any] = {METRIC_VALID: (VALIDATION_SEED, self.config.train_size)}
        if self.at >= self.config.max_iterations:
            own |= {f"{METRIC_TEST}/{test}": (TEST_SEED, TESTED, test) for test in TESTS}
        return {tag: self._error(model, *self._rows(*how)) for tag, how in own.items()}

    def _error(self, model: ExtendedTorchModule, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        runs = () if self.engine is None else (len(self.configs),)
        x = x.expand(*runs, *x.shape)
        parts = zip(x.split(AT_ONCE, -3), t.split(AT_ONCE), strict=True)
        return torch.cat([(model(own) - of) ** 2 for own, of in parts], -2).mean((-1, -2))

    def get_state(self, run: int) -> dict[str, Any]:
        return {"drawn": self.drawn}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.drawn = state["drawn"]


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
