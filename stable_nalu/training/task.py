"""What an experiment is to the loop that trains it: its data, network, loss, measures and log."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.distribution import IndexLoader
from stable_nalu.options import Config
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .recorder import LogRecord, Observed, StepLosses
from .step import Penalties, SummedPenalties, TrainingStep

if TYPE_CHECKING:
    import numpy as np

    from stable_nalu.dataset.simple_function import FunctionTargets, SampleStream
    from stable_nalu.statistics.setups import Limit

Batch = tuple[Any, ...]
"""Inputs and targets: whatever the network and the loss of a task take."""

Measured = Mapping[str, Any] | Iterator[tuple[str, Any] | None]
"""Numbers and texts by their tags, of stacked runs a text for each; None where measuring may stop.

A run that stops there measures again when it is resumed.
"""

Results = Mapping[str, float] | None
"""The results of a trained run; None before it trains."""

Drawn = Callable[[Sequence[int], int], "tuple[np.ndarray, np.ndarray]"]
"""Makes the next samples of some runs: x `(iterations, runs, batch, in)` and t."""


@dataclass(frozen=True)
class Unit:
    """What a script counts its training in.

    flag: the flag that says how much is trained: the last unit or, if it `counts`, their number.
    """

    name: str
    flag: str
    counts: bool = False

    def last(self, config: Config) -> int:
        """Return the last unit to train; counting starts at 0."""
        return getattr(config, self.flag.removeprefix("--").replace("-", "_")) - self.counts


ITERATIONS = Unit("iteration", "--max-iterations")
EPOCHS = Unit("epoch", "--max-epochs")


@dataclass(frozen=True)
class Kind:
    """What all runs of a script have in common.

    unit: what training is counted in; an iteration has one batch. cost: iterations of a small layer
    that take as long as a unit. all_cores: whether one run gains from all cores. penalties: how
    they are weighed; by_unit: whether they follow units rather than steps of the log; guided:
    whether they follow validation errors. exporter: the script below `export/` that makes a table
    of its runs. errors: tags of validation and test, by which runs are judged. reported: flags that
    come first on the console and in the file of results of the script, in published order; most
    scripts have no such file.
    """

    unit: Unit = ITERATIONS
    cost: int = 1
    all_cores: bool = False
    penalties: type[Penalties] = SummedPenalties
    by_unit: bool = False
    guided: bool = False
    exporter: str = "runs.py"
    errors: tuple[str | None, str | None] = (METRIC_VALID, METRIC_TEST)
    reported: tuple[str, ...] = ()


@dataclass(frozen=True)
class Logging:
    """How a script logs, as published.

    interval: units between two log points; None: the flag says it. updates: whether a logged update
    is an event of its own, and the last unit no log point; else losses are means over the unit. The
    trained model is then measured even behind a log point, and what depends on the iteration is
    measured as of the update that follows. long: units are so long that training may stop within
    them, that each update has a step of its own, besides the unit's number, and that the trained
    model is measured only where a log point is missing; nothing is logged of a run that has
    diverged behind its last log point. apart: measures are an event of their own, before the
    update's, and are made of the trained model in any case. draws: layers draw while models are
    measured. infinity: an infinite last loss counts as diverged. quiet_betas: the growing factor of
    penalties is logged with --verbose only. line: what the console shows of a log point, by loss,
    penalty, total, the errors `valid` and `test`, and what is `measured`. lines: iterations between
    two of these lines; None: a line for each log point. results: names of errors among the results
    of a run, and their tags; where updates are logged, the last loss comes first.
    """

    interval: int | None = None
    updates: bool = False
    long: bool = False
    apart: bool = False
    draws: bool = False
    infinity: bool = False
    quiet_betas: bool = False
    line: str = "{loss}"
    lines: int | None = None
    results: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Goal:
    """By which logged errors a run is judged; when it is solved, and what it learns, if these say.

    operation: in a word, where no flag of that name says it.
    """

    valid: str | None = METRIC_VALID
    test: str | None = METRIC_TEST
    limit: "Limit | None" = None
    operation: str | None = None


@dataclass(frozen=True)
class Target:
    """The function that a network is to learn.

    x, t: inputs of the training range, and what is right there. intervals: those that inputs of the
    test lie in. limit: when an error, as a part of `scale`, is low enough.
    """

    targets: "FunctionTargets"
    x: torch.Tensor
    t: torch.Tensor
    intervals: Sequence[tuple[float, float]]
    limit: "Limit"
    scale: float = 1.0


@dataclass(frozen=True)
class Shape:
    """What an engine must know of a task: batch, how it evaluates, what it observes, penalties.

    sample: the shape of the inputs of a sample, if it is not a vector. draws: whether layers may
    draw noise.
    """

    batch: int
    inputs: int
    outputs: int
    eval_mode: bool | None
    verbose: bool = False
    penalties: type[Penalties] = Penalties
    sample: tuple[int, ...] = (-1,)
    draws: bool = True


class Task:
    """What runs train on and what is measured of them; a subclass overrides what differs.

    A unit, an iteration or an epoch, has batches, one update each. At a log point the model is
    measured as the units before have left it; then the first update of the unit is logged.

    `at` is the unit that is trained, `about` a line on the data.
    """

    kind: ClassVar[Kind] = Kind()
    logging: Logging = Logging()

    def __init__(self, config: Config, device: torch.device, *others: Config):
        """Prepare the data of a run, and of the `others` in a batch of runs."""
        self.config = config
        self.configs = [config, *others]
        self.device = device
        self.at = 0
        self.about = ""

    @classmethod
    def goal(cls, config: Config) -> Goal:
        """Return what a run is judged by."""
        return Goal(*cls.kind.errors)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        """Return the model of a run."""
        raise NotImplementedError

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        """Return the model of a run, whose parameters are drawn twice, as in published runs."""
        model = self.network(config, layer_options)
        model.reset_parameters()
        return model

    def begin(self, step: TrainingStep) -> None:
        """Prepare a unit that PyTorch trains."""

    def end(self, training: Any, units: int) -> None:
        """Do what follows the last of so many units in a `Training`; nothing was due before."""

    def batches(self) -> IndexLoader | Iterator[Batch]:
        """Return the batches of a unit, or a loader for all units."""
        raise NotImplementedError

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        """Return what training makes smaller, without penalties."""
        return criterion(model(x), t)

    def observed(self, clock: int, *, at_log_point: bool) -> Observed | None:
        """Return what is logged of an update at step `clock`; None: nothing."""
        verbose = self.config.verbose
        return Observed(verbose, verbose, verbose, verbose) if at_log_point else None

    def losses(
        self, model: ExtendedTorchModule, result: StepLosses, batch: Batch, *, at_log_point: bool
    ) -> Iterable[LogRecord]:
        """Return what is logged of the losses of an update before it is made, or of their means."""
        return result.records()

    def measures(self, model: ExtendedTorchModule) -> Measured:
        """Return what is measured of a model."""
        raise NotImplementedError

    def results(
        self, errors: Mapping[str, float], measured: Mapping[str, Any], loss: float
    ) -> dict[str, float]:
        """Return the results of a trained run by name.

        errors: for the HParams plugin. measured: the last measures. loss: the last one.
        """
        if not self.logging.updates:
            return dict(errors)
        own = {name: errors[tag] for name, tag in self.logging.results if tag in errors}
        return {"loss_train": loss, **own}

    def report(self, model: ExtendedTorchModule, name: str, results: Results) -> Iterator[str]:
        """Yield what --verbose shows of a single run before it trains or, with results, after."""
        if results is not None:
            return
        if self.about:
            yield f"  - {self.about}"
        if not self.kind.reported:
            yield f"{model}\n\n{name}\n"

    def target(self) -> Target | None:
        """Return the function that the first run is to learn; None: there is no formula of it."""
        return None

    def get_state(self, run: int) -> dict[str, Any]:
        """Return the random generators of a run's data, and plain values that it goes on from."""
        return {}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        """Put the plain values back."""


class EngineTask(Task):
    """A task whose runs the engine trains, many in a batch; in torch each run is alone.

    in_torch: the flags by which runs may differ that torch trains many at once, where the engine
    cannot record them; the loss is then a number for each run.

    in_python: whether samples are drawn by Python alone, as C++ must not or cannot. pause: the
    engine stops after iterations that are multiples of it, as something may then be due. engine:
    what trains the runs in place of torch, if it does. eval_mode: whether models are measured on
    fixed rows in evaluation mode; None: they are not.
    """

    in_python: ClassVar[bool] = False
    eval_mode: ClassVar[bool | None] = None
    in_torch: ClassVar[tuple[str, ...]] = ()
    pause: int | None = None
    engine: Any = None

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        raise NotImplementedError

    @classmethod
    def shape(cls, config: Config) -> Shape:
        """Return what the engine must know of data and logs."""
        how = cls.eval_mode, config.verbose, cls.kind.penalties
        return Shape(cls.count(config), *cls.sizes(config), *how)

    @classmethod
    def count(cls, config: Config) -> int:
        """Return the number of rows of a batch."""
        return config.batch_size

    @classmethod
    def sizes(cls, config: Config) -> tuple[int, int]:
        """Return the numbers of inputs and of outputs."""
        return config.inputs, 1

    def samples(self) -> "tuple[Sequence[SampleStream], Drawn]":
        """Return the streams of all runs, where C++ may draw them, and what draws in Python."""
        raise NotImplementedError

    def begin(self, step: TrainingStep) -> None:
        step.optimizer.learning_rate = step.optimizer.base_rate * self.rate_factor(self.at)

    def rate_factor(self, at: int) -> float:
        """Return what the learning rate is multiplied by in an iteration."""
        return 1.0

    def observed_at_end(self, step: TrainingStep) -> list[LogRecord]:
        """Return what is logged of the trained modules, if the last unit is no log point."""
        return []
