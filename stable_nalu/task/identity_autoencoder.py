"""The identity by a scalar autoencoder: section 1.1 and figure 1 of the NALU paper.

It shows how networks fail beyond their training range. Optimiser, rate and sampling are not
published.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.network.dense import ACTIVATIONS, IdentityNetwork
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import and_layers, choice, integer, interval
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS, refuse
from stable_nalu.training import floats
from stable_nalu.training.task import Batch, Kind
from stable_nalu.writer.event_file import ERROR_CURVE, METRIC_TEST, METRIC_VALID

from .shared import RowsTask, error_table, task_script

POINTS = 101
"""Points of the training range at which the error is measured."""


class IdentityTask(RowsTask):
    """Reconstruct a number; the test error is the mean absolute one outside the training range."""

    kind = Kind(cost=3)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        self.randoms: list[np.random.Generator] = []
        super().__init__(config, device, *others)
        (low, high), (first, last) = config.train_range, config.test_range
        within = torch.linspace(low, high, POINTS, dtype=torch.float64)[:, None]
        self._within = floats(within, device)
        self._numbers = whole_numbers(first, last)
        self._outside = (self._numbers < low) | (self._numbers > high)
        self._over = floats(self._numbers[:, None], device)
        self.about = f"dataset: the identity on [{low}, {high}], {config.train_sampling}"

    def rows_of(self, config: Config) -> Batch:
        self.randoms.append(np.random.default_rng(config.seed))
        if config.train_sampling == "grid":
            x = floats(whole_numbers(*config.train_range)[:, None], self.device)
        else:
            (x,) = self._drawn(self.randoms[-1], 1)
        return x, x

    @classmethod
    def count(cls, config: Config) -> int:
        grid = config.train_sampling == "grid"
        return len(whole_numbers(*config.train_range)) if grid else config.batch_size

    def _drawn(self, random: np.random.Generator, count: int) -> torch.Tensor:
        """Return fresh batches, `(count, batch, 1)`."""
        (low, high), size = self.config.train_range, (count, self.config.batch_size, 1)
        return floats(torch.from_numpy(random.uniform(low, high, size)), self.device)

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        if self.config.train_sampling == "grid":
            return super().given(runs, count)
        x = torch.stack([self._drawn(self.randoms[run], count) for run in runs], 1).numpy()
        return x, x

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        sizes = config.hidden_size, config.hidden_layers
        return IdentityNetwork(config.layer_type, *sizes, **layer_options)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor | str]:
        within = (model(self._within) - self._within).abs()
        over = (model(self._over) - self._over).abs().squeeze(-1)
        found = {METRIC_VALID: within.mean(), METRIC_TEST: over[self._outside].mean()}
        if self.at < self.config.max_iterations:
            return found
        return {**found, ERROR_CURVE: error_table(self._numbers.tolist(), over.tolist())}

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.randoms[run]}


def whole_numbers(low: float, high: float) -> torch.Tensor:
    return torch.arange(math.ceil(low), math.floor(high) + 1, dtype=torch.float64)


# A flag is a few lines of a table.
# fmt: off
def _check_ranges(c: Config) -> None:
    (low, high), (first, last) = c.train_range, c.test_range
    refuse(first >= low and last <= high, "--test-range",
        f"[{first},{last}] lies within --train-range [{low},{high}]",
        "nothing is extrapolated; give a wider one")
    refuse(c.train_sampling == "grid" and high - low < 1, "--train-range",
        f"[{low},{high}] is too narrow for --train-sampling grid, its whole numbers",
        "give a wider one, or --train-sampling uniform")


_TASK = (
    LAYER_TYPE.but(default="ReLU", choices=and_layers(lambda: ACTIVATIONS),
        help="Activation of the hidden layers, or the unit of all layers, by its key or name."),
    choice("--train-sampling", "grid",
        "Train on all whole numbers of the range at once, or on a fresh uniform batch of "
        "--batch-size numbers.", ("grid", "uniform"), in_name="t-{train_sampling}"),
    Flag("--train-range", interval, [-5, 5], "Range of the training inputs.",
        in_name="i-{train_range:pair}"),
    Flag("--test-range", interval, [-20, 20], "Range over which the error is measured.",
        in_name="e-{test_range:pair}"),
    Flag("--hidden-size", integer(1), 8, "Width of the hidden layers.",
        in_name="h{hidden_size}x{hidden_layers}"),
    Flag("--hidden-layers", integer(1), 3, "Number of hidden layers."),
    MAX_ITERATIONS.but(default=10000),
)
SCRIPT = task_script(
    "identity_autoencoder",
    summary="Train a scalar autoencoder on the identity, and test it beyond its training range.",
    example="--layer-type Tanh --seed 0-99",
    task=_TASK,
    checks=(_check_ranges,), batch_size=64, learning_rate=1e-2, inputs=1,
)
TASK = IdentityTask
