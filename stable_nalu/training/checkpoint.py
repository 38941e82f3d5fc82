"""The state of runs: models initialised, saved and put back, with all that a resumed run needs.

Files are written atomically. They hold tensors and plain values; random states have one form for
every generator.
"""

import errno
import hashlib
import io
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, PerRunRandomSource, run_state, stack_models
from stable_nalu.base import files
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_path, model_file, save_root
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.layer.base import foreign_modules
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.writer.event_file import RESULT_TEST, RESULT_VALID, ResumePoint, refuse_in_use

from . import has_gpu
from .recorder import Recorder, numbers
from .step import TrainingStep, load_optimizer_state, optimizer_state
from .task import EngineTask, Task

OF_THE_BEST = BEST_MODELS, BEST_PARAMETERS = "lowest_interp_model", "lowest_interp_params"
"""Folders of the best models below the save root, and of their parameters as text."""
LANES, TORCH, STACKED = "lanes", "torch", "torch, many runs at once"
"""What trains a run."""
LOAD = "--load-checkpoint"
Tensors = Mapping[str, torch.Tensor]

LENGTH_AND_LOGGING = {
    *("max_iterations", "max_epochs", "log_interval", "verbose"),
    *("save_best_model", "id", "name_prefix"),
}
"""Flags that change how long or how densely a run is recorded, not what it computes."""
REQUIRED = {
    **{"epoch": int, "model_state_dict": dict, "optimizer_state_dict": dict},
    **{"config": dict, "progress": dict},
}
PROGRESS = {
    **{"task": dict, "random": list, "errors": dict, "updates": int, "engine": str},
    **{"batch": (int, type(None)), "order": (torch.Tensor, type(None))},
    **{"diverged_at": (int, type(None)), "event_file": str, "event_position": int},
}
"""Names and types of what every checkpoint holds, and of what it holds of the progress of a run."""


def is_there(path: Path) -> bool:
    """Return whether a file exists; one whose name no disk holds does not."""
    try:
        return path.exists()
    except OSError:
        return False


def require_writable(path: Path, probed: set[Path]) -> None:
    """Refuse a file that could not be written later, before any work is done for it.

    Nothing is left behind: a folder that is missing is made when the file is.

    probed: missing folders that were found to be such as can be made, which is not tried again.
    """
    folder = path.parent
    while not os.path.lexists(folder):
        folder = folder.parent
    try:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if folder != path.parent and path.parent not in probed:
            # Only making them tells on every file system whether folders can be made.
            with tempfile.TemporaryDirectory(prefix=".", dir=folder) as probe:
                Path(probe, path.parent.relative_to(folder)).mkdir(parents=True)
            probed.add(path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; set SAVE_DIR elsewhere") from None
    if path.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {path}; set SAVE_DIR to a writable folder")


def save_torch(path: Path, content: dict, shown: Path | None = None) -> None:
    """Write a file by `torch.save`, whole or not at all; errors name `shown`, if it is given."""
    # In memory first, as torch reports a full disk as an error of its own.
    saved = io.BytesIO()
    torch.save(content, saved)
    _write(path, saved.getbuffer(), shown)


def _write(path: Path, content: Any, shown: Path | None = None) -> None:
    try:
        with atomic_path(path, durable=True) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        problem = f"cannot write {shown or path}: {error.strerror}"
        raise UsageError(f"{problem}; set SAVE_DIR elsewhere") from None


def pending_file(path: Path) -> Path:
    """Return where a new checkpoint waits until all checkpoints of its stack are written."""
    digest = hashlib.sha256(path.name.encode()).hexdigest()[:32]
    return path.with_name(f".{digest}.pending{path.suffix}")


def save_together(contents: Iterable[tuple[Path, dict]]) -> None:
    """Save the states of several runs at one moment.

    Whenever the process dies, every file still holds the old states, or the new one of every run
    is there: in place or pending.
    """
    paths: list[Path] = []
    with ExitStack() as undo:
        for path, content in contents:
            save_torch(pending_file(path), content, path)
            undo.callback(pending_file(path).unlink)
            paths.append(path)
        undo.pop_all()
    for path in paths:
        try:
            pending_file(path).replace(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None


def sweep(names: Iterable[str]) -> None:
    """Remove what a process left behind that was killed while it saved these runs.

    Nobody else may save them meanwhile, which the locks of their folders make sure.
    """
    root, paths = save_root(), list[Path]()
    for name in names:
        path = model_file(root, name)
        paths += (path, pending_file(path), model_file(root / BEST_MODELS, name))
        paths.append(model_file(root / BEST_PARAMETERS, name, ".txt"))
    files.remove_temporaries(paths)


def asked_by(config) -> str:
    return "--resume" if config.resume else LOAD


def load_torch(path: Path, flag: str = LOAD) -> dict:
    """Load a file of tensors and plain values; refuse anything else in it.

    flag: the one that asked for it, which errors name.
    """
    if not is_there(path):
        raise UsageError(f"argument {flag}: there is no checkpoint {path}")
    if not path.is_file() and not path.is_dir():  # A pipe would be waited for.
        raise UsageError(f"argument {flag}: the checkpoint {path} is not a file")
    try:
        with warnings.catch_warnings(action="ignore"):  # about the protocols of pickled files
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # The texts of torch are long, and about its own history.
        # Where the bytes can be read, it is what they say that is wrong.
        readable = path.is_file() and os.access(path, os.R_OK)
        reason = error.strerror if isinstance(error, OSError) and not readable else None
        raise UsageError(
            f"argument {flag}: cannot read the checkpoint {path}: "
            f"{reason or 'damaged, or not made of tensors and plain values alone'}"
        ) from None


def plain(values: dict) -> dict:
    """Return values of only those types that a checkpoint can hold without pickled code."""
    allowed = (bool, int, float, str, list, tuple, dict, type(None))
    return {name: v if isinstance(v, allowed) else str(v) for name, v in values.items()}


def restore_parameters(targets: Tensors, saved: Tensors, path: Path, flag: str = LOAD) -> None:
    """Copy saved values into parameters and buffers of the same names and shapes."""
    own, theirs = (
        {name: (tuple(value.shape), value.is_complex()) for name, value in values.items()}
        for values in (targets, saved)
    )
    if own != theirs:
        fit = f"the parameters saved in {path} do not fit this configuration"
        raise UsageError(f"argument {flag}: {fit}")
    with torch.no_grad():
        for name, target in targets.items():
            target.copy_(saved[name])


Generator = torch.Generator | np.random.Generator | np.random.RandomState | LegacyRandom
NUMPY_SEEDS = 2**32


def saved_state(generator: Generator | ModuleType) -> Any:
    """Return the state of a generator; `np.random`, the module, is NumPy's global one."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    is_new = isinstance(generator, np.random.Generator | LegacyRandom)
    # Besides its words an old one has half of a pair of normal numbers.
    state = generator.bit_generator.state if is_new else generator.get_state(legacy=False)
    return _with_words(state, lambda words: torch.from_numpy(words.astype(np.int64)))


@cache
def seeded_state(seed: int) -> Any:
    """Return the state of NumPy's global generator once it is seeded."""
    return saved_state(np.random.RandomState(seed % NUMPY_SEEDS))


def put_back(generator: Generator | ModuleType, state: Any) -> None:
    """Let a generator go on from a state that `saved_state` returned."""
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
        return
    state = _with_words(state, lambda words: words.numpy().astype(np.uint32))
    if isinstance(generator, np.random.Generator | LegacyRandom):
        generator.bit_generator.state = state
    else:
        generator.set_state(state)


def _with_words(state: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    inner = {name: change(v) if name == "key" else v for name, v in state["state"].items()}
    return {**state, "state": inner}


PLAIN = type(None), bool, int, float, str, list, tuple, dict, torch.Tensor
KEPT = "layer_state"
"""What users' layers keep besides parameters and saved buffers; absent where there is nothing."""


def _unsaved_buffers(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return non-persistent buffers of users. Every pass sets this package's own first."""
    saved, owners = model.state_dict().keys(), foreign_modules(model)
    inside = tuple(f"{path}." if path else "" for path, _ in owners)
    return {n: b for n, b in model.named_buffers() if n not in saved and n.startswith(inside)}


def _python_state(model: torch.nn.Module) -> Any:
    """Return what passes of a model may change in Python; None: it has no layer of a user."""
    if not foreign_modules(model):
        return None
    from stable_nalu.layer.user_code import PythonState

    return PythonState(model)


def _attributes(model: torch.nn.Module) -> dict[str, dict[str, Any]]:
    """Return those attributes of users' modules that consist of plain values and tensors."""
    from stable_nalu.layer import user_code

    known = {id(tensor) for tensor in user_code.tensors_of(model).values()}
    kept, ours = {}, user_code.OURS | user_code.OF_TORCH
    for path, module in foreign_modules(model):
        own = {n: v for n, v in vars(module).items() if n not in ours}
        kept[path] = {n: _copied(v) for n, v in own.items() if _is_plain(v, known)}
    return kept


def _is_plain(value: Any, known: set[int]) -> bool:
    if type(value) not in PLAIN or id(value) in known:
        return False
    if isinstance(value, dict):
        return all(_is_plain(part, known) for pair in value.items() for part in pair)
    return not isinstance(value, list | tuple) or all(_is_plain(part, known) for part in value)


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return type(value)(map(_copied, value)) if isinstance(value, list | tuple) else value


def _put(module: torch.nn.Module, name: str, value: Any) -> None:
    """Set an attribute. A container is filled in place, since others may refer to it."""
    before = vars(module).get(name)
    if isinstance(value, list) and type(before) is list:
        before[:] = value
    elif isinstance(value, dict) and type(before) is dict:
        before.clear()
        before.update(value)
    else:
        setattr(module, name, value)


@dataclass(frozen=True)
class SavedState(ResumePoint):
    """A file that a run may continue from; `iteration` is the first remaining one.

    error: its last test error, if it has one. stopped: whether a callback has ended the run.
    """

    path: Path = Path()
    iteration: int = 0
    diverged: bool = False
    error: float | None = None
    stopped: bool = False


@dataclass(frozen=True)
class PlannedRun:
    """A run: its configuration, its name and the options of its layers.

    engine: what trains it: `lanes`, `torch, many runs at once`, or `torch` and the reason. state:
    what it continues from, if anything.
    """

    config: Config
    name: str
    layer_options: dict[str, Any]
    engine: str = TORCH
    state: SavedState | None = None

    @classmethod
    def of(cls, spec: ScriptSpec, config: Config) -> "PlannedRun":
        return cls(config, spec.run_name(config), spec.layer_options(config))

    @property
    def in_lanes(self) -> bool:
        return self.engine in (LANES, STACKED)

    @property
    def start(self) -> int:
        return 0 if self.state is None else self.state.iteration


Stack = list[PlannedRun]
States = Mapping[int, SavedState]


def run_control(spec: ScriptSpec) -> set[str]:
    """Return the flags in which two recordings of the same run may differ."""
    return {flag.dest for flag in spec.flags if not flag.result} | LENGTH_AND_LOGGING


def read(run: PlannedRun, path: Path) -> tuple[dict, SavedState]:
    flag = asked_by(run.config)
    checkpoint = load_torch(path, flag)
    missing = _missing(checkpoint, REQUIRED) or _missing(checkpoint["progress"], PROGRESS)
    if missing or checkpoint["epoch"] < 0:
        lacks = f"{path} lacks {', '.join(missing or ['epoch'])}"
        raise UsageError(f"argument {flag}: {lacks}; it is not a checkpoint of this script")
    at, progress = checkpoint["epoch"], checkpoint["progress"]
    diverged, error = progress["diverged_at"] is not None, progress["errors"].get(RESULT_TEST)
    log = progress["event_file"], progress["event_position"], flag
    return checkpoint, SavedState(*log, path, at, diverged, error, "stopped_at" in progress)


def _missing(content: Any, required: Mapping[str, Any]) -> list[str]:
    held = content if isinstance(content, dict) else {}
    return [name for name, kind in required.items() if not isinstance(held.get(name, ...), kind)]


def saved_states(spec: ScriptSpec, run: PlannedRun) -> States:
    """Return what a run may continue from, by iteration: nothing, unless it is asked for.

    Besides the checkpoint there is a newer state when the process died while it saved a stack.
    """
    if not (run.config.load_checkpoint or run.config.resume):
        return {}
    refuse_in_use(files.tensorboard_root() / run.name)
    path = model_file(save_root(), run.name)
    there = [file for file in (path, pending_file(path)) if is_there(file)]
    states = {}
    for file in there or [path] * run.config.load_checkpoint:
        checkpoint, state = read(run, file)
        _check_same_run(spec, run, checkpoint)
        states[state.iteration] = state
    return states


def _check_same_run(spec: ScriptSpec, run: PlannedRun, checkpoint: dict) -> None:
    """Refuse the checkpoint of another configuration.

    Files can be exchanged, and names do not hold every flag. Runs of one configuration differ
    in their event files.
    """
    saved, controls = checkpoint["config"], run_control(spec)
    if checkpoint["progress"].get("reads_progress"):
        controls -= {"max_iterations", "max_epochs"}
    different = [
        f"--{dest.replace('_', '-')} {saved[dest]} there, {value} here"
        for dest, value in plain(run.config.as_dict()).items()
        if dest in saved and dest not in controls and str(saved[dest]) != str(value)
    ]
    if different:
        subject = f"argument {asked_by(run.config)}: the checkpoint of {run.name}"
        raise UsageError(f"{subject} is of another configuration: {'; '.join(different)}")


def continued(stack: Stack, states: Mapping[str, States]) -> list[Stack]:
    """Return the runs of a stack at the latest iteration that all were saved at.

    A stack that a process left behind has one. Runs that never trained together may not; they are
    split by what each has, so that runs of a stack start alike. A run that was stopped is alone.
    """
    ended = {run.name: s for run in stack for s in states[run.name].values() if s.stopped}
    stopped = [[replace(run, state=ended[run.name])] for run in stack if run.name in ended]
    left = [run for run in stack if run.name not in ended]
    steps = [{0, *states[run.name]} for run in left]
    common = set.intersection(*steps) - {0} if steps else set()
    groups: dict[int, Stack] = {}
    for run in left:
        own = states[run.name]
        # The checkpoint itself is the first, if there is one besides what was pending.
        committed = [at for at, state in own.items() if not state.path.name.startswith(".")]
        start = max(common) if common else next(iter(committed), 0)
        groups.setdefault(start, []).append(replace(run, state=own.get(start)))
    return [*groups.values(), *stopped]


def settle(stack: Stack) -> None:
    """Make the states that runs continue from their checkpoints, and drop what is not used.

    That is a newer state, or what a process was writing when it was killed.
    """
    for run in stack:
        path = model_file(save_root(), run.name)
        pending = pending_file(path)
        if run.state is not None and run.state.path == pending:
            pending.replace(path)
        elif pending.exists():
            pending.unlink()
    sweep(run.name for run in stack)


class RunState:
    """The state of runs, one alone or many stacked as one: models, optimiser, generators, progress.

    at: the unit that is trained next. batch: how many batches of it are trained; None as long as it
    has not begun. order: of its rows, if a loader shuffles them. updates: how many were made.
    last_total: the last loss of all runs. errors: the last errors of all runs, by their tags for
    TensorBoard's HParams plugin; best: the lowest validation errors. diverged_at: where runs
    diverged; stopped_at: where callbacks stopped them. engine: what trains the runs in place of
    torch, if it does. hooks: callbacks and a logger, if there are any.
    """

    recorder: Recorder
    engine: Any = None
    hooks: Any = None

    def __init__(self, task: type[Task], stack: Stack):
        self.stack = stack
        self.configs = [run.config for run in stack]
        self.config = self.configs[0]
        self.runs = len(stack)
        self.stacked = stack[0].in_lanes
        self.trainer = LANES if self.stacked else TORCH
        on_cpu = not has_gpu(self.config) or issubclass(task, EngineTask)
        self.device = torch.device("cpu" if on_cpu else "cuda")
        torch.backends.cudnn.deterministic = True
        self.task = task(self.config, self.device, *self.configs[1:])
        self.model, self.random = self._seeded()
        # The engine trains no layer whose passes change anything in Python.
        self._first = None if self.stacked else _python_state(self.model)
        self.step = TrainingStep(self.configs, self.model, task.kind.penalties)
        self.step.error, self.step.run_dims = self.task.loss, int(self.stacked)
        self.at = stack[0].start
        self.batch: int | None = None
        self.order: torch.Tensor | None = None
        self.updates = 0
        self.last_total: torch.Tensor | None = None
        self.diverged_at: dict[int, int] = {}
        self.stopped_at: dict[int, int] = {}
        self.errors: dict[str, np.ndarray] = {}
        self.best = [math.inf] * self.runs

    def _seeded(self) -> tuple[ExtendedTorchModule, PerRunRandomSource | None]:
        """Build every run's model, initialised under its own seed, and stack them.

        The generators of stacked runs stand where initialising has left them.
        """
        if not self.stacked:
            return self._seeded_run(0).to(self.device), None
        models, generators = [], []
        with torch.random.fork_rng(devices=[]):
            for run in range(self.runs):
                models.append(self._seeded_run(run))
                generators.append(torch.Generator())
                generators[-1].set_state(torch.get_rng_state())
        model = stack_models(models).to(self.device)
        random = PerRunRandomSource(generators)
        for module in model.extended_modules():
            module.random = random
        return model, random

    def _seeded_run(self, run: int) -> ExtendedTorchModule:
        seed = self.configs[run].seed
        # Layers of users may draw from the global generators.
        torch.manual_seed(seed)
        np.random.seed(seed % NUMPY_SEEDS)
        return self.task.initialized(self.configs[run], self.stack[run].layer_options)

    def reset(self, run: int) -> None:
        """Initialise one run again, drawing from where its generator stands."""
        if self.random is None:
            self.model.reset_parameters()
            return
        own, generator = self.model.state_dict(), self.random.generators[run]
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            fresh = self.task.network(self.configs[run], self.stack[run].layer_options)
            # What the constructor alone draws, and statistics of batches, stay as they are.
            fresh.load_state_dict({name: value[run] for name, value in own.items()})
            torch.set_rng_state(generator.get_state())
            fresh.reset_parameters()
            generator.set_state(torch.get_rng_state())
            for name, value in fresh.state_dict().items():
                own[name][run].copy_(value)

    def save_best(self) -> None:
        """Save the weights of each run that has a lower validation error than ever before."""
        for run, error in enumerate(self.errors[RESULT_VALID].tolist()):
            if error < self.best[run] and run not in self.stopped_at:
                self.best[run] = error
                name, state = self.stack[run].name, self._own(run)
                rows = (f"{own}\n{state[own]}\n" for own in self.step.trainable)
                text = "".join((f"epoch: {self.at}\n", *rows, "\n"))
                save_torch(model_file(save_root() / BEST_MODELS, name), state)
                _write(model_file(save_root() / BEST_PARAMETERS, name, ".txt"), text.encode())

    def _own(self, run: int) -> dict[str, torch.Tensor]:
        return run_state(self.model.state_dict(), self._index(run))

    def _index(self, run: int) -> int | None:
        return run if self.stacked else None

    def broken(self) -> np.ndarray:
        """Return which runs have a weight that is not a number."""
        broken = torch.zeros(self.runs, dtype=torch.bool)
        for parameter in self.model.parameters():
            broken |= parameter.detach().isnan().reshape(self.runs, -1).any(-1).cpu()
        return broken.numpy()

    def _generator(self, run: int) -> torch.Generator:
        return torch.default_generator if self.random is None else self.random.generators[run]

    def checkpoint_path(self, run: int) -> Path:
        return model_file(save_root(), self.stack[run].name)

    def short_name(self, run: int) -> str:
        """Return the name of a run in tables."""
        return Path(self.stack[run].name).name

    def pause(self) -> None:
        """Bring all state to where the finished updates have left it."""
        if self.engine is not None:
            self.engine.store()

    def save(self, at: int) -> None:
        """Write the checkpoints of all runs, if wanted; `at` is the first remaining unit."""
        if not self.config.no_save:
            self.pause()
            runs = [run for run in range(self.runs) if run not in self.stopped_at]
            save_together((self.checkpoint_path(run), self._checkpoint(run, at)) for run in runs)

    def _checkpoint(self, run: int, at: int) -> dict[str, Any]:
        """Return the state of one run, under published keys."""
        writer, index = self.recorder.writers[run], self._index(run)
        betas = self.step.penalties.betas
        # A checkpoint that outlives a power failure needs the log that it refers to.
        writer.events.sync()
        progress = self._progress(run) | {
            "diverged_at": self.diverged_at.get(run),
            "last_loss": None if self.last_total is None else float(numbers(self.last_total)[run]),
            "event_file": writer.events.path.name,
            "event_position": writer.position,
        }
        if self.hooks is not None:
            progress["callbacks"] = self.hooks.states(self.short_name(run), _is_plain)
        if run in self.stopped_at:
            progress["stopped_at"] = self.stopped_at[run]
        of_numpy = seeded_state(self.configs[run].seed) if self.random else saved_state(np.random)
        return {
            "epoch": at,
            "model_state_dict": self._own(run),
            "optimizer_state_dict": optimizer_state(self.step.optimizer, index),
            "torch_rng_state": saved_state(self._generator(run)),
            "numpy_rng_state": of_numpy,
            "beta": str(betas[run].value) if betas else None,
            **self._kept(run),
            "args": None,
            "config": plain(self.configs[run].as_dict()),
            "progress": progress,
        }

    def _progress(self, run: int) -> dict[str, Any]:
        """Return what a resumed run needs besides model, optimiser, generator and log."""
        state, modules = self.task.get_state(run), self.model.extended_modules()
        random = [value for value in state.values() if isinstance(value, Generator)]
        progress = {
            "task": {n: value for n, value in state.items() if not isinstance(value, Generator)},
            "random": list(map(saved_state, random)),
            "errors": {tag: float(values[run]) for tag, values in self.errors.items()},
            "best": self.best[run],
            "updates": self.updates,
            "batch": self.batch,
            "order": self.order,
            "engine": self.trainer,
            "reads_progress": any("progress" in m.clock_reads for m in modules),
        }
        if self.device.type == "cuda":
            progress["cuda"] = torch.cuda.get_rng_state(self.device)
        return progress

    def _set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        self.task.set_state(run, progress["task"])
        values = self.task.get_state(run).values()
        random = [value for value in values if isinstance(value, Generator)]
        for one, state in zip(random, progress["random"], strict=True):
            put_back(one, state)
        for tag, error in progress["errors"].items():
            self.errors.setdefault(tag, np.full(self.runs, np.inf))[run] = error
        self.guide()
        self.best[run] = progress["best"]
        self.order = progress["order"]
        if "cuda" in progress and self.device.type == "cuda":
            torch.cuda.set_rng_state(progress["cuda"], self.device)

    def guide(self) -> None:
        """Let penalties follow validation errors, if they do."""
        if self.task.kind.guided:
            self.step.penalties.validation = self.errors.get(RESULT_VALID)

    def restore_runs(self, checkpoints: Sequence[dict]) -> None:
        damage = ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError
        for run, checkpoint in enumerate(checkpoints):
            try:
                self._restore_run(run, checkpoint)
            except damage:
                raise UsageError(
                    f"argument {asked_by(self.config)}: {self.checkpoint_path(run)} is damaged or "
                    "of another version; --remove-existing-data starts anew"
                ) from None
        losses = [checkpoint["progress"].get("last_loss") for checkpoint in checkpoints]
        if None not in losses:
            # A loss that is not a number ends a run at the next log point.
            total = losses if self.stacked else losses[0]
            self.last_total = torch.tensor(total, dtype=torch.float64)

    def _restore_run(self, run: int, saved: Mapping[str, Any]) -> None:
        flag, progress, name = asked_by(self.config), saved["progress"], self.stack[run].name
        if progress["engine"] != self.trainer:
            raise UsageError(
                f"argument {flag}: {name} was trained by --engine {progress['engine']}, and here "
                f"by {self.trainer}; their last bits differ: --remove-existing-data starts anew"
            )
        index, own = self._index(run), self.model.state_dict()
        targets = {name: value if index is None else value[index] for name, value in own.items()}
        restore_parameters(targets, saved["model_state_dict"], self.checkpoint_path(run), flag)
        self._restore_kept(run, saved.get(KEPT, {}), flag)
        load_optimizer_state(self.step.optimizer, saved["optimizer_state_dict"], index)
        put_back(self._generator(run), saved["torch_rng_state"])
        if self.random is None:
            put_back(np.random, saved["numpy_rng_state"])
        if self.step.penalties.betas:
            self.step.penalties.betas[run].value = Decimal(saved["beta"])
        if progress["diverged_at"] is not None:
            self.diverged_at[run] = progress["diverged_at"]
        self._set_progress(run, progress)

    def _kept(self, run: int) -> dict[str, Any]:
        """Return buffers and attributes of users' layers that are in no state dictionary."""
        buffers = run_state(_unsaved_buffers(self.model), self._index(run))
        kept: dict[str, Any] = {"buffers": buffers} if buffers else {}
        if self._first is not None:
            from stable_nalu.layer.user_code import SHARED, PythonState

            now, attributes = PythonState(self.model), _attributes(self.model)
            if self._first.difference(now, SHARED) is not None:
                kept["attributes"] = attributes
            held = [f"{path}.{name}" for path, own in attributes.items() for name in own]
            lost = self._first.difference(now, [*held, SHARED[1]])
            kept |= {} if lost is None else {"lost": lost}
        return {KEPT: kept} if kept else {}

    @torch.no_grad()
    def _restore_kept(self, run: int, kept: Mapping[str, Any], flag: str) -> None:
        """Restore what layers keep, or refuse a run if no checkpoint can hold all of it."""
        if "lost" in kept:
            raise UsageError(
                f"argument {flag}: {self.stack[run].name} cannot go on: a pass of its layer "
                f"changes {kept['lost']}, which no checkpoint holds; keep it in a buffer, or "
                "--remove-existing-data starts anew"
            )
        held = _unsaved_buffers(self.model)
        for path, value in kept.get("buffers", {}).items():
            if not self.stacked and held[path].shape != value.shape:
                owner, _, last = path.rpartition(".")
                self.model.get_submodule(owner)._buffers[last] = value
            else:
                (held[path][run] if self.stacked else held[path]).copy_(value)
        for path, own in kept.get("attributes", {}).items():
            for attribute, value in own.items():
                _put(self.model.get_submodule(path), attribute, value)

    def snapshot(self) -> Callable[[], None]:
        """Return what puts generators, buffers, layers and progress back to where they are now."""
        generators = [np.random, *map(self._generator, range(self.runs))]
        states = list(map(saved_state, generators))
        buffers = [
            (module, name, buffer, buffer.clone())
            for module in self.model.modules()
            for name, buffer in module.named_buffers(recurse=False)
        ]
        layers = _python_state(self.model)
        progress = [self._progress(run) for run in range(self.runs)]

        @torch.no_grad()
        def undo() -> None:
            if layers is not None:
                layers.put_back()
            for generator, state in zip(generators, states, strict=True):
                put_back(generator, state)
            for module, name, buffer, before in buffers:
                module._buffers[name] = buffer.copy_(before)
            for run, own in enumerate(progress):
                self._set_progress(run, own)

        return undo
