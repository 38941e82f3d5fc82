"""Runs that the engine trains: it goes ahead of a stacked model, which follows when asked to."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource
from stable_nalu.dataset.simple_function import SampleStream, numpy_type
from stable_nalu.layer.own_layers import digests_of
from stable_nalu.layer.python_state import SHARED, PythonState, foreign_modules
from stable_nalu.options import Config
from stable_nalu.options.layer_options import units_of
from torchlanes import gpu
from torchlanes.gpu import DeviceTiles
from torchlanes.recorded import Draw, Program
from torchlanes.tiles import Lanes, Layout, Member, Schedule, Tiles, arranged, runtime
from torchlanes.values import NotLoweredError

from .engine_model import BuildOne, CriterionPrograms, drawn_by_cpp, seeded, structure
from .engine_program import buffers_of_strangers, program
from .engine_proof import doubt
from .recorder import StepResult, TaggedValue
from .step import TrainingStep
from .surroundings import has_gpu
from .task import Shape

Members = Sequence[Member]
FIRST_CHUNK, LONGEST_CHUNK, SECONDS_OF_A_CHUNK = 16, 4096, 0.2
"""Iterations of one call: signals are heeded in between."""

Key = tuple[str, str, Shape, torch.dtype, tuple[str, ...]]
_PROGRAMS: dict[Key, CriterionPrograms | str] = {}
"""Programs by what they follow from, or why there is none."""
_STATES: dict[Key, PythonState | None] = {}
"""The Python state of recorded models that contain code of users."""
_PLACES: dict[object, str | None] = {}
"""The first place at which the Python state of a run's model differs, by program and seed."""


def programs_of(
    config: Config, build: BuildOne, shape: Shape, *, dtype: torch.dtype
) -> CriterionPrograms:
    """Return the program of each criterion that a run trains by, or raise NotLoweredError.

    A run's programs follow from its configuration alone.
    """
    # A program may give the key of a layer to another class.
    own = tuple(digests_of(units_of(config)))
    key = config.script, structure(config), shape, dtype, own
    if key not in _PROGRAMS:
        try:
            _make(key, config, build)
        except NotLoweredError as error:
            _PROGRAMS[key] = str(error)
    found, state = _PROGRAMS[key], _STATES.get(key)
    if state is not None:
        of_run = *key, config.seed
        if of_run not in _PLACES:
            _PLACES[of_run] = state.difference(
                PythonState(seeded(config, build, config.seed)), SHARED
            )
        if _PLACES[of_run] is not None:
            found = f"a layer whose {_PLACES[of_run]} is drawn"
    if isinstance(found, str):
        raise NotLoweredError(found)
    return found


def _make(key: Key, config: Config, build: BuildOne) -> None:
    """Record the programs of a configuration, and prove those with code of users."""
    _, _, shape, dtype, _ = key
    model = seeded(config, build, 0)
    for module in model.extended_modules():
        if module.obstacle is not None:
            raise NotLoweredError(module.obstacle)
    state = PythonState(model) if foreign_modules(model) else None
    step = TrainingStep([config], model, penalties=shape.penalties([config], model))
    example = torch.linspace(1, 2, shape.batch * (shape.inputs + shape.outputs), dtype=dtype)
    x, t = example.split([shape.batch * shape.inputs, shape.batch * shape.outputs])
    x, t = x.reshape(shape.batch, *shape.sample), t.reshape(shape.batch, -1)
    how = {"verbose": shape.verbose, "eval_mode": shape.eval_mode}
    try:
        try:
            found = {one: program(step, one, x, t, **how) for one in step.criteria()}
        finally:
            read = {name for module in model.extended_modules() for name in module.clock_reads}
            if read:
                raise NotLoweredError(f"a layer that reads self.{min(read)}")
        if shape.eval_mode is None:
            _refuse_changes(model, found.values())
        _PROGRAMS[key] = found
        if state is not None:
            why = doubt(config, build, shape, dtype, found, state, EngineStack)
            if why is not None:
                raise NotLoweredError(why)
    finally:
        if state is not None:
            state.put_back()
    _STATES[key] = state


def _refuse_changes(model: ExtendedTorchModule, programs: Iterable[Program]) -> None:
    """Refuse layers of strangers that change buffers, where copies of models are measured."""
    own = buffers_of_strangers(model)
    if any(store.name in own for program in programs for store in program.stores["run"]):
        raise NotLoweredError("a layer that changes buffers, which measuring changes as well")


@dataclass
class RunsOfProgram:
    """Runs of a stack that have programs in common: their numbers in the stack, their lanes.

    draw: makes their samples, if C++ does not.
    """

    runs: list[int]
    programs: Mapping[Any, Program]
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]] | None = None
    lanes: Lanes | None = None
    criterion: Any = None

    @property
    def program(self) -> Program:
        """Return the first program."""
        return next(iter(self.programs.values()))


class EngineStack:
    """Iterations and evaluations of a stack of runs.

    model and step are those of the stack; the engine reads and writes their tensors, the streams
    and the generators of noise at `load` and `store`.

    draw: makes the next samples of given runs, where C++ cannot or, if `in_python`, must not. rate:
    what the learning rate of an iteration is multiplied by.
    """

    def __init__(
        self,
        configs: Sequence[Config],
        step: TrainingStep,
        build: BuildOne,
        shape: Shape,
        streams: Sequence[SampleStream],
        draw: Callable[[Sequence[int], int], tuple[np.ndarray, np.ndarray]],
        *,
        in_python: bool = False,
        rate: Callable[[int], float] = lambda at: 1.0,
    ):
        self.step = step
        self.rate = rate
        self.shape = shape
        self.runs = len(configs)
        self.streams = list(streams)
        self.dtype = torch.get_default_dtype()
        self.parts = self._parts(configs, build)
        for part in self.parts:
            if in_python or not all(drawn_by_cpp(self.streams[run]) for run in part.runs):
                part.draw = partial(draw, part.runs)
        self.may_use_gpu = has_gpu(configs[0]) and not in_python
        self.company = Company([self])
        self._ahead = False

    def _parts(self, configs, build) -> list[RunsOfProgram]:
        by_program: dict[str, RunsOfProgram] = {}
        for run, config in enumerate(configs):
            key = structure(config)
            if key not in by_program:
                found = programs_of(config, build, self.shape, dtype=self.dtype)
                by_program[key] = RunsOfProgram([], found)
            by_program[key].runs.append(run)
        return list(by_program.values())

    def _load(self, part: RunsOfProgram, criterion: Any) -> Lanes:
        """Put the numbers of a part into lanes."""
        layout, shape = self.company.layout(part), (self.shape.batch, self.shape.inputs)
        kind = gpu.DeviceLanes if self.company.on_gpu else Lanes
        lanes = kind(part.programs[criterion], layout, shape)
        for name, value in self._tensors().items():
            if name in lanes.program.places:
                lanes.put(name, value.detach()[part.runs])
        for name, limit in self.step.limits().items():
            lanes.put(name, self._of_runs(limit, part))
        part.lanes, part.criterion = lanes, criterion
        return lanes

    def _of_runs(self, value: float | np.ndarray, part: RunsOfProgram) -> np.ndarray:
        return np.broadcast_to(value, (self.runs,))[part.runs]

    def _state(self) -> dict[str, torch.Tensor]:
        model = self.step.model
        return dict(model.named_parameters()) | dict(model.named_buffers())

    def _tensors(self) -> dict[str, torch.Tensor]:
        """Return the state, moments included."""
        trainable = [n for n, p in self.step.model.named_parameters() if p.requires_grad]
        return self._state() | {
            f"{slot}:{name}": value
            for slot, values in self.step.optimizer.state.items()
            for name, value in zip(trainable, values, strict=True)
        }

    def store(self) -> None:
        """Bring the stacked model, its optimiser and all generators to where iterations stand."""
        self._store(self._tensors())
        for part in self.parts if self._ahead else ():
            if part.lanes is not None:
                self.company.store_generators(part)
        self._ahead = False

    def store_model(self) -> None:
        """Bring the stacked model alone to where iterations stand."""
        self._store(self._state())

    @torch.no_grad()
    def _store(self, tensors: Mapping[str, torch.Tensor]) -> None:
        for part in self.parts if self._ahead else ():
            if (lanes := part.lanes) is not None:
                changed = {store.name for store in lanes.program.stores["run"]}
                for name in changed & tensors.keys():
                    tensors[name][part.runs] = lanes.get(name).to(tensors[name].dtype)

    def forget(self) -> None:
        """Read the stacked model anew before the next iteration: somebody has changed it."""
        self.store()
        for part in self.parts:
            part.lanes = None

    def ask(self, first: int, count: int) -> None:
        """Say which iterations come next: `iterate` trains those of all stacks that have asked."""
        self.company.asked[self] = first, count

    def iterate(self, first: int, count: int) -> StepResult:
        """Train `count` iterations of all runs, and return the losses of the last one."""
        self.company.iterate(self, first, count)
        return self._result("run")[0]

    def logged(self, iteration: int) -> tuple[StepResult, list[TaggedValue]]:
        """Train one iteration, and return its losses, gradients and what it tells."""
        self.company.advance([self], iteration, 1, "log")
        return self._result("log")

    def prepared(
        self, first: int, count: int, name: str
    ) -> Iterator[tuple[RunsOfProgram, Lanes, Members]]:
        """Return what C++ needs for iterations of each part."""
        criterion, rates = self._scheduled(first, count)
        for part in self.parts:
            if part.lanes is not None and part.criterion is not criterion:
                self.store()
                part.lanes = None
            lanes = part.lanes or self._load(part, criterion)
            schedule = {
                key: self._rows(rates[key], part) if key in rates else np.zeros((count, 1))
                for key, place in lanes.program.places.items()
                if place.memory == "w"
            }
            noise = self._noise(part, lanes.program.draws, count)
            yield part, lanes, lanes.members(schedule, noise, count, name)
        self._ahead = True

    def _rows(self, values: np.ndarray, part: RunsOfProgram) -> np.ndarray:
        return values if values.shape[1] == 1 else values[:, part.runs]

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
        rate = optimizer.learning_rate
        done = max(optimizer.steps, default=0)
        updated = {
            name for part in self.parts for p in part.programs.values() for name in p.trained
        }
        names = [n for n, p in self.step.model.named_parameters() if p.requires_grad]
        optimizer.steps[:] = [
            s + count if n in updated else s for s, n in zip(optimizer.steps, names, strict=True)
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

    def _result(self, name: str) -> tuple[StepResult, list[TaggedValue]]:
        criterion, total = self._told("criterion"), self._told("total")
        if name == "run":
            return StepResult(criterion, None, total, ()), []
        names = [n for n, p in self.step.model.named_parameters() if p.requires_grad]
        program = next(part.lanes for part in self.parts if part.lanes is not None).program
        held = program.places
        gradients = [
            self._told(f"gradient:{n}") if f"gradient:{n}" in held else None for n in names
        ]
        penalty = self._told("penalty")
        told = [TaggedValue(i.kind, i.tag, self._told(i.name)) for i in program.told]
        return StepResult(criterion, penalty, total, gradients), told

    def _told(self, name: str) -> torch.Tensor:
        own = [(part.runs, part.lanes.get(name)) for part in self.parts if part.lanes is not None]
        found = own[0][1].new_zeros(self.runs, *own[0][1].shape[1:])
        for runs, values in own:
            found[runs] = values
        return found

    def observed(self, x: np.ndarray | None) -> list[TaggedValue]:
        """Return what modules tell of x `(runs, batch, in)`; nothing is trained by it."""
        for part in self.parts:
            lanes = part.lanes or self._load(part, next(iter(part.programs)))
            lanes.observe(None if x is None else x[part.runs], self._as_it_stands(lanes))
        told = self.parts[0].program.told
        return [
            item for item, of in zip(self._result("log")[1], told, strict=True) if of.of_modules
        ]

    def errors(self, x, t, x_of, t_of, *, roots: bool) -> torch.Tensor:
        """Return the errors `(1 or 2, runs)` of each run on its rows; see `Lanes.evaluate`."""
        found = np.empty((1 + roots, self.runs))
        for part in self.parts:
            criterion = part.criterion or next(iter(part.programs))
            lanes = part.lanes or self._load(part, criterion)
            rows = x, t, x_of[part.runs], t_of[part.runs]
            draws = lanes.program.draws if lanes.program.draws_in_evaluation else ()
            noise = self._noise(part, draws, 1)
            schedule = self._as_it_stands(lanes)
            found[:, part.runs] = lanes.evaluate(rows, noise, schedule, roots=roots)
        return torch.from_numpy(found).to(self.dtype)

    def _as_it_stands(self, lanes: Lanes) -> Schedule:
        """Return scheduled numbers where nothing is trained: clocks as they are set, others 1."""
        state = self._state()
        names = [name for name, place in lanes.program.places.items() if place.memory == "w"]
        clocks = {name: state[name[3:]].flatten()[:1] for name in names if name.startswith("at:")}
        return {name: np.array([[float(clocks.get(name, 1.0))]]) for name in names}


class Company:
    """Stacks whose runs with equal generators share their samples.

    asked: the next iterations of stacks that wait for each other. pace: how many to ask for.
    """

    def __init__(self, stacks: Sequence[EngineStack]):
        self.stacks = list(stacks)
        self.asked: dict[EngineStack, tuple[int, int]] = {}
        self.pace = FIRST_CHUNK
        self._trained: set[EngineStack] = set()
        self._native: list[int] = []
        self._tiles: Any = None

    @classmethod
    def join(cls, stacks: Sequence[EngineStack]) -> None:
        """Let stacks share samples from now on, which all stand at the same iteration."""
        company = cls(stacks)
        for stack in stacks:
            stack.forget()
            stack.company = company

    @cached_property
    def on_gpu(self) -> bool:
        """Return whether a GPU trains the runs: there is one, they are many, and it can."""
        if sum(stack.runs for stack in self.stacks) < gpu.FEW:
            return False
        if not all(stack.may_use_gpu for stack in self.stacks):
            return False
        parts = [part for stack in self.stacks for part in stack.parts]
        return gpu.not_for_gpu([p for part in parts for p in part.programs.values()]) is None

    def _drawn(self) -> Any:
        if self._tiles is None:
            pairs = [(s, part) for s in self.stacks for part in s.parts if part.draw is None]
            self._native = [id(part) for _, part in pairs]
            shape = self.stacks[0].shape
            kind = DeviceTiles if self.on_gpu else Tiles
            self._tiles = kind(
                [[stack.streams[run] for run in part.runs] for stack, part in pairs],
                [part.program.work for _, part in pairs],
                (shape.batch, shape.inputs),
                numpy_type(self.stacks[0].dtype),
            )
        return self._tiles

    def layout(self, part: RunsOfProgram) -> Layout:
        """Return which runs of a part are in which lanes."""
        if part.draw is None:
            return self._drawn().layouts[self._native.index(id(part))]
        double, runs = part.program.dtype == torch.float64, len(part.runs)
        if self.on_gpu:
            return gpu.singles(runs)
        return arranged(range(runs), [0] * runs, runtime(double=double).lanes(), [1.0] * runs)

    def store_generators(self, part: RunsOfProgram) -> None:
        """Put the streams of a part where its iterations have left them."""
        if part.draw is None and self._tiles is not None:
            self._tiles.store(self._native.index(id(part)))

    def iterate(self, stack: EngineStack, first: int, count: int) -> None:
        """Train iterations of a stack, unless another one that asked has done so."""
        if stack in self._trained:
            self._trained.remove(stack)
            return
        self.asked[stack] = first, count
        stacks = [s for s, wanted in self.asked.items() if wanted == (first, count)]
        self.asked.clear()
        self._trained = {*stacks} - {stack}
        began = time.perf_counter()
        self.advance(stacks, first, count, "run")
        took = time.perf_counter() - began
        self.pace = max(1, min(LONGEST_CHUNK, int(count * SECONDS_OF_A_CHUNK / took)))

    def advance(self, stacks: Sequence[EngineStack], first: int, count: int, name: str) -> None:
        """Train iterations of some stacks."""
        members: dict[int, Members] = {}
        whole = False
        for stack in stacks:
            for part, lanes, own in stack.prepared(first, count, name):
                if part.draw is None:
                    members[self._native.index(id(part))] = own
                    whole = whole or lanes.whole
                else:
                    lanes.iterate(own, *part.draw(count), count)
        if members:
            self._drawn().iterate(members, count, whole=whole)


def _drawn_ahead(
    draws: Sequence[Draw], generator: torch.Generator, count: int, dtype: torch.dtype
) -> np.ndarray:
    """Return the noise of some iterations, `(iterations, numbers)`."""
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
