"""What an experiment is to the loop that trains it; only its methods need torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from stable_nalu.base.tags import METRIC_TEST, METRIC_VALID, RESULT_TEST
from stable_nalu.options import Config

if TYPE_CHECKING:
    import numpy as np
    import torch

    from stable_nalu.abstract import ExtendedTorchModule
    from stable_nalu.dataset.distribution import LegacyRandom
    from stable_nalu.dataset.loader import IndexLoader
    from stable_nalu.dataset.stream import FunctionTargets
    from stable_nalu.statistics.setups import Limit

    from .console import LogPoint
    from .loss import Penalties
    from .recorder import Gradients, StepResult, TaggedValue

Batch = tuple[Any, ...]
"""Inputs and targets: whatever the network and the loss of a task take."""


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
class Observed:
    """What a logged update tells besides its losses.

    modules: what modules observe. penalties: every single penalty. gradients: those of parameters.
    verbose: whether modules tell what is for verbose logs alone.
    """

    modules: bool = False
    penalties: bool = False
    gradients: bool = False
    verbose: bool = False


@dataclass(frozen=True)
class Sought:
    """The function that a task asks for, which what a network computes is held against.

    x, t: inputs of the training range, and what is right there. intervals: those that inputs of the
    test lie in. limit: when an error, as a part of `scale`, is low enough.
    """

    targets: FunctionTargets
    x: torch.Tensor
    t: torch.Tensor
    intervals: Sequence[tuple[float, float]]
    limit: Limit
    scale: float = 1.0


class Task:
    """What runs train on and what is measured of them; a subclass overrides what differs.

    A unit, an iteration or an epoch, has batches, one update each. At a log point the model is
    measured as the units before have left it; then the first update of the unit is logged.
    """

    unit: ClassVar[Unit] = ITERATIONS
    cost: ClassVar[int] = 1
    """Iterations of a small layer that take as long as a unit."""
    all_cores: ClassVar[bool] = False
    """Whether one run gains from all cores."""
    by_engine: ClassVar[bool] = False
    """Whether the engine may train runs, many in a stack; else each is alone, as torch rounds by
    shapes."""
    finite: ClassVar[tuple[str, ...]] = ()
    """Results of a run that has diverged if they are not finite."""
    exporter: ClassVar[str] = "runs.py"
    """The script below `export/` that makes a table of its runs."""
    has_formula: ClassVar[bool] = False
    """Whether a formula says what a trained network computes."""

    logs_updates: ClassVar[bool] = False
    """Whether a logged update is an event of its own, as published scripts log it, and the last
    unit no log point; else losses are means over the unit. Unless units are long
    (`updates`), the trained model is then measured even behind a log point, and what depends on the
    iteration is measured as of the update that follows, if it is part of its event."""
    measures_apart: bool = False
    """Whether measures are an event of their own, beside that of a logged update."""
    tells_infinity: ClassVar[bool] = False
    """Whether a run has diverged, too, if its last loss is infinite."""

    at = 0
    """The unit that is trained."""
    ended = False
    """Whether all units are trained."""
    rows: Batch | None = None
    """The one batch of a task that trains on all its rows in every update."""
    loader: IndexLoader | None = None
    """The batches of a task that shuffles stored rows in every unit."""
    order: torch.Tensor | None = None
    rate: float | None = None
    """The learning rate, where it is not what a flag says."""
    updates: int | None = None
    """Updates of a unit so long that training may stop between two of them, and that each update
    has a step of its own in logs, beside the unit's number. Nothing is logged of a run that has
    diverged behind its last log point, as published."""

    engine: Any = None
    """What trains the runs in place of torch, if it does."""

    def __init__(self, config: Config, device: torch.device, *beside: Config):
        """Prepare the data of a run, and of those `beside` it in a stack of the engine's."""
        self.config = config
        self.configs = [config, *beside]
        self.device = device
        found = [self.limit(one) for one in self.configs]
        self.limits = [] if None in found else [one for one in found if one]

    @classmethod
    def asked(cls, config: Config) -> str:
        """Return what a run learns, in a word: its operation, where there is one."""
        return str(getattr(config, "operation", config.spec.name))

    @classmethod
    def error_tags(cls, config: Config) -> tuple[str | None, str | None]:
        """Return the tags of the validation and the test error of a run."""
        return METRIC_VALID, METRIC_TEST

    @classmethod
    def limit(cls, config: Config) -> Limit | None:
        """Return when a run counts as solved, where the task says it."""
        return None

    @classmethod
    def shown(cls, config: Config) -> dict[str, Any]:
        """Return what the console shows of a configuration."""
        return config.as_dict()

    def own(self, values: torch.Tensor) -> torch.Tensor:
        """Return numbers on the device and in the precision that models compute in."""
        import torch

        return values.to(self.device, torch.get_default_dtype())

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        """Return the model of a run."""
        raise NotImplementedError

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        """Return the model of a run, whose parameters are drawn anew, as in published runs."""
        model = self.network(config, layer_options)
        model.reset_parameters()
        return model

    def rate_factor(self, at: int) -> float:
        """Return what the learning rate is multiplied by in a unit."""
        return 1.0

    @classmethod
    def programs(cls, config: Config, layer_options: dict[str, Any]) -> Mapping[Any, Any]:
        """Return what the engine makes of a run, by criteria, or raise NotLoweredError."""
        raise NotImplementedError

    def lanes(self, step: Any, layer_options: dict[str, Any]) -> Any:
        """Return the engine of a stack."""
        raise NotImplementedError

    @classmethod
    def kind_of_penalties(cls, config: Config) -> type[Penalties]:
        """Return how penalties are weighed: where no flag says it, as in the recurrent scripts."""
        from .loss import Penalties, SummedPenalties

        return Penalties if hasattr(config, "regualizer") else SummedPenalties

    def introduction(self) -> str:
        """Return a line about the data, or nothing."""
        return ""

    def introduced(self, model: ExtendedTorchModule, name: str) -> Iterator[str]:
        """Yield what --verbose shows of a single run before it trains."""
        if introduction := self.introduction():
            yield f"  - {introduction}"
        yield f"{model}\n\n{name}\n"

    def begin(self) -> None:
        """Prepare a unit that is not begun: draw the order of its batches."""
        self.order = None if self.loader is None else self.loader.begin()

    def batches(self, first: int) -> Iterator[Batch]:
        """Yield the batches of the unit from number `first` on."""
        if self.loader is not None:
            yield from self.loader.batches(self.order, first)
        else:
            assert self.rows is not None, "a task has rows, a loader or batches of its own"
            yield self.rows

    def end(self, total: torch.Tensor | None) -> Sequence[tuple[int, str]]:
        """Do what follows the last update of a unit, whose loss is given.

        Return what the console shows of it: number of a run, line.
        """
        return ()

    def restarts(
        self, at: int, units: int, errors: Mapping[str, np.ndarray]
    ) -> Sequence[tuple[int, int]]:
        """Return the runs to initialise again after `at`, and how often each was before.

        errors: the last ones measured, the same for so many units.
        """
        return ()

    def changes(self, at: int) -> Sequence[int]:
        """Return units after `at` before which the engine must stop, among others."""
        return ()

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        """Return what training makes smaller, without penalties."""
        return criterion(model(x), t)

    def clipped(
        self,
        gradients: Gradients,
        parameters: Sequence[torch.nn.Parameter],
        by_flags: Callable[[Gradients], Gradients],
    ) -> Gradients:
        """Return gradients within limits; `by_flags` brings them within those that flags set."""
        return by_flags(gradients)

    @property
    def log_interval(self) -> int:
        """Return the units between two log points."""
        return self.config.log_interval

    def clock(self, updates: int) -> int:
        """Return the step under which an update is logged that so many are before."""
        return self.at if self.updates is None else updates + 1

    def schedule(self, clock: int) -> int:
        """Return the step that penalties and temperatures of an update follow."""
        return clock

    def observed(self, clock: int, *, at_log_point: bool) -> Observed | None:
        """Return what an update tells; None: nothing is logged of it."""
        verbose = self.config.verbose
        return Observed(verbose, verbose, verbose, verbose) if at_log_point else None

    def observe(self, model: ExtendedTorchModule, verbose: bool) -> list[TaggedValue]:
        """Return what the modules tell about the traced forward pass."""
        from .recorder import observe_modules

        return observe_modules(model, verbose=verbose)

    def logged_gradients(
        self, model: ExtendedTorchModule, gradients: dict[int, torch.Tensor | None]
    ) -> dict[int, torch.Tensor | None]:
        """Return the gradients that are logged, by the ids of their parameters."""
        return gradients

    def logs_beta(self) -> bool:
        """Return whether log points tell the factor of penalties that grows."""
        return True

    def told(
        self, result: StepResult, batch: Batch, *, at_log_point: bool
    ) -> Iterable[TaggedValue]:
        """Return what is logged of an update before it is made."""
        return result.losses() if self.logs_updates else ()

    def losses(self, loss: torch.Tensor, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        """Return what is logged of the unit's mean loss besides itself, and of the model after."""
        return {}

    def evaluate(
        self, model: ExtendedTorchModule
    ) -> Iterator[tuple[str, torch.Tensor | str | Sequence[str]] | None]:
        """Yield numbers and texts by their tags, and None where training may be left for good."""
        with model.no_random():
            yield from self.measures(model).items()

    def measures(
        self, model: ExtendedTorchModule
    ) -> Mapping[str, torch.Tensor | str | Sequence[str]]:
        """Return numbers and texts by their tags; where runs are stacked, a text for each."""
        raise NotImplementedError

    def adapt(self, penalties: Penalties, errors: Mapping[str, np.ndarray]) -> None:
        """Let penalties follow errors that were measured."""

    def inputs_at_end(self) -> Sequence[torch.Tensor] | None:
        """Return inputs `(runs, rows, in)` of which the trained modules are logged; None: not."""
        return None

    def row_is_due(self, last: int) -> bool:
        """Return whether errors of the trained model are logged, as no log point has told them."""
        return last >= 0 and last % self.log_interval != 0

    def end_clock(self, clock: int) -> int:
        """Return the step under which they are."""
        return clock

    def results(
        self, errors: Mapping[str, float], measured: Mapping[str, Any], loss: float
    ) -> dict[str, float]:
        """Return the results of a trained run by name.

        errors: those of the HParams plugin. measured: the last measures. loss: the last one.
        """
        return dict(errors)

    def finished(self, config: Config, results: Mapping[str, float]) -> None:
        """Keep the results of a run elsewhere, too."""

    def shows(self, at: int, *, at_log_point: bool) -> bool:
        """Return whether the console hears of a unit."""
        return at_log_point

    def log_point(
        self,
        at: int,
        result: StepResult,
        errors: Mapping[str, np.ndarray],
        measured: Mapping[str, Any],
    ) -> LogPoint:
        """Return what the console hears of a unit."""
        from .console import LogPoint
        from .recorder import numbers

        of_first = {tag: float(values[0]) for tag, values in errors.items()}
        summary = self.summary(of_first, measured, result.of_first()[0])
        values = errors[RESULT_TEST] if self.limits else numbers(result.criterion)
        return LogPoint(at, values, f"train {at}: {summary}", self.limits)

    def summary(self, errors: Mapping[str, float], measured: Mapping[str, Any], loss: float) -> str:
        """Return what the console shows of a log point."""
        return f"{loss}"

    def report(self, model: ExtendedTorchModule, results: Mapping[str, float]) -> Iterator[str]:
        """Yield what --verbose shows of a single run at its end, besides its results."""
        yield from ()

    def sought(self) -> Sought | None:
        """Return what a formula of the first run is held against; None: it has none."""
        return None

    def generators(self, run: int) -> Sequence[np.random.Generator | LegacyRandom]:
        """Return the random generators of a run's data, which go on when it is resumed."""
        return ()

    def get_state(self, run: int) -> dict[str, Any]:
        """Return plain values that a resumed run needs besides."""
        return {}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        """Put them back."""
