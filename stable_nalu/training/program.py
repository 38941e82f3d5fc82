"""The entrance for Python programs: train runs by a call, with the flags of a script as names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stable_nalu.errors import UsageError, did_you_mean
from stable_nalu.layer import entries
from stable_nalu.layer.own_layers import is_of_program, register
from stable_nalu.machine import cores, tensorboard_root
from stable_nalu.options import Config, Flag, ScriptSpec
from stable_nalu.options.layer_options import units_of
from stable_nalu.script import EXIT_INTERRUPTED, EXIT_REQUEUE, NEGATIVE_NUMBER
from stable_nalu.task import SCRIPTS
from stable_nalu.task.run import set_threads, task_of

from .console import quiet
from .surroundings import as_at_the_start

if TYPE_CHECKING:
    import pandas as pd


def train(
    script: str, *, layer: type[torch.nn.Module] | str | None = None, **flags: Any
) -> pd.DataFrame:
    """Train the runs that a training script would train, and return what they logged.

    The table is that of `read_runs`. A run that diverged is in it up to there. Ctrl-C saves all
    runs before it is raised again; `resume=True` goes on.

    What the program has set for torch, such as `no_grad`, autocast or a default dtype, changes no
    run, and is put back with torch's generators. Calls from several threads wait for each other.

    Args:
        script: such as "single_layer_benchmark".
        layer: a class, which need not be registered, or a key of --layer-type.
        flags: the flags of the script without dashes. A switch is True; several values of a flag
            are a list or a range. One range is a list, `[1, 2]`; several are a list of tuples,
            `[(1, 2), (-2, -1)]`. layer_option: a dictionary. workers: 1 unless given, as more
            processes import the main program anew.

    Raises:
        UsageError: for a call that cannot be obeyed, in one line, before anything is trained.
        KeyboardInterrupt: after Ctrl-C or SIGTERM, once everything is saved.
    """
    if not isinstance(script, str) or script not in SCRIPTS:
        raise UsageError(
            f"there is no training script {script!r}; "
            + did_you_mean(str(script), SCRIPTS, f"choose one of {', '.join(SCRIPTS)}")
        )
    spec = SCRIPTS[script]
    with as_at_the_start():
        if layer is not None:
            name = "layer_type" if "layer_type" in spec.defaults else "nalm_name"
            if name in flags:
                raise UsageError(f"layer: {name} names a layer, too; leave one of them out")
            flags[name] = _key(layer)
        if "workers" in {flag.dest for flag in spec.flags}:
            flags = {"workers": 1} | flags
        plan = spec.plan(_words(spec, flags))
        if plan.dry_run:
            raise UsageError("dry_run: a call trains what it is given; leave it out")
        if getattr(plan.configs[0], "evaluate", None) is not None:
            raise UsageError("evaluate: a call trains; look at a model by the command")
        _require_known_layers(plan.configs[0])
        _train(script, spec, plan.configs)
        return _logged(spec, plan.configs)


def _key(layer: type[torch.nn.Module] | str) -> str:
    """Return the key of a layer, and make a class known that is not yet."""
    if isinstance(layer, str):
        return layer
    if not isinstance(layer, type):
        raise UsageError(
            f"layer: {type(layer).__name__} is not a class; give the class, not a layer"
        )
    for key, entry in entries().items():
        if layer in (entry.layer, entry.module):
            return key
    try:
        register(layer)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return layer.__name__


def _require_known_layers(config: Config) -> None:
    """Refuse other processes for a layer that only this one knows."""
    own = [unit for unit in units_of(config) if is_of_program(unit)]
    if own and getattr(config, "workers", 1) != 1:
        raise UsageError(
            f"workers: other processes cannot know {own[0]}, which this program defines; leave it "
            f'out, or write layer="{own[0]}" and layer_file, the file that defines it'
        )


def _words(spec: ScriptSpec, values: Mapping[str, Any]) -> list[str]:
    """Return the command line that says the same."""
    known = {flag.dest: flag for flag in spec.flags}
    words: list[str] = []
    for name, value in values.items():
        if name not in known:
            remedy = did_you_mean(name, known, f"see the flags of {spec.name}")
            raise UsageError(f"{spec.name} has no flag {name!r}; {remedy}")
        if value is None:
            continue
        if known[name].is_switch:
            words += [known[name].name] if _is_true(name, value) else []
        elif isinstance(value, Mapping):
            words += _named(known[name], value)
        else:
            words += [known[name].name, *_values(name, _listed(known[name], value))]
    return words


def _is_true(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"{name}: {value!r} is not a value of a switch; write True or False")
    return bool(value)


def _named(flag: Flag, options: Mapping[str, Any]) -> list[str]:
    """Return the words of a flag whose values have names; of no options there is none."""
    pairs = ((name, _values(name, _several(several))) for name, several in options.items())
    words = _values(flag.dest, [f"{name}={one}" for name, ones in pairs for one in ones], least=0)
    return [flag.name, *words] if words else []


def _listed(flag: Flag, value: Any) -> list[Any]:
    """Return the values of a flag, of which a list of numbers may be one."""
    if flag.kind is None or not flag.kind.metavar.startswith(("RANGE", "[")):
        return _several(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f"{flag.dest}: {value!r} is not a list of numbers; write such as [1, 2]")
    value = _several(value)
    several = bool(value) and all(isinstance(part, tuple) for part in value)
    return [str(_plain(part)).replace(" ", "") for part in (value if several else [value])]


def _plain(value: Any) -> Any:
    """Return numbers of numpy, in lists, as those of Python, which are written without a type."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _values(name: str, values: list[Any], least: int = 1) -> list[str]:
    """Return values as words, none of which is a flag to who reads them."""
    words = list(map(str, values))
    if len(words) < least:
        raise UsageError(f"{name}: an empty list holds no value; leave it out for the default")
    for word in words:
        if word.startswith("-") and not NEGATIVE_NUMBER.match(word):
            raise UsageError(f"{name}: {word!r} is not a value; a flag is an argument of its own")
    return words


def _several(value: Any) -> list[Any]:
    """Return the values of a list, a range or an array, or the one value."""
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return [value]
    if isinstance(value, np.ndarray | torch.Tensor):
        return np.atleast_1d(np.asarray(value)).tolist()
    return list(value)


def _train(script: str, spec: ScriptSpec, configs: Any) -> None:
    from .plan.shell import train_plan

    task = task_of(script)
    set_threads(cores() if task.all_cores else 1)
    # What a command prints is in the table; the progress bar goes to standard error.
    with quiet():
        code = train_plan(task, spec, configs)
    if code in (EXIT_INTERRUPTED, EXIT_REQUEUE):
        raise KeyboardInterrupt


def _logged(spec: ScriptSpec, configs: Any) -> pd.DataFrame:
    from stable_nalu.runs import read_runs

    folder = tensorboard_root() / configs[0].name_prefix
    return read_runs(folder, names={spec.leaf(config) for config in configs})
