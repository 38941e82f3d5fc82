"""Powers and sums of inputs: the tasks of the NPU paper's tables (Heim et al. 2020).

`four` is (x + y, x y, x / y, sqrt x) of two uniform inputs, from 0.1, measured by mean absolute
errors on a grid that holds negative inputs. The others are a + b, a b, 1 / a and sqrt a of sums of
100 inputs, a of the first to the 50th, b of the 39th to the 88th: points of a Sobol sequence that
goes on through training and is the same for all runs, without the origin.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.simple_function import numpy_type
from stable_nalu.dataset.sobol import SobolPoints
from stable_nalu.network.pair import ONE_UNIT, PairNetwork
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import choice, integer, number
from stable_nalu.training import floats
from stable_nalu.training.step import Penalties
from stable_nalu.training.task import Batch, Goal, Kind
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .shared import MeasuredTask, large_weights, task_script

Sums = Callable[[np.ndarray, np.ndarray], np.ndarray]
OF_SUMS: dict[str, tuple[Sums, tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "add": (lambda a, b: a + b, (-1, 1), (-2, 2), (-4, 4)),
    "mul": (lambda a, b: a * b, (-1, 1), (-2, 2), (-4, 4)),
    "inv": (lambda a, b: 1 / a, (0, 0.5), (-0.5, 0), (-0.5, 0.5)),
    "sqrt": (lambda a, b: np.sqrt(a), (0, 2), (0, 4), (0, 4)),
}
"""Name -> targets of both sums, ranges of training, of the test by the code, and by the paper."""
FOUR = ("add", "mul", "div", "sqrt")
WIDE = 100
TESTED, VALIDATED = 10_000, 1000
PAPER_TEST, OF_ROOTS = "metric/test/range-of-paper", "metric/test/sqrt"


def scaled(points: np.ndarray, interval: tuple[float, float]) -> np.ndarray:
    return interval[0] + (interval[1] - interval[0]) * points


def targets(function: str, x: np.ndarray) -> np.ndarray:
    """Return the targets `(..., outputs)` of inputs."""
    with np.errstate(all="ignore"):
        if function == "four":
            a, b = x[..., 0], x[..., 1]
            return np.stack((a + b, a * b, a / b, np.sqrt(a)), -1)
        sums = x[..., :50].sum(-1), x[..., 38:88].sum(-1)
        return OF_SUMS[function][0](*sums)[..., None]


def grid(low: float, high: float, step: float) -> np.ndarray:
    axis = low + step * np.arange(round((high - low) / step) + 1)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


class PowersTask(MeasuredTask):
    """Learn powers and sums; the inputs of an iteration of a wide task follow from its number."""

    kind = Kind(cost=4, penalties=Penalties)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.random = [LegacyRandom(own.seed) for own in self.configs]
        self.drawn = [0] * len(self.configs)
        self.points = SobolPoints(WIDE)
        if config.function == "four":
            self.inputs = 0.1, config.upper
            tests = {METRIC_VALID: grid(0.1, 2.1, 0.1), METRIC_TEST: grid(-4.1, 3.9, 0.2)}
            tests[OF_ROOTS] = grid(0.1, 4, 0.1)
        else:
            _, self.inputs, far, of_paper = OF_SUMS[config.function]
            points = self.points(1, TESTED)
            tests = {METRIC_TEST: scaled(points, far), PAPER_TEST: scaled(points, of_paper)}
            tests[METRIC_VALID] = scaled(points[:VALIDATED], self.inputs)
        self.tests = {tag: self._rows(x) for tag, x in tests.items()}
        self.about = f"dataset: {config.function} of inputs in {self.inputs}"

    def _rows(self, x: np.ndarray) -> Batch:
        own = (torch.from_numpy(part) for part in (x, targets(self.config.function, x)))
        return tuple(floats(part, self.device) for part in own)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation=config.function)

    @classmethod
    def sizes(cls, config: Config) -> tuple[int, int]:
        return (2, 4) if config.function == "four" else (WIDE, 1)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        inputs, outputs = cls.sizes(config)
        own = {"sums_first": config.sums_first, "positive": config.start == "positive"}
        sizes = inputs, config.hidden_size, outputs
        return PairNetwork(config.layer_type, *sizes, own | layer_options)

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        batch, (inputs, _) = self.config.batch_size, self.sizes(self.config)
        if self.config.function == "four":
            x = np.stack([self.random[run].doubles((count, batch, inputs)) for run in runs], 1)
        else:
            points = self.points(self.drawn[runs[0]] * batch + 1, count * batch)
            x = points.reshape(count, 1, batch, inputs)
        for run in runs:
            self.drawn[run] += count
        x = scaled(x, self.inputs)
        kind = numpy_type(torch.get_default_dtype())
        pair = (v.astype(kind) for v in (x, targets(self.config.function, x)))
        x, t = (np.repeat(v, len(runs) // v.shape[1], 1) for v in pair)
        return x, t

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor]:
        errors, found = {tag: model(x) - t for tag, (x, t) in self.tests.items()}, {}
        if self.config.function == "four":
            near, roots = (errors.pop(tag).abs().mean(0) for tag in (METRIC_TEST, OF_ROOTS))
            four = torch.cat((near[:-1], roots[-1:]))
            found = {f"metric/test/{name}": error for name, error in zip(FOUR, four, strict=True)}
            found[METRIC_TEST] = four.mean()
        squares = {tag: (error**2).mean() for tag, error in errors.items()}
        return squares | found | large_weights(model, 0.01, 0.001)

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.random[run], "drawn": self.drawn[run]}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.drawn[run] = state["drawn"]


# A flag is a few lines of a table.
# fmt: off
_UNITS = ("NPU", "RealNPU", "ReRegualizedLinearMNAC", *ONE_UNIT)
_TASK = (
    common.LAYER_TYPE.but(default="NPU", choices=lambda: _UNITS,
        help="The unit, with a plain sum as its other layer; a NALU, an iNALU and an activation "
        "make all layers."),
    choice("--function", "four",
        "What is learned: four functions of two inputs, or one of two sums of 100 inputs.",
        ("four", *OF_SUMS), in_name="f-{function:word}"),
    Flag("--upper", number(above=0.1), 2.1, "Upper end of the inputs of four; the lower is 0.1.",
        in_name="u-{upper:float}"),
    Flag("--hidden-size", integer(1), 6, "Width between the layers.", in_name="h{hidden_size:int}"),
    switch("--sums-first", "Let the plain sum be the first layer.", in_name="sf{sums_first:bool}"),
    choice("--start", "glorot", "Initial weights: uniform by sizes; or uniform from 0 to 0.1, with "
        "open gates.", ("glorot", "positive"), in_name="st-{start:word}"),
    *common.NPU_PENALTIES.only("--regualizer-l1", "--regualizer-beta-start",
        "--regualizer-beta-end", "--regualizer-beta-step", "--regualizer-beta-growth"),
    common.MAX_ITERATIONS.but(default=20000),
)
SCRIPT = task_script(
    "powers",
    summary="Train a unit and a sum on products, quotients and roots, or on two wide sums.",
    example="--layer-type RealNPU --function four --learning-rate 5e-3 --seed 0-19",
    task=_TASK,
    fragments=(nf.L1, nf.BETA),
    batch_size=100, learning_rate=5e-3, inputs=WIDE,
)
TASK = PowersTask
