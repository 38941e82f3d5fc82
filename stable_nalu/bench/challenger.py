"""The challenger: the layer, where it is defined, and how a figure trains it."""

import argparse
import hashlib
import inspect
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.layer import entries
from stable_nalu.layer.own_layers import LayerFile, load_layer_file, read_layer_file
from stable_nalu.layer.registry import LayerEntry
from stable_nalu.options.flags import TASK
from stable_nalu.options.layer_options import load_own_layers
from stable_nalu.paper.experiment import (
    ITERATION_FLAG,
    JUDGED,
    Experiment,
    Flags,
    Model,
    merged,
    words,
)
from stable_nalu.task.arithmetic import SCORE
from stable_nalu.task.table import SCRIPTS

KEY = "challenger"
"""What its runs are called in the column `model`."""


_HERE = {
    "--seed": "--seeds",
    "--name-prefix": "--out",
    **{name: name for name in (ITERATION_FLAG, "--layer-type", "--layer-file", "--layer-option")},
}
"""Flag of training scripts -> what sets it here."""

_TASK = {flag.name for flag in (*TASK, *SCORE)} | {"--output-size", "--log-interval"}
"""Flags of the task, and of what its success is read from: rivals were trained with these."""


@dataclass(frozen=True)
class Challenger:
    """A layer that takes part in published figures.

    file: where the user defines it; None for a layer of the package.
    options: `name=value` of its constructor.
    training: flags over those of the figures; a script that lacks one trains without it.
    """

    layer_type: str
    file: Path | None
    options: tuple[str, ...]
    training: Flags

    @property
    def given(self) -> Flags:
        """Return the flags that define the layer."""
        file: Flags = {} if self.file is None else {"--layer-file": (str(self.file),)}
        options: Flags = {"--layer-option": self.options} if self.options else {}
        return merged({"--layer-type": (self.layer_type,)}, file, options)

    @cached_property
    def _entry(self) -> LayerEntry | None:
        """Return what is known of the layer, whose file is loaded first."""
        load_own_layers(words(self.given))
        return entries().get(self.layer_type)

    @cached_property
    def source(self) -> LayerFile | None:
        """Return the file that defines the layer, as it was when the layer was loaded."""
        if self.file is not None:
            return load_layer_file(str(self.file))
        built = self._entry and self._entry.layer
        return read_layer_file(inspect.getfile(built)) if built else None

    @property
    def folder(self) -> str:
        """Return the name of its folders: of its own for every file, option and training flag."""
        name = re.sub(r"[^\w.-]", "_", self.layer_type)
        if self.file is None and not self.options and not self.training:
            return name
        digest = self.source.sha256 if self.source else ""
        what = shlex.join([digest, *self.options, *words(self.training)])
        return f"{name}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"

    @property
    def drawn(self) -> str | None:
        """Return its LaTeX label, for figures, where it has one."""
        return self._entry.shown if self._entry and self._entry.latex else None

    @property
    def paper(self) -> str:
        """Return the citation that the layer was registered with."""
        return self._entry.cites.citation if self._entry else ""

    def model(self, experiment: Experiment) -> Model:
        """Return it as a model of a figure: on all points and seeds, with the flags all share."""
        models = experiment.models
        scripts = {model.script for model in models}
        if len(scripts) != 1 or not experiment.criterion.startswith(JUDGED):
            problem = f"no success criterion applies to runs of {experiment.key}"
            raise OptionError("KEY", problem, "write a figure of the arithmetic scripts")
        self._refuse_other_tasks(experiment)
        first, spec = models[0], SCRIPTS[scripts.pop()]
        of_layers = {flag.name for flag in spec.flags if flag.layer_option} | {"--nac-mul"}
        shared = {
            name: values
            for name, values in first.flags.items()
            if name not in of_layers and all(m.flags.get(name) == values for m in models)
        }
        points = [point for model in models for point in model.points]
        known = {flag.name for flag in spec.flags}
        over = {name: values for name, values in self.training.items() if name in known}
        prefix = f"challenge/{self.folder}/{experiment.key}"
        name = self._entry.label if self._entry else self.layer_type
        return replace(
            first,
            key=KEY,
            # Unlike those of its rivals.
            label=f"{name} (here)" if name in {model.label for model in models} else name,
            prefix=prefix,
            csv=prefix,
            flags=merged(shared, self.given, over),
            seeds=max((model.seeds for model in models), key=len),
            points=tuple(p for i, p in enumerate(points) if p not in points[:i]),
            variants=tuple({v.name: v for model in models for v in model.variants}.values()),
        )

    def _refuse_other_tasks(self, experiment: Experiment) -> None:
        """Refuse a figure whose models learn several tasks, or that sets a training flag itself."""
        models = experiment.models
        for name in {name for model in models for name in model.flags} & _TASK:
            if any(model.flags.get(name) != models[0].flags.get(name) for model in models):
                problem = f"the models of {experiment.key} differ in {name}"
                remedy = f"name those of one task: reproduce.py {experiment.key} --model NAME"
                raise OptionError("KEY", problem, remedy)
        varied = {name for model in models for point in model.points for name in point}
        for name in [name for name in self.training if name in varied]:
            problem = f"{experiment.key} compares layers at several values of {name}"
            raise OptionError("--training", problem, "leave it out")


def challenger_of(arguments: argparse.Namespace, experiments: Sequence[Experiment]) -> Challenger:
    """Return the challenger of a command line, whose training flags one of the scripts has."""
    scripts = list(dict.fromkeys(model.script for e in experiments for model in e.models))
    training: dict[str, tuple[str, ...]] = {}
    known = {flag.name: flag for script in scripts for flag in SCRIPTS[script].flags}
    for word in getattr(arguments, "training", None) or ():
        name, gives, value = word.partition("=")
        name = f"--{name.lstrip('-')}"
        if name not in known:
            hint = did_you_mean(name, known, "see --help of the training script")
            raise OptionError("--training", f"{name} is not a flag of {', '.join(scripts)}", hint)
        if name in _HERE:
            raise OptionError("--training", f"{name} has a flag here", f"use {_HERE[name]}")
        if name in _TASK:
            problem = f"{name} would change the task, which the rivals were not trained for"
            raise OptionError("--training", problem, "leave it out")
        if not known[name].result:
            raise OptionError("--training", f"{name} changes no result", "leave it out")
        if name in training:
            raise OptionError("--training", f"{name} is given twice", "give every flag one value")
        training[name] = (value,) if gives else ()
    options = tuple(arguments.layer_option or ())
    names = [option.partition("=")[0] for option in options]
    for name in names:
        if names.count(name) > 1:
            problem = f"{name} has several values, which make several layers"
            raise OptionError("--layer-option", problem, "start one command per value")
    return Challenger(arguments.layer_type, arguments.layer_file, options, training)
