"""The entrance for Python programs: train runs by a call, with the flags of a script as names."""

import hashlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, Unpack

import torch

from stable_nalu.base.errors import UsageError, did_you_mean, is_text, named_as_in_python
from stable_nalu.base.files import atomic_text_file, model_file, save_root, tensorboard_root
from stable_nalu.base.script import EXIT_INTERRUPTED, EXIT_REQUEUE, plural
from stable_nalu.callbacks import Hooks
from stable_nalu.layer import entries, own_layers
from stable_nalu.layer.registry import labelled_as_another_key, script_name
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.flags import owned_names, units_of
from stable_nalu.options.values import several, typed_values
from stable_nalu.statistics.table import write_plain_frame
from stable_nalu.task.own_task import BroughtTask
from stable_nalu.task.table import ARITHMETIC, SCRIPTS, TASKS
from stable_nalu.training import as_at_the_start
from stable_nalu.training.console import quiet
from stable_nalu.training.shell import set_threads, train_plan

from .flags import Flags, Script
from .runs import TrainedRuns, joined, read_runs

_Value = TypeVar("_Value")
Several = _Value | Sequence[_Value]

ROOTS = {"TENSORBOARD_DIR": "tensorboard", "SAVE_DIR": "save"}


def train(
    script: Script | BroughtTask,
    *,
    layer: Several[type[torch.nn.Module] | str] | None = None,
    network: Several[torch.nn.Module | Callable[..., torch.nn.Module]] | None = None,
    optimizer: Several[str | Callable[..., Any]] | None = None,
    loss: Several[str | Callable[..., Any]] | None = None,
    schedule: str | Callable[..., Any] | None = None,
    out: str | Path | None = None,
    callbacks: Any = (),
    logger: Any = "tensorboard",
    **flags: Unpack[Flags],
) -> TrainedRuns:
    """Train the runs of a script, and return them with their logs.

    A run that diverged is there up to that step, with a warning. Repeating the call reuses finished
    runs and trains the rest. Ctrl-C saves all runs before it is raised again.

    Settings of torch, such as `no_grad`, autocast or a default dtype, change no run, and are
    restored with torch's generators. Calls from several threads wait for each other.

    Args:
        script: such as "single_layer_benchmark"; or a task of your own, from `stable_nalu.task`.
        layer: a class, which need not be registered, a name of the papers or a key; or several. A
            name that is also the key of another layer, such as NMRU, means the papers' layer.
        network: in place of layers, a module, whose weights every run starts from, or a function
            that makes one from the numbers of inputs and outputs; or several.
        optimizer: a name, or a function from parameters to an optimiser of torch; or several.
        loss: a name, a module or a function of outputs and targets; or several.
        schedule: a function of the step that multiplies the learning rate, or a function from an
            optimiser to a scheduler of torch.
        out: the folder of logs and models; None: `TENSORBOARD_DIR` and `SAVE_DIR`, or else the
            current folder.
        callbacks: objects with `on_log(run, step, metrics)`, which returns True to stop a run, or
            `on_end(run, outcome)`, such as the classes of `stable_nalu.callbacks`; or functions
            like the first.
        logger: "tensorboard"; "csv", a table next to each run's model; None: only what the returned
            table is made of; or an object with `log(run, step, metrics)`.
        flags: the flags of the script without dashes. A switch is True; a list or a range of any of
            them trains every combination, where interpolation and extrapolation ranges are paired.
            One range is a list, `[1, 2]`; several are a list of tuples, `[(1, 2), (-2, -1)]`.
            layer_option: a dictionary. short_names: None for names such as `NMU mul lr=0.1 s3`, of
            what is not at its default, the same in every call; True for what varies in this one;
            False for the published names, which runs that are there keep. resume: True unless
            remove_existing_data is. workers: 1 unless given, as more processes import the main
            program again.

    Raises:
        UsageError: for invalid arguments, in one line, before anything is trained.
        KeyboardInterrupt: after Ctrl-C or SIGTERM, once everything is saved.

    Examples:
        >>> how = {"operation": "mul", "learning_rate": 0.05, "max_iterations": 200}
        >>> runs = sn.train("single_layer", layer="NMU", seed=range(8), **how)
        >>> len(runs), int(runs.solved.sum())
        (8, 8)
    """
    objects = {"layer": layer, "network": network, "optimizer": optimizer, "loss": loss}
    with (
        as_at_the_start(),
        called(script, out, flags, **objects, schedule=schedule) as (spec, given),
    ):
        plans = _named(spec, given)
        hooks = Hooks(callbacks, logger)
        for plan in plans:
            _require_known(plan[0], hooks)
        return _trained(spec, plans, hooks)


@contextmanager
def called(
    script: Any, out: str | Path | None, flags: Mapping[str, Any], **objects: Any
) -> Iterator[tuple[ScriptSpec, dict[str, Any]]]:
    """Yield the script of a call and its flags, in words for what may be an object.

    Meanwhile runs are logged and saved below `out`, and errors name arguments.
    """
    own = script if isinstance(script, BroughtTask) else None
    spec = _spec_of("own_task" if own else script)
    names = _flags_of(spec, objects)
    with named_as_in_python(**names), _written_below(out):
        given = dict[str, Any](flags) if own is None else _with_task(own, flags)
        for flag, name in names.items():
            given[flag] = _words(spec, flag, name, objects[name], flag in given)
        own_layers.forget_sources()
        yield spec, given


def _spec_of(script: Any) -> ScriptSpec:
    if not isinstance(script, str) or script not in SCRIPTS:
        remedy = did_you_mean(str(script), SCRIPTS, f"choose one of {', '.join(SCRIPTS)}")
        raise UsageError(f"there is no training script {script!r}; {remedy}")
    return SCRIPTS[script]


def _flags_of(spec: ScriptSpec, objects: Mapping[str, Any]) -> dict[str, str]:
    """Return the given arguments that may be objects, by their flags."""
    unit = "layer_type" if "layer_type" in spec.defaults else "nalm_name"
    flags = {"layer": unit, "network": unit, "loss": "train_criterion"}
    given = [name for name, value in objects.items() if value is not None]
    if {"layer", "network"} <= {*given}:
        raise UsageError("network: a layer is given, too; leave one of them out")
    return {flags.get(name, name): name for name in given}


def _words(spec: ScriptSpec, flag: str, name: str, value: Any, twice: bool) -> list[str]:
    """Return the words of an argument, and make known what is no word."""
    of_layers, make = name in ("layer", "network"), {"layer": _key, "network": _network}
    if twice:
        kind = "layer" if of_layers else name
        raise UsageError(f"{name}: {flag} names a {kind}, too; leave one of them out")
    fixed = name == "network" and spec.name not in (*ARITHMETIC, "own_task")
    if fixed or (flag not in spec.defaults and not of_layers):
        raise UsageError(f"{name}: {spec.name} has its own; leave it out")
    values = [value] if isinstance(value, torch.nn.Module) else several(name, value)
    for one in values if not of_layers else ():
        if not (isinstance(one, str) or callable(one)):
            raise UsageError(f"{name}: {one!r} is neither a name nor a function")
    try:
        own = make.get(name, lambda v: v if isinstance(v, str) else own_layers.bring(v))
        return list(map(own, values))
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def _with_task(task: BroughtTask, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given flags and the task's. Rows of a table are stored in the folder of models."""
    flags = dict(task.flags)
    if task.table is not None:
        text = task.table.to_csv(index=False)
        name = re.sub(r"\W+", "-", flags.get("task", "table"))
        path = save_root() / "data" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.csv"
        if not path.exists():
            with atomic_text_file(path) as file:
                file.write(text)
        flags["data"] = str(path)
    if twice := [name for name in flags if name in given and name != "hidden"]:
        raise UsageError(f"{twice[0]}: the task says it; give it to stable_nalu.task")
    return flags | dict(given)


def _named(spec: ScriptSpec, given: dict[str, Any]) -> list[list[Config]]:
    """Return the runs of all command lines, under the names that are asked for."""
    plans = [spec.plan_of(one).configs for one in typed_values(spec, usual(spec, given))]
    by_default = given.get("short_names") is None and "short_names" in spec.defaults
    return _in_short(spec, plans) if by_default else plans


def _in_short(spec: ScriptSpec, plans: list[list[Config]]) -> list[list[Config]]:
    """Return runs under short names: layers, what is not at its default, and the seed.

    A name depends on its run alone, and shows flags that published names show. A run that is there
    keeps its published name, and all do if short names tell fewer apart.
    """
    asked = spec.fully_named | set(spec.partly_named) - {"name_prefix"}

    def in_short(config: Config) -> Config:
        differing = [d for d in spec.defaults if getattr(config, d) != spec.defaults[d]]
        shown = [d for d in differing if d in asked and d not in _AROUND]
        ends = [d for d in ("seed", "id") if d in spec.defaults and d in ("seed", *differing)]
        short, name = config.replace(short_names=(*shown, *ends)), spec.run_name(config)
        there = (tensorboard_root() / name).exists() or model_file(save_root(), name).exists()
        long = there or len(spec.leaf(short).encode()) > len(spec.leaf(config).encode())
        return config if long or not short.short_names else short

    shortened = [[in_short(config) for config in plan] for plan in plans]
    names, before = ([spec.run_name(c) for p in them for c in p] for them in (shortened, plans))
    return plans if len(set(names)) < len(set(before)) else shortened


_AROUND = {"layer_type", "nalm_name", "first_layer", "nac_mul", "name_prefix", "seed", "id"}
"""Flags that a short name begins or ends with."""


def _trained(spec: ScriptSpec, plans: Sequence[Sequence[Config]], hooks: Hooks) -> TrainedRuns:
    """Train runs, and return them with what they logged, in the order of the plans."""
    names = [spec.run_name(config) for plan in plans for config in plan]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        remedy = "train them by calls of their own, each with a name_prefix"
        raise UsageError(f"two of the runs have the name {twice}; {remedy}")
    task = TASKS[spec.name]
    set_threads(task)
    # What a command prints is in the table; the progress bar goes to standard error.
    with quiet():
        code = train_plan(task, spec, *plans, hooks=hooks)
    hooks.settle()
    if code in (EXIT_INTERRUPTED, EXIT_REQUEUE):
        raise KeyboardInterrupt("everything is saved; the same call goes on")
    paths = [tensorboard_root() / name for name in names]
    folders: dict[Path, set[str]] = {}
    for path in paths:
        folders.setdefault(path.parent, set()).add(path.name)
    read = joined([read_runs(folder, names=own) for folder, own in folders.items()])
    runs = read.at(paths)
    for run in runs if hooks.form == "csv" else ():
        name = run.folder.relative_to(tensorboard_root())
        path = model_file(save_root(), str(name), ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_plain_frame(path, run.table)
    if diverged := {name: at for name, at in runs.diverged_at.items() if at == at}:
        name, at = next(iter(diverged.items()))
        number = f"{len(diverged)} of {plural(len(runs), 'run')} diverged"
        text = f"{number}, such as at step {at:.0f}: {name}; see runs.outcomes"
        warnings.warn(text, stacklevel=3)
    return runs


@contextmanager
def _written_below(out: str | Path | None) -> Iterator[None]:
    """Let runs be logged and saved below a folder; None: where the user wants them, or here."""
    if not (out is None or (isinstance(out, str | Path) and is_text(str(out), of_path=True))):
        raise UsageError(f"out: {out!r} is not a path")
    before = {variable: os.environ.get(variable) for variable in ROOTS}
    for variable, name in ROOTS.items():
        if out is not None or not before[variable]:
            os.environ[variable] = str(Path(out or "").absolute() / name)
    try:
        yield
    except UsageError as error:
        said, _, remedy = str(error).partition("; ")
        if out is None or not any(variable in remedy for variable in ROOTS):
            raise
        raise UsageError(f"out: {said}; name another folder") from error.__cause__
    finally:
        for variable in ROOTS:
            del os.environ[variable]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _key(layer: type[torch.nn.Module] | str) -> str:
    """Return the key of a layer, and make a class known that is not yet."""
    if isinstance(layer, str):
        return labelled_as_another_key(layer) or layer
    if not isinstance(layer, type):
        kind = type(layer).__name__
        raise UsageError(f"layer: {kind} is not a class; give the class, not a layer")
    for key, entry in entries().items():
        if layer in (entry.layer, entry.module):
            return key
    return script_name(layer) or own_layers.register(layer).__name__


def _network(build: Any) -> str:
    if not (isinstance(build, torch.nn.Module) or callable(build)):
        remedy = "give a module, or a function that makes one of the numbers of inputs and outputs"
        raise UsageError(f"network: {type(build).__name__} is no network; {remedy}")
    return own_layers.bring_network(build)


def _require_known(config: Config, hooks: Hooks) -> None:
    """Refuse other processes for what only this one knows."""
    if getattr(config, "workers", 1) == 1:
        return
    if hooks:
        problem = "other processes cannot call the callbacks and the logger of this one"
        raise UsageError(f"workers: {problem}; leave it out")
    if own := [one for one in owned_names(config) if own_layers.is_of_program(one)]:
        problem = f"other processes cannot know {own[0]}, which this program defines"
        if own[0] not in units_of(config) or own[0] not in vars(sys.modules["__main__"]):
            raise UsageError(f"workers: {problem}; leave it out")
        remedy = f'leave it out, or write layer="{own[0]}" and layer_file, the file that defines it'
        raise UsageError(f"workers: {problem}; {remedy}")


def usual(spec: ScriptSpec, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return flags with those that have another default than in commands."""
    if flags.get("dry_run"):
        raise UsageError("dry_run: a call trains what it is given; leave it out")
    if flags.get("evaluate") is not None:
        raise UsageError("evaluate: a call trains; look at a model by stable_nalu.load")
    begins = flags.get("remove_existing_data") or flags.get("load_checkpoint")
    own = {"workers": 1} if begins else {"workers": 1, "resume": True}
    own = {name: value for name, value in own.items() if name in spec.defaults} | dict(flags)
    if own.get("short_names") is False:
        del own["short_names"]
    return own
