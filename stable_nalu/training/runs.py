"""Planned runs: what trains them, in which stacks, from which saved state, and their models.

The models of runs, one alone or many stacked as one, are initialised, saved and put back. Random
states in checkpoints have one form, of plain values and tensors, for every generator.
"""

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource, run_state, stack_models
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import save_root, tensorboard_root
from stable_nalu.base.script import Interruption, cores
from stable_nalu.base.tags import RESULT_TEST
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.layer.python_state import PythonState
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.writer.run_folder import ResumePoint, refuse_in_use

from .checkpoint import (
    PROGRESS,
    asked_by,
    is_there,
    load_torch,
    model_file,
    pending_file,
    plain,
    restore_parameters,
    save_best,
    sweep,
)
from .console import End
from .engine_task import EngineTask
from .layer_state import LayerState
from .step import TrainingStep, load_optimizer_state, optimizer_state
from .surroundings import default_dtype, errors_in_one_line, has_gpu, precision
from .task import Task

LENGTH_AND_LOGGING = frozenset(
    {
        "max_iterations",
        "max_epochs",
        "log_interval",
        "verbose",
        "save_best_model",
        "id",
        "name_prefix",
    }
)
"""Flags that change how long or how densely a run is recorded, not what it computes."""

STACKED_INPUTS = 16_384
"""Runs in one stack, times their inputs: past that, more runs in a stack gain no speed."""

WORK_OF_A_PROCESS = 1_000_000
"""Iterations, summed over runs, below which another process costs more than it saves."""

LANES, TORCH = "lanes", "torch"
ENGINE = "STABLE_NALU_ENGINE"
"""The environment variable by which all arithmetic runs of a command train in torch."""

REQUIRED = {
    "epoch": int,
    "model_state_dict": dict,
    "optimizer_state_dict": dict,
    "config": dict,
    "progress": dict,
}
"""Names and types of what every checkpoint holds."""


@dataclass(frozen=True)
class PlannedRun:
    """A run: its configuration, its name and the options of its layers.

    engine: what trains it: `lanes`, or `torch` and the reason. start: its first unit. source: the
    saved state that it continues from, if any.
    """

    config: Config
    name: str
    layer_options: dict[str, Any]
    engine: str = TORCH
    start: int = 0
    source: Path | None = None

    @classmethod
    def of(cls, spec: ScriptSpec, config: Config) -> "PlannedRun":
        """Return the run of a configuration."""
        return cls(config, spec.run_name(config), spec.layer_options(config))

    @property
    def in_lanes(self) -> bool:
        """Return whether the engine trains it."""
        return self.engine == LANES


@dataclass(frozen=True)
class SavedState:
    """A file that a run may continue from; `iteration` is the first one left to train.

    error: its last test error, if it has one.
    """

    path: Path
    iteration: int
    resume_point: ResumePoint
    diverged: bool
    error: float | None


Stack = list[PlannedRun]
Share = list[tuple[int, Stack]]
States = Mapping[int, SavedState]


@dataclass(frozen=True)
class StackResult:
    """How the training of a stack ended.

    interrupted_at: the first unit that is left, after a signal. signal_number: that signal.
    ends: how its runs ended, if they did.
    """

    diverged: bool = False
    interrupted_at: int | None = None
    signal_number: int | None = None
    ends: tuple[End, ...] = ()


TrainStacks = Callable[[Share, Callable[..., None], Interruption], dict[int, StackResult]]
"""Trains stacks, shows by a function, and returns the results of those it began."""


def worker_count(task: type[Task], runs: Sequence[PlannedRun]) -> int:
    """Return how many processes to use: `--workers`, else one per core while there is work for it.

    A script without the flag uses one, and so do runs that a GPU trains. The work of the whole plan
    counts, done or not, so that a resumed plan is cut alike.
    """
    wanted = getattr(runs[0].config, "workers", 1)
    if wanted is not None:
        return min(wanted, len(runs))
    if _on_gpu(task, runs):
        return 1
    work = task.kind.cost * sum(task.kind.unit.last(run.config) + 1 for run in runs)
    return max(1, min(cores(), len(runs), work // WORK_OF_A_PROCESS))


def _on_gpu(task: type[Task], runs: Sequence[PlannedRun]) -> bool:
    """Return whether a GPU trains runs: there is one, they are many, and it can."""
    if not issubclass(task, EngineTask) or task.in_python or not has_gpu(runs[0].config):
        return False
    from torchlanes import gpu

    in_lanes = [run for run in runs if run.in_lanes]
    programs = [one for run in in_lanes for one in _programs(task, run)]
    return len(in_lanes) >= gpu.FEW and gpu.not_for_gpu(programs) is None


def stacks_of(runs: Sequence[PlannedRun], workers: int) -> list[Stack]:
    """Cut a plan into stacks of runs that differ only in what may differ within a stack.

    Runs of a stack share their layers' options. A stack is no larger than `--ensemble-size`, and
    there are enough stacks for all workers. What torch trains is trained alone.
    """
    alone = [[run] for run in runs if not run.in_lanes]
    stacked = [run for run in runs if run.in_lanes]
    if not stacked:
        return alone
    groups: dict[str, list[PlannedRun]] = {}
    for run in stacked:
        key = repr(sorted(run.layer_options.items()))
        groups.setdefault(key, []).append(run)
    first = stacked[0].config
    # A GPU has room for all of them, and is only busy with many.
    fitting = len(stacked) if has_gpu(first) else max(1, STACKED_INPUTS // first.inputs)
    largest = first.ensemble_size or min(fitting, math.ceil(len(stacked) / workers))
    return [*(part for group in groups.values() for part in _parts(group, largest)), *alone]


def _parts(group: Sequence[PlannedRun], largest: int) -> list[Stack]:
    """Cut runs into equal parts, those of a seed together, as they share their samples."""
    count = math.ceil(len(group) / largest)
    bounds = [round(k * len(group) / count) for k in range(count + 1)]
    order = sorted(range(len(group)), key=lambda k: getattr(group[k].config, "seed", 0))
    parts = [sorted(order[a:b]) for a, b in zip(bounds, bounds[1:], strict=False)]
    return [[group[k] for k in part] for part in parts]


def run_control(spec: ScriptSpec) -> set[str]:
    """Return the flags in which two recordings of the same run may differ."""
    return {flag.dest for flag in spec.flags if not flag.result} | LENGTH_AND_LOGGING


def read_checkpoint(run: PlannedRun, path: Path) -> dict:
    """Read a checkpoint that a run can continue from."""
    flag = asked_by(run.config)
    checkpoint = load_torch(path, flag)
    missing = _missing(checkpoint, REQUIRED)
    if not missing:
        missing = _missing(checkpoint["progress"], PROGRESS)
    if missing or checkpoint["epoch"] < 0:
        raise UsageError(
            f"argument {flag}: {path} lacks {', '.join(missing or ['epoch'])}; "
            "it is not a checkpoint of this script"
        )
    return checkpoint


def _missing(content: Any, required: Mapping[str, Any]) -> list[str]:
    held = content if isinstance(content, dict) else {}
    return [name for name, kind in required.items() if not isinstance(held.get(name, ...), kind)]


def resume_point(run: PlannedRun, checkpoint: dict) -> ResumePoint:
    """Return where the log of a run stood when it was saved."""
    progress = checkpoint["progress"]
    return ResumePoint(progress["event_file"], progress["event_position"], asked_by(run.config))


def saved_states(spec: ScriptSpec, run: PlannedRun) -> States:
    """Return what a run may continue from, by iteration: nothing, unless it is asked for.

    Besides the checkpoint there is a newer state when the process died while it saved a stack.
    """
    if not (run.config.load_checkpoint or run.config.resume):
        return {}
    refuse_in_use(tensorboard_root() / run.name)
    path = model_file(save_root(), run.name)
    files = [file for file in (path, pending_file(path)) if is_there(file)]
    if run.config.load_checkpoint and not files:
        files = [path]
    states = {}
    for file in files:
        checkpoint = read_checkpoint(run, file)
        _check_same_run(spec, run, checkpoint)
        states[checkpoint["epoch"]] = SavedState(
            file,
            checkpoint["epoch"],
            resume_point(run, checkpoint),
            checkpoint["progress"].get("diverged_at") is not None,
            checkpoint["progress"]["errors"].get(RESULT_TEST),
        )
    return states


def _check_same_run(spec: ScriptSpec, run: PlannedRun, checkpoint: dict) -> None:
    """Refuse the checkpoint of another configuration.

    Files can be exchanged, and names do not hold every flag. Runs of one configuration differ
    in their event files.
    """
    flag, saved = asked_by(run.config), checkpoint["config"]
    own, controls = plain(run.config.as_dict()), run_control(spec)
    if checkpoint["progress"].get("reads_progress"):
        controls -= {"max_iterations", "max_epochs"}
    different = [
        f"--{dest.replace('_', '-')} {saved[dest]} there, {value} here"
        for dest, value in own.items()
        if dest in saved and dest not in controls and str(saved[dest]) != str(value)
    ]
    if different:
        raise UsageError(
            f"argument {flag}: the checkpoint of {run.name} is of another "
            f"configuration: {'; '.join(different)}"
        )


def continued(stack: Stack, states: Mapping[str, States]) -> list[Stack]:
    """Return the runs of a stack at the latest iteration that all were saved at.

    A stack that a process left behind has one. Runs that never trained together may not; they are
    split by what each has, so that runs of a stack start alike.
    """
    common = set.intersection(*({0, *states[run.name]} for run in stack)) - {0}
    groups: dict[int, Stack] = {}
    for run in stack:
        own = states[run.name]
        start = max(common) if common else _committed(own)
        source = own[start].path if start in own else None
        groups.setdefault(start, []).append(replace(run, start=start, source=source))
    return list(groups.values())


def _committed(states: States) -> int:
    """Return the iteration of the checkpoint itself, or 0; states list the checkpoint first."""
    first = next(iter(states.values()), None)
    return first.iteration if first is not None and not first.path.name.startswith(".") else 0


def settle(stack: Stack) -> None:
    """Make the states that runs continue from their checkpoints, and drop what is not used.

    That is a newer state, or what a process was writing when it was killed.
    """
    for run in stack:
        path = model_file(save_root(), run.name)
        pending = pending_file(path)
        if run.source == pending:
            pending.replace(path)
        elif pending.exists():
            pending.unlink()
    sweep(run.name for run in stack)


def with_engine(task: type[Task], run: PlannedRun) -> PlannedRun:
    """Return a run that knows what trains it, which its configuration alone decides."""
    config = run.config
    if not issubclass(task, EngineTask):
        return run
    if config.engine == TORCH or config.no_compile:
        return replace(run, engine=f"{TORCH}: --engine torch")
    if os.environ.get(ENGINE) == TORCH:
        return replace(run, engine=f"{TORCH}: {ENGINE}=torch")
    try:
        with errors_in_one_line():
            reason = _reason_for_torch(task, run)
    except ValueError as error:  # of a unit that refuses an option
        raise UsageError(str(error)) from None
    return replace(run, engine=LANES if reason is None else f"{TORCH}: {reason}")


def _reason_for_torch(task: type[EngineTask], run: PlannedRun) -> str | None:
    """Return why a run cannot be trained by the engine, if it cannot."""
    from torchlanes.tiles import not_compiled
    from torchlanes.values import NotLoweredError

    try:
        programs = _programs(task, run)
    except NotLoweredError as error:
        return str(error)
    return next(filter(None, map(not_compiled, programs)), None)


def _programs(task: type[EngineTask], run: PlannedRun) -> list[Any]:
    """Return what the engine makes of a run, or raise NotLoweredError."""
    with default_dtype(precision(run.config)):
        return list(task.programs(run.config, run.layer_options).values())


def show_engine(task: type[Task], runs: Sequence[PlannedRun]) -> int:
    """Print the C++ of all runs, each text once."""
    assert issubclass(task, EngineTask), "no other task has the flag"
    texts = (program.text for run in runs if run.in_lanes for program in _programs(task, run))
    sys.stdout.write("\n".join(dict.fromkeys(texts)))
    return 0


def explain_torch(task: type[Task], runs: Sequence[PlannedRun]) -> None:
    """Say once why runs are trained by torch, one after another, unless that was asked for."""
    asked = f"{TORCH}: --engine torch", f"{TORCH}: {ENGINE}=torch"
    reasons = {run.engine for run in runs if not run.in_lanes} - set(asked)
    for reason in sorted(reasons if issubclass(task, EngineTask) else ()):
        sys.stderr.write(f"trained one run at a time by plain {reason}\n")


Generator = torch.Generator | np.random.Generator | np.random.RandomState | LegacyRandom
NUMPY_SEEDS = 2**32


def seed_generators(seed: int) -> None:
    """Seed the global generators of torch and NumPy, from which layers of users may draw."""
    torch.manual_seed(seed)
    np.random.seed(seed % NUMPY_SEEDS)


def is_generator(value: object) -> bool:
    """Return whether a value of a task's state is a random generator."""
    return isinstance(value, Generator)


def saved_state(generator: Generator | ModuleType) -> Any:
    """Return the state of a generator; `np.random`, the module, is NumPy's global one."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    return _plain(_numpy_state(generator))


@cache
def seeded_state(seed: int) -> Any:
    """Return the state of NumPy's global generator as `seed_generators` leaves it."""
    return saved_state(np.random.RandomState(seed % NUMPY_SEEDS))


def put_back(generator: Generator | ModuleType, state: Any) -> None:
    """Let a generator go on from a state that `saved_state` returned."""
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
    elif isinstance(generator, np.random.Generator | LegacyRandom):
        generator.bit_generator.state = _arrays(state)
    else:
        generator.set_state(_arrays(state))


def _numpy_state(generator: Any) -> Mapping[str, Any]:
    if isinstance(generator, np.random.Generator | LegacyRandom):
        return generator.bit_generator.state
    # Besides the words it has half of a pair of normal numbers.
    return generator.get_state(legacy=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return torch.from_numpy(value.astype(np.int64)) if isinstance(value, np.ndarray) else value


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _arrays(part) for name, part in value.items()}
    return value.numpy().astype(np.uint32) if isinstance(value, torch.Tensor) else value


class ModelStack:
    """The models of a stack of runs, their step, and the generators that they draw from."""

    def __init__(self, task: Task, runs: Stack):
        self.task, self.runs = task, runs
        self.stacked = runs[0].in_lanes
        self.model, self.random = self._seeded()
        self.layers = LayerState(self.model, stacked=self.stacked)
        penalties = task.kind.penalties(task.configs, self.model)
        self.step = TrainingStep(
            *(task.configs, self.model), stacked=self.stacked, penalties=penalties, error=task.loss
        )

    def _seeded(self) -> tuple[ExtendedTorchModule, PerRunRandomSource | None]:
        """Build every run's model, initialised under its own seed, and stack them.

        The generators of stacked runs stand where initialising has left them.
        """
        if not self.stacked:
            return self._seeded_run(0).to(self.task.device), None
        models, generators = [], []
        with torch.random.fork_rng(devices=[]):
            for run in range(len(self.runs)):
                models.append(self._seeded_run(run))
                generators.append(torch.Generator())
                generators[-1].set_state(torch.get_rng_state())
        model = stack_models(models).to(self.task.device)
        random = PerRunRandomSource(generators)
        for module in model.extended_modules():
            module.random = random
        return model, random

    def _seeded_run(self, run: int) -> ExtendedTorchModule:
        config = self.runs[run].config
        seed_generators(config.seed)
        return self.task.initialized(config, self.runs[run].layer_options)

    def reset(self, run: int) -> None:
        """Initialise one run again, drawing from where its generator stands."""
        if self.random is None:
            self.model.reset_parameters()
            return
        own, generator = self.model.state_dict(), self.random.generators[run]
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            fresh = self.task.network(self.runs[run].config, self.runs[run].layer_options)
            # What the constructor alone draws, and statistics of batches, stay as they are.
            fresh.load_state_dict({name: value[run] for name, value in own.items()})
            torch.set_rng_state(generator.get_state())
            fresh.reset_parameters()
            generator.set_state(torch.get_rng_state())
            for name, value in fresh.state_dict().items():
                own[name][run].copy_(value)

    def save_best(self, run: int, at: int) -> None:
        """Save the weights of a run as those of its best model."""
        state = run_state(self.model.state_dict(), run if self.stacked else None)
        trainable = [name for name, p in self.model.named_parameters() if p.requires_grad]
        rows = [f"epoch: {at}\n", *(f"{name}\n{state[name]}\n" for name in trainable)]
        save_best(self.runs[run].name, state, "".join(rows) + "\n")

    def broken(self) -> np.ndarray:
        """Return which runs have a weight that is not a number."""
        broken = torch.zeros(len(self.runs), dtype=torch.bool)
        for parameter in self.model.parameters():
            broken |= parameter.detach().isnan().reshape(len(self.runs), -1).any(-1).cpu()
        return broken.numpy()

    def _generator(self, run: int) -> torch.Generator:
        """Return the generator that the layers of a run draw from."""
        return torch.default_generator if self.random is None else self.random.generators[run]

    def saved(self, run: int) -> dict[str, Any]:
        """Return the state of one run: parameters, optimiser, generators, under published keys."""
        index, seed = run if self.stacked else None, self.runs[run].config.seed
        betas = self.step.penalties.betas
        return {
            "model_state_dict": run_state(self.model.state_dict(), index),
            "optimizer_state_dict": optimizer_state(self.step.optimizer, index),
            "torch_rng_state": saved_state(self._generator(run)),
            "numpy_rng_state": seeded_state(seed) if self.random else saved_state(np.random),
            "beta": str(betas[run].value) if betas else None,
            **self.layers.saved(index),
        }

    def restore(self, run: int, saved: Mapping[str, Any], path: Path, flag: str) -> None:
        """Put the state of one run back; `path` and `flag` are what errors name."""
        index, own = run if self.stacked else None, self.model.state_dict()
        targets = {name: value if index is None else value[index] for name, value in own.items()}
        restore_parameters(targets, saved["model_state_dict"], path, flag)
        self.layers.restore(index, saved, self.runs[run].name, flag)
        load_optimizer_state(self.step.optimizer, saved["optimizer_state_dict"], index)
        put_back(self._generator(run), saved["torch_rng_state"])
        if self.random is None:
            put_back(np.random, saved["numpy_rng_state"])
        if self.step.penalties.betas:
            self.step.penalties.betas[run].value = Decimal(saved["beta"])

    def snapshot(self) -> Callable[[], None]:
        """Return what puts generators, buffers and layers back to where they are now."""
        generators = [np.random, *map(self._generator, range(len(self.runs)))]
        states = list(map(saved_state, generators))
        buffers = [
            (module, name, buffer, buffer.clone())
            for module in self.model.modules()
            for name, buffer in module.named_buffers(recurse=False)
        ]
        layers = PythonState(self.model)

        @torch.no_grad()
        def undo() -> None:
            layers.put_back()
            for generator, state in zip(generators, states, strict=True):
                put_back(generator, state)
            for module, name, buffer, before in buffers:
                module._buffers[name] = buffer.copy_(before)

        return undo
