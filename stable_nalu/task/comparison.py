"""Comparisons of numbers, trained on one digit and tested on up to nineteen.

The task of the Neural Status Register; the published script compares other numbers than it labels.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.network.dense import ACTIVATIONS, layers_between
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import and_layers, choice, integer, number
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS
from stable_nalu.training import floats
from stable_nalu.training.task import Batch, Goal, Kind
from stable_nalu.writer import event_file as tags
from stable_nalu.writer.event_file import ERROR_CURVE, METRIC_TEST, METRIC_VALID

from .shared import RowsTask, error_table, task_script

RELATIONS = {name: getattr(operator, name) for name in ("gt", "lt", "ge", "le", "eq", "ne")}
MAGNITUDES = range(1, 19)
"""Powers of ten of the first number of a test pair."""
FARTHEST = 5
"""By how many scales the second number differs at most."""
NumberPairs = Sequence[tuple[int | float, int | float]]


def training_pairs(relation: str, random: np.random.Generator) -> NumberPairs:
    """Return all pairs of digits; of those that are equal or not, as many of both kinds."""
    digits = range(1, 10)
    every = [(a, b) for a in digits for b in digits]
    if relation not in ("eq", "ne"):
        return every
    unequal = [pair for pair in every if pair[0] != pair[1]]
    chosen = random.choice(len(unequal), len(digits), replace=False)
    return [(a, a) for a in digits] + [unequal[k] for k in chosen]


def pairs_of_magnitude(
    relation: str, scale: float, power: int, random: np.random.Generator
) -> NumberPairs:
    """Return pairs next to a number of so many digits, in both orders; equal ones as training.

    Whole numbers stay whole, as floats cannot tell the largest ones apart.
    """
    step: int | float = int(scale) if scale == int(scale) else scale
    digits = [int(random.integers(1, 10)), *map(int, random.integers(0, 10, power))]
    a = int("".join(map(str, digits)))
    found = [(a, a + i * step) for i in range(-FARTHEST, FARTHEST + 1)]
    if relation in ("eq", "ne"):
        del found[FARTHEST]
        found += [(a, a)] * (2 * FARTHEST)
    return [*found, *((b, a) for a, b in found)]


class ComparisonNetwork(ExtendedTorchModule):
    """x `(*runs, batch, 2)` -> a probability, `(*runs, batch, 1)`.

    An NSR gives one itself. Others are two layers, of a unit or dense ones with an activation
    between them, and a sigmoid.
    """

    def __init__(self, unit_name: str, hidden_size: int = 10, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        self.squashes = unit_name != "NSR"
        sizes = [2, hidden_size, 1] if self.squashes else [2, 1]
        self.layers = layers_between(unit_name, sizes, layer_options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        return torch.sigmoid(y) if self.squashes else y


class ComparisonTask(RowsTask):
    """Tell whether a relation holds; errors are mean absolute ones of the probability."""

    kind = Kind(cost=3)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        self._tests: list[list[Batch]] = []
        super().__init__(config, device, *others)
        self.about = f"dataset: pairs of digits, times {config.scale:g}; is one {RELATION_WORDS}?"

    def rows_of(self, config: Config) -> Batch:
        random, relation, scale = np.random.default_rng(config.seed), config.relation, config.scale
        pairs = [(a * scale, b * scale) for a, b in training_pairs(relation, random)]
        tests = [pairs_of_magnitude(relation, scale, power, random) for power in MAGNITUDES]
        self._tests.append([self._labelled(relation, test) for test in tests])
        return self._labelled(relation, pairs)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation=config.relation)

    @classmethod
    def count(cls, config: Config) -> int:
        return len(training_pairs(config.relation, np.random.default_rng(0)))

    def _labelled(self, relation: str, pairs: NumberPairs) -> Batch:
        """Return inputs `(pairs, 2)` and whether the relation holds `(pairs, 1)`."""
        holds = RELATIONS[relation]
        x = [[float(a), float(b)] for a, b in pairs]
        t = [[float(holds(a, b))] for a, b in pairs]
        rows = (torch.tensor(part, dtype=torch.float64) for part in (x, t))
        return tuple(floats(part, self.device) for part in rows)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return ComparisonNetwork(config.layer_type, config.hidden_size, **layer_options)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor | str]:
        x, t = self.data[run]
        errors = torch.stack([(model(a) - b).abs().squeeze(-1) for a, b in self._tests[run]])
        found: dict[str, Any] = {METRIC_VALID: (model(x) - t).abs().mean()}
        right = (errors < 0.5).double().mean() * 100
        found |= {METRIC_TEST: errors.mean(), tags.ACCURACY_TEST: right}
        if self.at < self.config.max_iterations:
            return found
        return {**found, ERROR_CURVE: error_table(MAGNITUDES, errors.mean(-1).tolist())}


RELATION_WORDS = "greater (gt, ge), less (lt, le) or equal (eq, ne)"


# A flag is a few lines of a table.
# fmt: off
_TASK = (
    LAYER_TYPE.but(default="NSR", choices=and_layers(lambda: ACTIVATIONS),
        help="The NSR; or a unit, or an activation, of two layers with a sigmoid behind them."),
    choice("--relation", "gt", f"Whether a number is {RELATION_WORDS}.", tuple(RELATIONS),
        in_name="rel-{relation:word}"),
    Flag("--scale", number(above=0), 1.0,
        "Distance of two neighbours: training numbers are 1 to 9 of it.",
        in_name="sc-{scale:float}"),
    Flag("--hidden-size", integer(1), 10, "Width between two layers; the NSR has one.",
        in_name="h{hidden_size}"),
    MAX_ITERATIONS.but(default=50000),
)
SCRIPT = task_script(
    "comparison",
    summary="Train a unit to compare two digits, and test it on up to 19 digits.",
    example="--layer-type NSR --relation gt --pytorch-precision 64 --seed 0-9",
    task=_TASK,
    batch_size=None,
    learning_rate=1e-3, inputs=2, criterion="mae",
)
TASK = ComparisonTask
