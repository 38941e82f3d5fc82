"""The entrance for Python programs: train runs by a call, with the flags of a script as names."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stable_nalu.errors import UsageError, did_you_mean
from stable_nalu.layer import entries
from stable_nalu.layer.own_layers import is_of_program, register
from stable_nalu.machine import cores, tensorboard_root
from stable_nalu.options import SCRIPTS, Config, Flag, ScriptSpec
from stable_nalu.options.layer_options import units_of
from stable_nalu.script import EXIT_INTERRUPTED, EXIT_REQUEUE

from .script import kind_of, set_threads

if TYPE_CHECKING:
    import pandas as pd


def train(
    script: str, *, layer: type[torch.nn.Module] | str | None = None, **flags: Any
) -> pd.DataFrame:
    """Train the runs that a training script would train, and return what they logged.

    The table is that of `read_runs`. A run that diverged is in it up to there. Ctrl-C saves all
    runs before it is raised again; `resume=True` goes on.

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
    if layer is not None:
        flags["layer_type" if "layer_type" in spec.defaults else "nalm_name"] = _key(layer)
    if "workers" in {flag.dest for flag in spec.flags}:
        flags = {"workers": 1} | flags
    plan = spec.plan(_words(spec, flags))
    if plan.dry_run:
        raise UsageError("dry_run: a call trains what it is given; leave it out")
    _require_known_layers(plan.configs[0])
    _train(script, spec, plan.configs)
    return _logged(spec, plan.configs)


def _key(layer: type[torch.nn.Module] | str) -> str:
    """Return the key of a layer, and make a class known that is not yet."""
    if isinstance(layer, str):
        return layer
    if not isinstance(layer, type):
        raise UsageError(f"layer: {type(layer).__name__} is no class; give the class, not a layer")
    for key, entry in entries().items():
        if layer in (entry.layer, getattr(entry.layer, "Module", None)):
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
        if value is None or (known[name].is_switch and value is False):
            continue
        words += [known[name].name, *_values(known[name], value)]
    return words


def _values(flag: Flag, value: Any) -> list[str]:
    if flag.is_switch and value is True:
        return []
    if isinstance(value, Mapping):
        pairs = ((name, _several(several)) for name, several in value.items())
        return [f"{name}={one}" for name, several in pairs for one in several]
    # A list of numbers is one value of such a flag.
    is_list = flag.kind is not None and flag.kind.metavar.startswith(("RANGE", "["))
    if not is_list:
        return list(map(str, _several(value)))
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f"{flag.dest}: {value!r} is no list of numbers; write such as [1, 2]")
    value = value.tolist() if isinstance(value, np.ndarray) else list(value)
    several = bool(value) and all(isinstance(part, tuple) for part in value)
    return [str(list(part)).replace(" ", "") for part in (value if several else [value])]


def _several(value: Any) -> list[Any]:
    """Return the values of a list, a range or an array, or the one value."""
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _train(script: str, spec: ScriptSpec, configs: Any) -> None:
    from .plan.shell import train_plan

    threads = torch.get_num_threads()
    kind = kind_of(script)
    set_threads(cores() if kind.all_cores else 1)
    try:
        # What a command prints is in the table; the progress bar goes to standard error.
        with redirect_stdout(io.StringIO()):
            code = train_plan(kind, spec, configs)
    finally:
        torch.set_num_threads(threads)
    if code in (EXIT_INTERRUPTED, EXIT_REQUEUE):
        raise KeyboardInterrupt


def _logged(spec: ScriptSpec, configs: Any) -> pd.DataFrame:
    from stable_nalu.runs import read_runs

    folder = tensorboard_root() / configs[0].name_prefix
    return read_runs(folder, names={spec.leaf(config) for config in configs})
