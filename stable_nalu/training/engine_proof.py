"""Proof that the engine computes the numbers of torch for a user's layer, before it trains one.

Both make a few iterations and an evaluation from several states. A pass may change nothing in
Python.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import (
    ExtendedTorchModule,
    PerRunRandomSource,
    RandomSource,
    default_dtype,
    stack_models,
)
from stable_nalu.base.errors import STOPS, UsageError, in_words
from stable_nalu.base.files import EXTRA_FLAGS
from stable_nalu.base.script import processor
from stable_nalu.layer import python_state
from stable_nalu.layer.python_state import SHARED, PythonState, tensors_of
from stable_nalu.options import Config
from torchlanes.kept import CompileError, kept
from torchlanes.tiles import source

from .engine_model import BuildOne, CriterionPrograms, seeded, structure
from .recorder import StepResult
from .step import TrainingStep
from .task import Shape

EXACT, SINGLE = 1e-12, 1e-6
"""How far the engine's numbers may be from torch's, in float64 and in float32."""
AS_TORCH = 10
"""How many times torch's own error in float32 the engine's may be, where sums cancel."""
TINY = 1e-6
"""Of the largest gradient: what is left of a sum that cancels in float32."""

SEEDS, STATES, ITERATIONS, ROWS = 2, 2, 3, 52
RUNS = SEEDS * STATES
STANDARD = {
    **{"learning_rate": 0.01, "momentum": 0.9, "clip_grad_norm": 0.1, "clip_grad_value": 0.1},
    **{"regualizer": 1.0, "regualizer_oob": 1.0},
    **{"regualizer_scaling_start": 0, "regualizer_scaling_end": 2},
}
"""Numbers that differ between runs of a program, as they are here; what is off stays off."""

Numbers = dict[str, np.ndarray]
GRADIENT = "gradient of "


def doubt(
    config: Config,
    build: BuildOne,
    shape: Shape,
    dtype: torch.dtype,
    programs: CriterionPrograms,
    state: PythonState,
    engine: Callable[..., Any],
) -> str | None:
    """Return a reason to doubt that the engine computes the numbers of torch, or None.

    state: of the recorded model. engine: makes the engine of a stack. The answer depends on the
    structure of a configuration only. It is stored with compiled code.
    """
    if state.uses:
        return f"a layer that reads {state.uses}"
    if state.opaque:
        return f"a layer whose {state.opaque} is opaque"
    comparison = _Comparison(config, build, shape, dtype, engine)
    texts = [source(p.text, double=dtype == torch.float64) for p in programs.values()]
    flags = os.environ.get("CXX"), os.environ.get(EXTRA_FLAGS), processor()
    facts = torch.__version__, structure(config), shape, dtype, *flags, *texts
    code = [Path(file).read_bytes() for file in (__file__, python_state.__file__)]
    parts = [*code, repr(facts).encode(), state.fingerprint]
    try:
        try:
            made = kept(
                "proofs", parts, lambda path: path.write_text(comparison.difference() or "")
            )
            return made.read_text() or None
        except CompileError:  # A cache may have no room.
            return comparison.difference()
    except CompileError:  # Training in torch has this reason already.
        return None
    except (*STOPS, UsageError):
        raise
    except Exception as error:  # A layer may raise anything.
        return f"a layer that cannot be compared: {in_words(error)[:120]}"


class _SameNoise(RandomSource):
    """Draws float32 noise for a model of float64."""

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Any) -> torch.Tensor:
        return super().fill(shape, like.float(), draw).to(like.dtype)


@dataclass
class _Iteration:
    """The state before an iteration or an evaluation, and its numbers."""

    before: dict[str, torch.Tensor]
    numbers: Numbers


class _Comparison:
    """Runs of two seeds, each from two states, by the engine and in torch."""

    def __init__(
        self,
        config: Config,
        build: BuildOne,
        shape: Shape,
        dtype: torch.dtype,
        engine: Callable[..., Any],
    ):
        own = config.as_dict()
        usual = {n: v for n, v in STANDARD.items() if own.get(n) not in (None, 0) or "start" in n}
        self.config = config.replace(**{n: v for n, v in usual.items() if n in own})
        self.build, self.shape, self.dtype, self.engine = build, shape, dtype, engine
        self.rows = ROWS + 4 * (shape.batch == ROWS)
        random = torch.Generator().manual_seed(0)
        sizes = [shape.batch] * ITERATIONS + [self.rows]
        self.samples = [[self._drawn(n, run, random) for run in range(RUNS)] for n in sizes]

    def _drawn(
        self, rows: int, run: int, random: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.empty(rows, self.shape.inputs, dtype=self.dtype)
        x.uniform_(-2 if run % STATES else 0.5, 2, generator=random)
        return x, torch.randn(rows, self.shape.outputs, dtype=self.dtype, generator=random)

    def difference(self) -> str | None:
        """Name the first tensor that differs, or the state that the engine cannot follow."""
        steps = [self._step(run) for run in range(RUNS)]
        before = PythonState(steps[0].model)
        drawn = before.difference(PythonState(steps[STATES].model), SHARED)
        if drawn is not None:
            return f"a layer whose {drawn} is drawn"
        plain = [
            [self._pass(step, k, run) for k in range(ITERATIONS)] for run, step in enumerate(steps)
        ]
        changed = before.difference(PythonState(steps[0].model))
        for run, step in enumerate(steps):
            plain[run].append(self._pass(step, ITERATIONS, run))
            known = plain[run][-1].before
            for name, value in _state(step).items():
                if (
                    value.shape != known[name].shape
                    or _distance(_flat(value), _flat(known[name])).any()
                ):
                    return f"a layer whose evaluation changes {name}"
        changed = changed or before.difference(PythonState(steps[0].model))
        if changed is not None:
            return f"a layer whose pass changes {changed}"
        engine, exact = self._by_engine(plain), self._exactly(plain)
        bound = EXACT if self.dtype == torch.float64 else SINGLE
        for k in range(ITERATIONS + 1):
            for run in range(RUNS):
                one = plain[run][k].numbers
                name = _first_difference(
                    engine[k][run], one, exact[run][k] if exact else one, bound
                )
                if name is not None:
                    return f"the engine gives another {name} than PyTorch"
        return None

    def _model(self, run: int) -> ExtendedTorchModule:
        """Return the model of a run, every second one with other signs and sizes."""
        model = seeded(self.config, self.build, run // STATES)
        if run % STATES:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(-1.5)
        return model

    def _step(self, run: int, *, double: bool = False) -> TrainingStep:
        model = self._model(run)
        if double:
            model.double()
            for module in model.extended_modules():
                module.random = _SameNoise()
        return TrainingStep(
            [self.config], model, penalties=self.shape.penalties([self.config], model)
        )

    def _batch(self, number: int, run: int) -> tuple[torch.Tensor, torch.Tensor]:
        x, t = self.samples[number][run]
        like = torch.get_default_dtype()
        return x.to(like).reshape(len(x), *self.shape.sample), t.to(like)

    def _pass(self, step: TrainingStep, k: int, run: int) -> _Iteration:
        """Make an iteration, or the evaluation, in torch."""
        before = _state(step)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_noise_seed(k, run))
            numbers = (
                self._plain_error(step, run) if k == ITERATIONS else self._losses(step, k, run)
            )
        return _Iteration(before, numbers)

    def _losses(self, step: TrainingStep, k: int, run: int) -> Numbers:
        result = step.run(*self._batch(k, run), step.prepare(k))
        return {name: _flat(value) for name, value in _outcome(step, result).items()}

    def _plain_error(self, step: TrainingStep, run: int) -> Numbers:
        if self.shape.eval_mode is None:
            return {}
        x, t = self._batch(ITERATIONS, run)
        if self.shape.eval_mode:
            step.model.eval()
        with torch.no_grad(), step.model.no_random():
            squares = (step.model(x) - t) ** 2
        step.model.train()
        return {"error in evaluation": _flat(squares.double().mean())}

    def _exactly(self, plain: list[list[_Iteration]]) -> list[list[Numbers]] | None:
        """Return the numbers of torch in float64, if a layer can be computed in it."""
        if self.dtype == torch.float64:
            return None
        try:
            steps = [self._step(run, double=True) for run in range(RUNS)]
            with default_dtype(torch.float64):
                found = []
                for run, step in enumerate(steps):
                    numbers = []
                    for k, one in enumerate(plain[run]):
                        _put(step, one.before)
                        passed = self._pass(step, k, run)
                        numbers.append(passed.numbers)
                    found.append(numbers)
                return found
        except Exception:  # A layer may hold tensors of float32.
            return None

    def _by_engine(self, plain: list[list[_Iteration]]) -> list[list[Numbers]]:
        """Return the numbers of each iteration and run."""
        model = stack_models([self._model(run) for run in range(RUNS)])
        random = PerRunRandomSource([torch.Generator() for _ in range(RUNS)])
        for module in model.extended_modules():
            module.random = random
        configs = [self.config] * RUNS
        penalties = self.shape.penalties(configs, model)
        step = TrainingStep(configs, model, stacked=True, penalties=penalties)
        at = [0]

        def given(runs: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
            x, t = zip(*(self.samples[at[0]][run] for run in runs), strict=True)
            return torch.stack(x)[None].numpy(), torch.stack(t)[None].numpy()

        engine = self.engine(configs, step, self.build, self.shape, (), given, in_python=True)
        found = []
        for k in range(ITERATIONS + 1):
            at[0] = k
            engine.forget()
            for run in range(RUNS):
                _put(step, plain[run][k].before, run)
                random.generators[run].manual_seed(_noise_seed(k, run))
            found.append(self._iterate(engine, step, k) if k < ITERATIONS else self._errors(engine))
        return found

    def _iterate(self, engine: Any, step: TrainingStep, k: int) -> list[Numbers]:
        result = engine.logged(k)[0] if k % 2 else engine.iterate(k, 1)
        engine.store()
        facts = _outcome(step, result)
        return [{name: _flat(value[run]) for name, value in facts.items()} for run in range(RUNS)]

    def _errors(self, engine: Any) -> list[Numbers]:
        if self.shape.eval_mode is None:
            return [{}] * RUNS
        x, t = (torch.stack(own).numpy() for own in zip(*self.samples[ITERATIONS], strict=True))
        every = np.arange(RUNS)
        (squared,) = engine.errors(x, t, every, every, roots=False)
        return [{"error in evaluation": _flat(squared[run])} for run in range(RUNS)]


def _noise_seed(k: int, run: int) -> int:
    return 1000 * k + run


def _held(step: TrainingStep) -> dict[str, torch.Tensor]:
    """Return parameters, buffers and moments by their names."""
    held, names = tensors_of(step.model), _trainable(step)
    for slot, values in step.optimizer.state.items():
        held |= {f"{slot} of {name}": v for name, v in zip(names, values, strict=True)}
    return held


def _trainable(step: TrainingStep) -> list[str]:
    return [name for name, p in step.model.named_parameters() if p.requires_grad]


def _state(step: TrainingStep) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in _held(step).items()}


def _outcome(step: TrainingStep, result: StepResult) -> dict[str, torch.Tensor]:
    """Return the state after an iteration, losses, and gradients where they are facts."""
    pairs = zip(_trainable(step), result.gradients or (), strict=False)
    facts = {"loss": result.criterion, "total loss": result.total}
    return _held(step) | facts | {f"{GRADIENT}{n}": g for n, g in pairs if g is not None}


@torch.no_grad()
def _put(step: TrainingStep, state: Mapping[str, torch.Tensor], run: int | None = None) -> None:
    """Let a model, or one run of stacked ones, go on from a state."""
    for name, value in _held(step).items():
        (value if run is None else value[run]).copy_(state[name])


def _flat(value: torch.Tensor) -> np.ndarray:
    return value.detach().to(torch.float64, copy=True).reshape(-1).numpy()


def _alike(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return where numbers are equal, or both are none."""
    return (one == other) | (np.isnan(one) & np.isnan(other))


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(np.abs(one - other), nan=np.inf)
    return np.where(_alike(one, other), 0, apart)


def _first_difference(found: Numbers, plain: Numbers, exact: Numbers, bound: float) -> str | None:
    """Return the first name whose numbers are further from torch's than rounding explains."""
    sizes = {n: np.abs(v[np.isfinite(v)]).max(initial=0) for n, v in exact.items()}
    largest: dict[str, float] = {}
    for name, size in sizes.items():
        kind = name.partition(" of ")[0]
        largest[kind] = max(size, largest.get(kind, 0))
    has_gradients = any(name.startswith(GRADIENT) for name in found)
    for name, value in plain.items():
        if name.startswith(GRADIENT) and not has_gradients:
            continue
        if name not in found or found[name].shape != value.shape:
            return name
        kind, of, _ = name.partition(" of ")
        size = (largest[kind] or 1.0) if of else max(1.0, sizes[name])
        # Adam divides a gradient that is rounding alone by its own size.
        gradient = np.abs(exact.get(f"{GRADIENT}{name}", np.full(value.shape, np.inf)))
        decided = ~(gradient < TINY * largest.get("gradient", 0))
        pairs = (found[name], value), (found[name], exact[name]), (value, exact[name])
        apart, own, torchs = (_distance(*pair)[decided].max(initial=0) for pair in pairs)
        if not (apart <= bound * size or own <= AS_TORCH * torchs):
            return name
    return None
