"""Runs that the engine trains: it goes ahead of a stacked model, which follows when asked to.

Before it trains a layer of a user, it is proved that it computes the numbers of torch: both make a
few iterations and an evaluation from several states. A pass may change nothing in Python.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from stable_nalu import abstract
from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource
from stable_nalu.base.errors import STOPS, UsageError, in_words
from stable_nalu.base.files import EXTRA_FLAGS
from stable_nalu.base.script import processor
from stable_nalu.dataset.distribution import Uniform
from stable_nalu.dataset.simple_function import SampleStream, numpy_type
from stable_nalu.layer import user_code
from stable_nalu.layer.base import foreign_modules
from stable_nalu.layer.own_layers import digests_of
from stable_nalu.layer.user_code import SHARED, PythonState, tensors_of
from stable_nalu.options import Config
from stable_nalu.options.flags import owned_names
from torchlanes import gpu, tiles
from torchlanes.kept import CompileError, kept
from torchlanes.recorded import Draw, Program
from torchlanes.tiles import Lanes, Member
from torchlanes.values import NotLoweredError

from . import has_gpu
from .engine_program import BuildOne, buffers_of_strangers, program, seeded, structure
from .recorder import LogRecord, StepLosses
from .step import TrainingStep
from .task import EngineTask, Shape

CriterionPrograms = dict[Any, Program]
"""The program of each criterion."""
FIRST_CHUNK, LONGEST_CHUNK, SECONDS_OF_A_CHUNK = 16, 4096, 0.2
"""Iterations of one call: signals are heeded in between."""

Key = tuple[str, str, Shape, torch.dtype, tuple[str, ...]]
_PROGRAMS: dict[Key, CriterionPrograms | str] = {}
"""Programs by what they follow from, or why there is none."""
_STATES: dict[Key, PythonState | None] = {}
"""The Python state of recorded models that contain code of users."""


def programs_of(config: Config, build: BuildOne, shape: Shape) -> CriterionPrograms:
    """Return the program of each criterion that a run trains by, or raise NotLoweredError.

    A run's programs follow from its configuration alone.
    """
    # A program may give the key of a layer to another class.
    digests = tuple(digests_of(owned_names(config)))
    key = config.script, structure(config), shape, torch.get_default_dtype(), digests
    if key not in _PROGRAMS:
        try:
            _make(key, config, build)
        except NotLoweredError as error:
            _PROGRAMS[key] = str(error)
    programs, state = _PROGRAMS[key], _STATES.get(key)
    if state is not None:
        own = PythonState(seeded(config, build, config.seed))
        if (place := state.difference(own, SHARED)) is not None:
            programs = f"a layer whose {place} is drawn"
    if isinstance(programs, str):
        raise NotLoweredError(programs)
    return programs


def programs_for(
    task: type[EngineTask], config: Config, layer_options: dict[str, Any]
) -> CriterionPrograms:
    """Return what the engine makes of a run, by criteria, or raise NotLoweredError."""
    build = partial(task.network, layer_options=layer_options)
    return programs_of(config, build, task.shape(config))


def _make(key: Key, config: Config, build: BuildOne) -> None:
    """Record the programs of a configuration, and prove those with code of users."""
    _, _, shape, dtype, _ = key
    model = seeded(config, build, 0)
    modules = list(model.extended_modules())
    if obstacle := next((one.obstacle for one in modules if one.obstacle is not None), None):
        raise NotLoweredError(obstacle)
    state = PythonState(model) if foreign_modules(model) else None
    step = TrainingStep([config], model, shape.penalties)
    example = torch.linspace(1, 2, shape.batch * (shape.inputs + shape.outputs), dtype=dtype)
    x, t = example.split([shape.batch * shape.inputs, shape.batch * shape.outputs])
    rows = x.reshape(shape.batch, *shape.sample), t.reshape(shape.batch, -1)
    try:
        try:
            how = shape.verbose, shape.eval_mode
            programs = {one: program(step, one, *rows, *how) for one in step.criteria()}
        finally:
            if read := {name for module in modules for name in module.clock_reads}:
                raise NotLoweredError(f"a layer that reads self.{min(read)}")
        changed = {store.name for one in programs.values() for store in one.stores["run"]}
        # Copies of models are measured.
        if shape.eval_mode is None and changed & buffers_of_strangers(model):
            raise NotLoweredError("a layer that changes buffers, which measuring changes as well")
        _PROGRAMS[key] = programs
        if state is not None:
            why = _doubt(_Comparison(config, build, shape, dtype), programs, state)
            if why is not None:
                raise NotLoweredError(why)
        if not shape.draws and any(one.draws for one in programs.values()):
            raise NotLoweredError("a layer that draws numbers where it is measured")
    finally:
        if state is not None:
            state.put_back()
    _STATES[key] = state


def drawn_by_cpp(stream: object) -> bool:
    return (
        isinstance(stream, SampleStream)
        and stream.scales_doubles
        and isinstance(stream.distribution, Uniform)
        and len(stream.sample_shape) == 1
        and stream.targets.operation.function in tiles.FUNCTIONS
        and all(end > start for start, end in stream.targets.operands)
    )


@dataclass
class RunsOfProgram:
    """Runs of a stack that have programs in common: their numbers in the stack, their lanes.

    draw: makes their samples, if C++ does not; else, place: theirs among those that share samples.
    """

    runs: list[int]
    programs: Mapping[Any, Program]
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]] | None = None
    lanes: Lanes | None = None
    criterion: Any = None
    place: int = 0

    @property
    def program(self) -> Program:
        return next(iter(self.programs.values()))


class EngineStack:
    """Iterations and evaluations of a stack of runs.

    model, step: of the whole stack. The engine reads and writes their tensors, the streams and the
    generators of noise at `load` and `store`.

    task: whose runs these are; it draws the samples where C++ cannot or, if `in_python`, must not.
    """

    def __init__(self, task: EngineTask, step: TrainingStep, build: BuildOne):
        self.step, self.build, self.rate = step, build, task.rate_factor
        self.shape, (streams, draw) = task.shape(task.configs[0]), task.samples()
        self.runs = len(task.configs)
        self.streams = list(streams)
        self.dtype = torch.get_default_dtype()
        by_program: dict[str, RunsOfProgram] = {}
        for run, config in enumerate(task.configs):
            key = structure(config)
            if key not in by_program:
                by_program[key] = RunsOfProgram([], programs_of(config, build, self.shape))
            by_program[key].runs.append(run)
        self.parts = list(by_program.values())
        for part in self.parts:
            if task.in_python or not all(drawn_by_cpp(self.streams[run]) for run in part.runs):
                part.draw = partial(draw, part.runs)
        self.may_use_gpu = has_gpu(task.configs[0]) and not task.in_python
        self.sampling = SharedSampling([self])
        self._ahead = False

    def _load(self, part: RunsOfProgram, criterion: Any) -> Lanes:
        layout, shape = self.sampling.layout(part), (self.shape.batch, self.shape.inputs)
        kind = gpu.DeviceLanes if self.sampling.on_gpu else Lanes
        lanes = kind(part.programs[criterion], layout, shape)
        for name, value in _held(self.step).items():
            if name in lanes.program.places:
                lanes.put(name, value.detach()[part.runs])
        for name, limit in self.step.limits.items():
            lanes.put(name, np.broadcast_to(limit, (self.runs,))[part.runs])
        part.lanes, part.criterion = lanes, criterion
        return lanes

    def _state(self) -> dict[str, torch.Tensor]:
        model = self.step.model
        return dict(model.named_parameters()) | dict(model.named_buffers())

    @torch.no_grad()
    def store(self, *, model_alone: bool = False) -> None:
        """Bring the stacked model, its optimiser and all generators to where iterations stand."""
        tensors = self._state() if model_alone else _held(self.step)
        for part in self.parts if self._ahead else ():
            if (lanes := part.lanes) is not None:
                changed = {store.name for store in lanes.program.stores["run"]}
                for name in changed & tensors.keys():
                    tensors[name][part.runs] = lanes.get(name).to(tensors[name].dtype)
                if not model_alone and part.draw is None:
                    self.sampling.samples.store(part.place)
        self._ahead = self._ahead and model_alone

    def forget(self) -> None:
        """Read the stacked model again before the next iteration: somebody has changed it."""
        self.store()
        for part in self.parts:
            part.lanes = None

    def iterate(self, first: int, count: int) -> StepLosses:
        """Train `count` iterations of all runs, and return the losses of the last one."""
        self.sampling.advance([self], first, count, "run")
        return self.result("run")[0]

    def logged(self, iteration: int) -> tuple[StepLosses, list[LogRecord]]:
        """Train one iteration, and return its losses, gradients and what it tells."""
        self.sampling.advance([self], iteration, 1, "log")
        return self.result("log")

    def prepared(
        self, first: int, count: int, name: str
    ) -> Iterator[tuple[RunsOfProgram, Lanes, Sequence[Member]]]:
        """Return what C++ needs for iterations of each part."""
        criterion, rates = self._scheduled(first, count)
        for part in self.parts:
            if part.lanes is not None and part.criterion is not criterion:
                self.store()
                part.lanes = None
            lanes = part.lanes or self._load(part, criterion)
            schedule = {}
            for key, place in lanes.program.places.items():
                if place.memory == "w":
                    values = rates.get(key, np.zeros((count, 1)))
                    schedule[key] = values if values.shape[1] == 1 else values[:, part.runs]
            noise = self._noise(part, lanes.program.draws, count)
            yield part, lanes, lanes.members(schedule, noise, count, name)
        self._ahead = True

    def _scheduled(self, first: int, count: int) -> tuple[Any, dict[str, np.ndarray]]:
        """Return the criterion, and scheduled numbers `(iterations, 1 or runs)` by their names."""
        rates: dict[str, np.ndarray] = {}
        criterion, at, end = None, first, first + count
        while at < end:
            criterion, weighted = self.step.prepare(at)
            until = int(min(self.step.penalties.next_change(at), end))
            for key, weight in weighted:
                row = np.asarray(weight, np.float64).reshape(1, -1)
                held = rates.get(f"weight:{key}", np.zeros((count, 1)))
                if row.shape[1] > held.shape[1]:
                    held = np.repeat(held, self.runs, axis=1)
                held[at - first : until - first] = row
                rates[f"weight:{key}"] = held
            at = until
        self.step.set_clock(end - 1)
        rates |= self._numbers(first, count)
        for name in self._state():
            if name.split(".")[-1] == "tau":
                owner: Any = self.step.model.get_submodule(name.rpartition(".")[0])
                taus = [[owner.tau_at(i)] for i in range(first, first + count)]
                rates[f"at:{name}"] = np.array(taus)
        return criterion, rates

    def _numbers(self, first: int, count: int) -> dict[str, np.ndarray]:
        """Let the optimiser count iterations, and return the numbers of their steps."""
        optimizer = self.step.optimizer
        rate, done = optimizer.learning_rate, max(optimizer.steps, default=0)
        programs = [one for part in self.parts for one in part.programs.values()]
        updated = {name for one in programs for name in one.trained}
        optimizer.steps[:] = [
            steps + count * (name in updated)
            for steps, name in zip(optimizer.steps, self.step.trainable, strict=True)
        ]
        rows = [optimizer.numbers(done + k + 1, rate * self.rate(first + k)) for k in range(count)]
        return {
            f"number:{k}": np.array(values, np.float64).reshape(count, -1)
            for k, values in enumerate(zip(*rows, strict=True))
        }

    def _noise(self, part: RunsOfProgram, draws: Sequence[Draw], count: int) -> np.ndarray | None:
        """Return the noise of a part, `(iterations, runs, numbers)`, as each run alone draws it."""
        if not draws:
            return None
        source = self.step.model.random
        assert isinstance(source, PerRunRandomSource)
        # Runs of a seed often have equal generators at the same place: one draws for all of them.
        drawn: dict[bytes, tuple[np.ndarray, torch.Tensor]] = {}
        of_runs = []
        for generator in (source.generators[run] for run in part.runs):
            state = generator.get_state().numpy().tobytes()
            if state not in drawn:
                noise = _drawn_ahead(draws, generator, count, self.dtype)
                drawn[state] = noise, generator.get_state()
            noise, after = drawn[state]
            generator.set_state(after)
            of_runs.append(noise)
        return np.stack(of_runs, axis=1)

    def result(self, name: str) -> tuple[StepLosses, list[LogRecord]]:
        criterion, total = self._output("criterion"), self._output("total")
        if name == "run":
            return StepLosses(criterion, None, total), []
        program = next(part.lanes for part in self.parts if part.lanes is not None).program
        names = (f"gradient:{name}" for name in self.step.trainable)
        gradients = [self._output(name) if name in program.places else None for name in names]
        logged = [LogRecord(i.tag, self._output(i.name), i.kind) for i in program.logged]
        return StepLosses(criterion, self._output("penalty"), total, gradients), logged

    def _output(self, name: str) -> torch.Tensor:
        own = [(part.runs, part.lanes.get(name)) for part in self.parts if part.lanes is not None]
        whole = own[0][1].new_zeros(self.runs, *own[0][1].shape[1:])
        for runs, values in own:
            whole[runs] = values
        return whole

    def _loaded(self) -> Iterator[tuple[RunsOfProgram, Lanes, tiles.Schedule]]:
        """Yield parts, and scheduled numbers where nothing is trained: clocks as set, others 1."""
        state = self._state()
        for part in self.parts:
            lanes = part.lanes or self._load(part, part.criterion or next(iter(part.programs)))
            names = [name for name, place in lanes.program.places.items() if place.memory == "w"]
            clocks = {n: float(state[n[3:]].flatten()[0]) for n in names if n.startswith("at:")}
            yield part, lanes, {name: np.array([[clocks.get(name, 1.0)]]) for name in names}

    def observed(self, x: np.ndarray | None) -> list[LogRecord]:
        """Return what modules tell of x `(runs, batch, in)`; nothing is trained by it."""
        for part, lanes, schedule in self._loaded():
            lanes.observe(None if x is None else x[part.runs], schedule)
        pairs = zip(self.result("log")[1], self.parts[0].program.logged, strict=True)
        return [item for item, of in pairs if of.of_modules]

    def errors(self, x, t, x_of, t_of, *, roots: bool) -> torch.Tensor:
        """Return the errors `(1 or 2, runs)` of each run on its rows; see `Lanes.evaluate`."""
        errors = np.empty((1 + roots, self.runs))
        for part, lanes, schedule in self._loaded():
            rows = x, t, x_of[part.runs], t_of[part.runs]
            draws = lanes.program.draws if lanes.program.draws_in_evaluation else ()
            noise = self._noise(part, draws, 1)
            errors[:, part.runs] = lanes.evaluate(rows, noise, schedule, roots=roots)
        return torch.from_numpy(errors).to(self.dtype)


class SharedSampling:
    """Stacks whose runs with equal generators share their samples.

    pace: how many iterations to train at once. trained: how many were trained of a stack ahead.
    """

    def __init__(self, stacks: Sequence[EngineStack]):
        self.stacks = list(stacks)
        self.pace = FIRST_CHUNK
        self.trained: dict[EngineStack, int] = {}

    @classmethod
    def join(cls, stacks: Sequence[EngineStack]) -> None:
        """Let stacks share samples from now on, which all stand at the same iteration."""
        sampling = cls(stacks)
        for stack in stacks:
            stack.forget()
            stack.sampling = sampling

    @cached_property
    def on_gpu(self) -> bool:
        """Return whether a GPU trains the runs: there is one, they are many, and it can."""
        if sum(stack.runs for stack in self.stacks) < gpu.FEW:
            return False
        parts = [part for stack in self.stacks for part in stack.parts]
        programs = [one for part in parts for one in part.programs.values()]
        return all(s.may_use_gpu for s in self.stacks) and gpu.not_for_gpu(programs) is None

    @cached_property
    def samples(self) -> Any:
        """Return what draws the samples of all parts, if C++ does."""
        pairs = [(s, part) for s in self.stacks for part in s.parts if part.draw is None]
        for place, (_, part) in enumerate(pairs):
            part.place = place
        streams = [[stack.streams[run] for run in part.runs] for stack, part in pairs]
        work, shape = [part.program.work for _, part in pairs], self.stacks[0].shape
        kind = gpu.DeviceTiles if self.on_gpu else tiles.Tiles
        sizes, dtype = (shape.batch, shape.inputs), numpy_type(self.stacks[0].dtype)
        return kind(streams, work, sizes, dtype)

    def layout(self, part: RunsOfProgram) -> tiles.Layout:
        if part.draw is None:
            return self.samples.layouts[part.place]
        double = part.program.dtype == torch.float64
        lanes = 1 if self.on_gpu else tiles.runtime(double=double).lanes()
        return tiles.in_order(len(part.runs), lanes)

    def iterate(self, stacks: Sequence[EngineStack], first: int, count: int) -> None:
        """Train iterations of stacks, at a pace that lets signals be heeded."""
        self.trained = dict.fromkeys(stacks, count)
        began = time.perf_counter()
        self.advance(stacks, first, count, "run")
        took = time.perf_counter() - began
        self.pace = max(1, min(LONGEST_CHUNK, int(count * SECONDS_OF_A_CHUNK / took)))

    def advance(self, stacks: Sequence[EngineStack], first: int, count: int, name: str) -> None:
        members: dict[int, Sequence[Member]] = {}
        whole = False
        for stack in stacks:
            for part, lanes, own in stack.prepared(first, count, name):
                if part.draw is None:
                    members[part.place] = own
                    whole = whole or lanes.whole
                else:
                    lanes.iterate(own, *part.draw(count), count)
        if members:
            self.samples.iterate(members, count, whole=whole)


def _drawn_ahead(
    draws: Sequence[Draw], generator: torch.Generator, count: int, dtype: torch.dtype
) -> np.ndarray:
    if any(draw.kind != "uniform" for draw in draws):
        rows = ([_drawn(draw, generator, dtype) for draw in draws] for _ in range(count))
        return np.stack([np.concatenate(row) for row in rows])
    ends = np.cumsum([math.prod(draw.shape) for draw in draws])
    unit = torch.empty(count, ends[-1], dtype=dtype).uniform_(generator=generator).numpy()
    for draw, own in zip(draws, np.split(unit, ends[:-1], axis=1), strict=True):
        if draw.bounds != (0.0, 1.0):
            low, high = (float(np.asarray(v, own.dtype)) for v in draw.bounds)
            # In float64 it is rounded once, as torch's own bounded draw.
            own[...] = own.astype(np.float64) * float(np.asarray(high - low, own.dtype)) + low
    return unit


def _drawn(draw: Draw, generator: torch.Generator, dtype: torch.dtype) -> np.ndarray:
    buffer = torch.empty(draw.shape, dtype=dtype)
    if draw.kind == "uniform":
        buffer.uniform_(*draw.bounds, generator=generator)
    else:
        getattr(buffer, f"{draw.kind}_")(generator=generator)
    return buffer.flatten().numpy()


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
GRADIENT, EVALUATED = "gradient:", "error in evaluation"


def _doubt(
    comparison: "_Comparison", programs: CriterionPrograms, state: PythonState
) -> str | None:
    """Return a reason to doubt that the engine computes the numbers of torch, or None.

    state: of the recorded model. The answer depends on the structure of a configuration only. It is
    stored with compiled code.
    """
    if state.uses:
        return f"a layer that reads {state.uses}"
    if state.opaque:
        return f"a layer whose {state.opaque} is opaque"
    config, shape, dtype = comparison.config, comparison.shape, comparison.dtype
    texts = [tiles.source(p.text, double=dtype == torch.float64) for p in programs.values()]
    flags = os.environ.get("CXX"), os.environ.get(EXTRA_FLAGS), processor()
    facts = torch.__version__, structure(config), shape, dtype, *flags, *texts
    code = [Path(file).read_bytes() for file in (__file__, user_code.__file__)]
    parts = [*code, repr(facts).encode(), state.fingerprint]
    try:
        try:
            made = kept("proofs", parts, lambda p: p.write_text(comparison.difference() or ""))
            return made.read_text() or None
        except CompileError:  # A cache may have no room.
            return comparison.difference()
    except CompileError:  # Training in torch has this reason already.
        return None
    except (*STOPS, UsageError):
        raise
    except Exception as error:  # A layer may raise anything.
        return f"a layer that cannot be compared: {in_words(error)[:120]}"


class _SameNoise(abstract.RandomSource):
    """Draws float32 noise for a model of float64."""

    def fill(self, shape: tuple[int, ...], like: torch.Tensor, draw: Any) -> torch.Tensor:
        return super().fill(shape, like.float(), draw).to(like.dtype)


class _Comparison:
    """Runs of two seeds, each from two states, by the engine and in torch."""

    def __init__(self, config: Config, build: BuildOne, shape: Shape, dtype: torch.dtype):
        own = config.as_dict()
        usual = {n: v for n, v in STANDARD.items() if own.get(n) not in (None, 0) or "start" in n}
        self.config = config.replace(**{n: v for n, v in usual.items() if n in own})
        self.build, self.shape, self.dtype = build, shape, dtype
        how = {"dtype": dtype, "generator": torch.Generator().manual_seed(0)}

        def drawn(rows: int, run: int) -> tuple[torch.Tensor, ...]:
            low = -2 if run % STATES else 0.5
            x = low + (2 - low) * torch.rand(rows, shape.inputs, **how)
            return x, torch.randn(rows, shape.outputs, **how)

        sizes = [shape.batch] * ITERATIONS + [ROWS + 4 * (shape.batch == ROWS)]
        self.samples = [[drawn(rows, run) for run in range(RUNS)] for rows in sizes]

    def difference(self) -> str | None:
        """Name the first tensor that differs, or the state that the engine cannot follow."""
        steps = [self._step(run) for run in range(RUNS)]
        before = PythonState(steps[0].model)
        drawn = before.difference(PythonState(steps[STATES].model), SHARED)
        if drawn is not None:
            return f"a layer whose {drawn} is drawn"
        states: list[list[Numbers]] = [[] for _ in steps]
        plain: list[list[Numbers]] = [[] for _ in steps]
        changed = None
        for unit in (range(ITERATIONS), [ITERATIONS]):
            for run, step in enumerate(steps):
                for k in unit:
                    states[run].append(_flat(_held(step)))
                    plain[run].append(self._pass(step, k, run))
            changed = changed or before.difference(PythonState(steps[0].model))
        for step, held in zip(steps, states, strict=True):
            for name, value in _flat(_held(step)).items():
                known = held[-1][name]
                if value.shape != known.shape or _distance(value, known).any():
                    return f"a layer whose evaluation changes {name}"
        if changed is not None:
            return f"a layer whose pass changes {changed}"
        engine, exact = self._by_engine(states), self._exactly(states) or plain
        bound = EXACT if self.dtype == torch.float64 else SINGLE
        for k in range(ITERATIONS + 1):
            for run in range(RUNS):
                name = _first_difference(engine[k][run], plain[run][k], exact[run][k], bound)
                if name is not None:
                    said = name.replace(":", " of ")
                    return f"the engine gives another {said} than PyTorch"
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
        return TrainingStep([self.config], model, self.shape.penalties)

    def _pass(self, step: TrainingStep, k: int, run: int) -> Numbers:
        """Return the numbers of an iteration, or of the evaluation, in torch."""
        like, (x, t) = torch.get_default_dtype(), self.samples[k][run]
        x, t = x.to(like).reshape(len(x), *self.shape.sample), t.to(like)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1000 * k + run)
            if k < ITERATIONS:
                return _flat(_outcome(step, step.run(x, t, step.prepare(k))))
            if self.shape.eval_mode is None:
                return {}
            step.model.train(not self.shape.eval_mode)
            with torch.no_grad(), step.model.no_random():
                squares = (step.model(x) - t) ** 2
            step.model.train()
            return _flat({EVALUATED: squares.double().mean()})

    def _exactly(self, states: list[list[Numbers]]) -> list[list[Numbers]] | None:
        """Return the numbers of torch in float64, if a layer can be computed in it."""
        if self.dtype == torch.float64:
            return None
        try:
            steps = [self._step(run, double=True) for run in range(RUNS)]
            passes: list[list[Numbers]] = [[] for _ in steps]
            with abstract.default_dtype(torch.float64):
                for run, step in enumerate(steps):
                    for k, state in enumerate(states[run]):
                        _put(step, state)
                        passes[run].append(self._pass(step, k, run))
            return passes
        except Exception:  # A layer may hold tensors of float32.
            return None

    def _by_engine(self, states: list[list[Numbers]]) -> list[list[Numbers]]:
        """Return the numbers of each iteration and run."""
        model = abstract.stack_models([self._model(run) for run in range(RUNS)])
        random = PerRunRandomSource([torch.Generator() for _ in range(RUNS)])
        for module in model.extended_modules():
            module.random = random
        configs = [self.config] * RUNS
        step = TrainingStep(configs, model, self.shape.penalties)
        at = 0

        def given(runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
            x, t = zip(*(self.samples[at][run] for run in runs), strict=True)
            return torch.stack(x)[None].numpy(), torch.stack(t)[None].numpy()

        task: Any = SimpleNamespace(configs=configs, shape=lambda config: self.shape)
        task.samples, task.in_python, task.rate_factor = lambda: ((), given), True, lambda at: 1.0
        engine = EngineStack(task, step, self.build)
        steps_done = []
        for at in range(ITERATIONS + 1):
            engine.forget()
            for run in range(RUNS):
                _put(step, states[run][at], run)
                random.generators[run].manual_seed(1000 * at + run)
            if at < ITERATIONS:
                result = engine.logged(at)[0] if at % 2 else engine.iterate(at, 1)
                engine.store()
                facts = _outcome(step, result)
            elif self.shape.eval_mode is None:
                return [*steps_done, [{}] * RUNS]
            else:
                rows = (torch.stack(own).numpy() for own in zip(*self.samples[at], strict=True))
                every = np.arange(RUNS)
                facts = {EVALUATED: engine.errors(*rows, every, every, roots=False)[0]}
            steps_done.append([_flat({n: v[run] for n, v in facts.items()}) for run in range(RUNS)])
        return steps_done


def _held(step: TrainingStep) -> dict[str, torch.Tensor]:
    held = tensors_of(step.model)
    for slot, values in step.optimizer.state.items():
        pairs = zip(step.trainable, values, strict=True)
        held |= {f"{slot}:{name}": value for name, value in pairs}
    return held


def _outcome(step: TrainingStep, result: StepLosses) -> dict[str, torch.Tensor]:
    """Return the state after an iteration, losses, and gradients where they are facts."""
    pairs = zip(step.trainable, result.gradients or (), strict=False)
    facts = {"loss": result.criterion, "total loss": result.total}
    return _held(step) | facts | {f"{GRADIENT}{n}": g for n, g in pairs if g is not None}


@torch.no_grad()
def _put(step: TrainingStep, state: Numbers, run: int | None = None) -> None:
    for name, value in _held(step).items():
        target = value if run is None else value[run]
        target.copy_(torch.from_numpy(state[name]).reshape(target.shape))


def _flat(values: Mapping[str, torch.Tensor]) -> Numbers:
    named = ((name, value.detach()) for name, value in values.items())
    return {name: v.to(torch.float64, copy=True).reshape(-1).numpy() for name, v in named}


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return how far numbers are apart; those that are equal, or both none, are not."""
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(np.abs(one - other), nan=np.inf)
    return np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0, apart)


def _first_difference(actual: Numbers, plain: Numbers, exact: Numbers, bound: float) -> str | None:
    """Return the first name whose numbers are further from torch's than rounding explains."""
    sizes = {n: np.abs(v[np.isfinite(v)]).max(initial=0) for n, v in exact.items()}
    largest: dict[str, float] = {}
    for name, size in sizes.items():
        kind = name.partition(":")[0]
        largest[kind] = max(size, largest.get(kind, 0))
    has_gradients = any(name.startswith(GRADIENT) for name in actual)
    for name, value in plain.items():
        if name.startswith(GRADIENT) and not has_gradients:
            continue
        if name not in actual or actual[name].shape != value.shape:
            return name
        kind, of, _ = name.partition(":")
        size = (largest[kind] or 1.0) if of else max(1.0, sizes[name])
        # Adam divides a gradient that is rounding alone by its own size.
        gradient = np.abs(exact.get(f"{GRADIENT}{name}", np.full(value.shape, np.inf)))
        decided = ~(gradient < TINY * largest.get("gradient", 0))
        pairs = (actual[name], value), (actual[name], exact[name]), (value, exact[name])
        apart, own, torchs = (_distance(*pair)[decided].max(initial=0) for pair in pairs)
        if not (apart <= bound * size or own <= AS_TORCH * torchs):
            return name
    return None
