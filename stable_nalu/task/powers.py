"""Powers and sums of inputs: the tasks of the NPU paper's tables (Heim et al. 2020).

`four` is (x + y, x y, x / y, sqrt x) of two uniform inputs, from 0.1, measured by mean absolute
errors on a grid that holds negative inputs. The others are a + b, a b, 1 / a and sqrt a of sums of
100 inputs, a of the first to the 50th, b of the 39th to the 88th: points of a Sobol sequence that
goes on through training and is the same for all runs, without the origin.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.sobol import SobolPoints
from stable_nalu.network.pair import ONE_UNIT, PairNetwork
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import choice, integer, number
from stable_nalu.training import floats
from stable_nalu.training.step import Penalties
from stable_nalu.training.task import Batch, Drawn, Goal, Kind, Shape
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .shared import MeasuredTask, task_script

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
PAPER_TEST = "metric/test/range-of-paper"


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
        self._points, self._shared = SobolPoints(WIDE), ((-1, 0), np.empty(0))
        self._inputs = (0.1, config.upper)
        tests = {METRIC_VALID: grid(0.1, 2.1, 0.1), METRIC_TEST: grid(-4.1, 3.9, 0.2)}
        if config.function == "four":
            tests["sqrt"] = grid(0.1, 4, 0.1)
        else:
            _, self._inputs, far, of_paper = OF_SUMS[config.function]
            points = self._points(1, TESTED)
            tests = {METRIC_TEST: scaled(points, far), PAPER_TEST: scaled(points, of_paper)}
            tests[METRIC_VALID] = scaled(points[:VALIDATED], self._inputs)
        self.tests = {tag: self._rows(x) for tag, x in tests.items()}
        self.about = f"dataset: {config.function} of inputs in {self._inputs}"

    def _rows(self, x: np.ndarray) -> Batch:
        own = (torch.from_numpy(part) for part in (x, targets(self.config.function, x)))
        return tuple(floats(part, self.device) for part in own)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation=config.function)

    @classmethod
    def shape(cls, config: Config) -> Shape:
        return Shape(config.batch_size, *sizes_of(config), None, config.verbose, Penalties)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        inputs, outputs = sizes_of(config)
        own = {"sums_first": config.sums_first, "positive": config.start == "positive"}
        sizes = inputs, config.hidden_size, outputs
        return PairNetwork(config.layer_type, *sizes, own | layer_options)

    def batches(self) -> Iterator[Batch]:
        yield tuple(floats(torch.from_numpy(v[0, 0]), self.device) for v in self.next_of((0,), 1))

    def samples(self) -> tuple[Sequence[Any], Drawn]:
        return (), self.next_of

    def next_of(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the next samples of some runs: x `(iterations, runs, batch, in)` and t."""
        batch, inputs = self.config.batch_size, sizes_of(self.config)[0]
        if self.config.function == "four":
            shape = count, batch, inputs
            x = np.stack([self.random[run].doubles(shape) for run in runs], 1)
        else:
            place = self.drawn[runs[0]] * batch + 1, count * batch
            if self._shared[0] != place:
                self._shared = place, self._points(*place)
            x = self._shared[1].reshape(count, 1, batch, inputs)
        for run in runs:
            self.drawn[run] += count
        x = scaled(x, self._inputs)
        kind = np.dtype(str(torch.get_default_dtype()).removeprefix("torch."))
        pair = (v.astype(kind) for v in (x, targets(self.config.function, x)))
        return tuple(np.repeat(v, len(runs) // v.shape[1], 1) for v in pair)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor]:
        four, found = self.config.function == "four", dict[str, torch.Tensor]()
        for tag, (x, t) in self.tests.items():
            with torch.no_grad():
                error = model(x) - t
            if not four or tag == METRIC_VALID:
                found[tag] = (error**2).mean()
                continue
            errors = dict(zip(FOUR, error.abs().mean(0), strict=True))
            chosen = FOUR[-1:] if tag == "sqrt" else FOUR[:-1]
            found |= {f"metric/test/{name}": errors[name] for name in chosen}
        if four:
            found[METRIC_TEST] = torch.stack([found[f"metric/test/{n}"] for n in FOUR]).mean()
        own = torch.cat([p.flatten() for p in model.parameters() if p.requires_grad]).abs()
        cuts = {f"metric/weights/above-{cut:g}": own > cut for cut in (0.01, 0.001)}
        return found | {tag: above.sum().float() for tag, above in cuts.items()}

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.random[run], "drawn": self.drawn[run]}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.drawn[run] = state["drawn"]


def sizes_of(config: Config) -> tuple[int, int]:
    return (2, 4) if config.function == "four" else (WIDE, 1)


UNITS = ("NPU", "RealNPU", "ReRegualizedLinearMNAC", *ONE_UNIT)

# A flag is a few lines of a table.
# fmt: off
_TASK = (
    common.LAYER_TYPE.but(default="NPU", choices=lambda: UNITS,
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
