"""The notebook's addition: two NALUs learn the sum of ten numbers.

Section "Experiments" of the notes with the notebook. Its last evaluation trains on the test rows;
here these are only measured, unless `--train-on-test` says otherwise.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu import functional
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import UsageError
from stable_nalu.base.papers import FLAT
from stable_nalu.dataset import simple_function
from stable_nalu.layer.registry import GeneralizedLayer
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options.flag import and_layers, integer
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS
from stable_nalu.statistics import setups
from stable_nalu.training import floats
from stable_nalu.training.recorder import LogRecord, StepLosses
from stable_nalu.training.task import Batch, Kind, Target
from stable_nalu.writer import event_file as tags

from .arithmetic import READ_ROWS
from .shared import RowsTask, task_script

INPUTS = 10
SPLIT = 4
"""The first sum takes so many inputs, the second one the others."""
TRAIN_HIGH, TEST_HIGH = 10.0, 100.0


class NotebookNetwork(ExtendedTorchModule):
    """x `(*runs, batch, input_size)` -> `(*runs, batch, 1)`: two layers of one unit."""

    def __init__(self, unit_name: str, input_size: int = 10, hidden_size: int = 2, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        for name, sizes in (("layer_1", (input_size, hidden_size)), ("layer_2", (hidden_size, 1))):
            self.add_module(name, GeneralizedLayer(*sizes, unit_name, name=name, **layer_options))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer_2(self.layer_1(x))


class NotebookTask(RowsTask):
    """Add up each row; the loss is half the sum, over all rows, of squared errors.

    Training rows are uniform in [0, 10), as many test rows in [0, 100), drawn once from a seed.
    """

    kind = Kind(cost=100, errors=(None, tags.METRIC_TEST_HALF_SUM))

    def __init__(self, config: Config, device: torch.device, *others: Config):
        self.test_rows: list[Batch] = []
        super().__init__(config, device, *others)
        self.about = f"dataset: {config.train_size} rows of {INPUTS} numbers and their sum"

    def rows_of(self, config: Config) -> Batch:
        random = np.random.default_rng(config.seed)
        rows = self._drawn(random, TRAIN_HIGH)
        self.test_rows.append(self._drawn(random, TEST_HIGH))
        return rows

    @classmethod
    def count(cls, config: Config) -> int:
        return config.train_size

    def _drawn(self, random: np.random.Generator, high: float) -> Batch:
        """Return inputs `(rows, 10)` and targets `(rows, 1)`."""
        x = random.random((self.config.train_size, INPUTS)) * high
        a, b = x[:, :SPLIT].sum(1, keepdims=True), x[:, SPLIT:].sum(1, keepdims=True)
        rows = torch.from_numpy(x), torch.from_numpy(a + b)
        return tuple(floats(part, self.device) for part in rows)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return NotebookNetwork(config.layer_type, INPUTS, **layer_options)

    @property
    def _trains_on_test(self) -> bool:
        """Whether the update of this unit is the notebook's slip."""
        return self.config.train_on_test and self.at == self.config.max_iterations

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        if self._trains_on_test:
            return self.laid([self.test_rows[run] for run in runs])
        return super().given(runs, count)

    def losses(
        self, model: ExtendedTorchModule, result: StepLosses, batch: Batch, *, at_log_point: bool
    ) -> Iterator[LogRecord]:
        yield from result.records()
        yield LogRecord(tags.LOSS_HALF_SUM, result.criterion)
        yield LogRecord(tags.LOSS_MSE, self._mean(result.criterion))
        if self._trains_on_test:
            for tag, value in self.measures(model).items():
                yield LogRecord(f"{tag}{tags.AFTER_SUFFIX}", value)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor]:
        x, t = self.test_rows[run]
        half_sum = functional.CRITERIA["half-sum"](model(x), t)
        return {tags.METRIC_TEST_HALF_SUM: half_sum, tags.MSE_TEST: self._mean(half_sum)}

    def _mean(self, half_sum: torch.Tensor) -> torch.Tensor:
        return half_sum * 2 / self.config.train_size

    def get_state(self, run: int) -> dict[str, Any]:
        return {"trained_on_test": self._trains_on_test}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        if state["trained_on_test"] and self.at < self.config.max_iterations:
            raise UsageError(
                "argument --train-on-test: the last update of this run was on its test rows, so it "
                "cannot go on; start anew with --remove-existing-data"
            )

    def target(self) -> Target:
        slices = [(0, SPLIT), (SPLIT, INPUTS)]
        targets = simple_function.FunctionTargets(simple_function.OPERATIONS["add"], slices)
        x, t = (rows[:READ_ROWS] for rows in self.data[0])
        return Target(targets, x, t, [(0.0, TEST_HIGH)], setups.Limit(FLAT))


# A flag is a few lines of a table.
# fmt: off
_TASK = (
    LAYER_TYPE.but(help="Unit of both layers, by its key or name.", choices=and_layers(dict)),
    Flag("--train-size", integer(1), 10000, "Number of training rows, and of test rows.",
        in_name="n{train_size}"),
    MAX_ITERATIONS.but(default=50000),
    switch("--train-on-test",
        "Make the last update on the test rows, as the notebook's last evaluation does by "
        "mistake; the errors behind it are logged, too.", young=True, in_name="tt"),
)
SCRIPT = task_script(
    "notebook_addition",
    summary="Train two layers on the sum of ten numbers, all rows at once, as in a notebook.",
    example="--layer-type NALU --seed 0-99",
    task=_TASK,
    batch_size=None, learning_rate=0.1, nalu_init="truncated", inputs=INPUTS, criterion="half-sum",
)
TASK = NotebookTask
