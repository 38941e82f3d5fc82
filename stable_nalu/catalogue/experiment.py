"""An experiment as data: its models, what each trains, and where the result is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stable_nalu.papers import Paper

from .flags import Flags, flags, gathered, merged, seeds_text, words

EPOCH_FLAG, ITERATION_FLAG = "--max-epochs", "--max-iterations"


@dataclass(frozen=True)
class Shown:
    """Where an experiment appears: `Shown(paper, "Figure 3")`."""

    paper: Paper
    number: str


@dataclass(frozen=True)
class Resources:
    """What one job asks of a batch system, in words that no batch system owns."""

    minutes: int
    cores: int = 1
    memory_gb: int = 2
    gpu: bool = False


@dataclass(frozen=True)
class Variant:
    """Values that need a command of their own: `Variant("mul", flags("--operation mul"))`.

    minutes: time limit, where it differs from the model's.
    """

    name: str
    flags: Flags
    minutes: int | None = None


@dataclass(frozen=True)
class Command:
    """One command: a script and its words; it trains every run it plans as one ensemble."""

    script: str
    words: tuple[str, ...]

    @property
    def line(self) -> list[str]:
        """The words behind `python3`."""
        return [f"experiments/{self.script}.py", *self.words]


_ALONE = (Variant("", {}),)


@dataclass(frozen=True)
class Model:
    """One curve of a figure: a unit with its flags, over seeds and values.

    key: short name, `--model` of the batch scripts. label: its name in the figure.
    prefix: the published experiment name, folder of its runs below the log root.
    csv: its table below the folder of tables, without `.csv`.
    points: values planned by one command, such as pairs of ranges; none means one.
    steps_per_epoch: updates of an epoch, for scripts that count epochs.
    """

    key: str
    label: str
    script: str
    prefix: str
    csv: str
    flags: Flags
    seeds: range
    resources: Resources
    points: tuple[Flags, ...] = ()
    variants: tuple[Variant, ...] = _ALONE
    steps_per_epoch: int = 0

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.seeds) * max(1, len(self.points)) * len(self.variants)

    @property
    def iterations(self) -> int:
        """Iterations of all runs together, as named by the flags."""
        each = sum(self.length(variant) for variant in self.variants)
        return each * len(self.seeds) * max(1, len(self.points))

    def length(self, variant: Variant) -> int:
        """Iterations (or updates, for scripts that count epochs) of one run."""
        every = merged(self.flags, variant.flags)
        if ITERATION_FLAG in every:
            return int(every[ITERATION_FLAG][0])
        return (int(every[EPOCH_FLAG][0]) + 1) * self.steps_per_epoch

    def command(
        self,
        variant: Variant,
        seeds: Iterable[int] | None = None,
        points: Sequence[Flags] | None = None,
        extra: Flags | None = None,
    ) -> Command:
        """The command for a variant; all seeds and points unless told otherwise.

        extra: flags laid over everything else.
        """
        chosen = self.points if points is None else tuple(points)
        every = merged(
            self.flags,
            variant.flags,
            gathered(chosen),
            {"--seed": (seeds_text(list(self.seeds if seeds is None else seeds)),)},
            {"--name-prefix": (self.prefix,)},
            extra or {},
        )
        return Command(self.script, tuple(words(every)))

    def commands(self, seeds: Iterable[int] | None = None) -> list[Command]:
        """One command a variant."""
        chosen = None if seeds is None else list(seeds)
        return [self.command(variant, chosen) for variant in self.variants]

    def named(self, key: str, label: str) -> Model:
        """The same runs under another name, as in another figure."""
        return replace(self, key=key, label=label)

    def only_variants(self, *names: str) -> Model:
        """The same model for some of its variants."""
        kept = tuple(variant for variant in self.variants if variant.name in names)
        if len(kept) != len(names):
            raise ValueError(f"{self.key} lacks some variants of {names}")
        return replace(self, variants=kept)


@dataclass(frozen=True)
class Setting:
    """What the models of a study have in common.

    flags: text, as typed. prefix: put before the experiment names of the models.
    """

    script: str
    flags: str
    seeds: range
    resources: Resources
    prefix: str = ""
    points: tuple[Flags, ...] = ()
    variants: tuple[Variant, ...] = _ALONE
    steps_per_epoch: int = 0

    def model(
        self,
        key: str,
        label: str,
        text: str,
        *,
        name: str | None = None,
        csv: str | None = None,
        minutes: int | None = None,
        memory_gb: int | None = None,
    ) -> Model:
        """A model of this study; flags of `text` win over the common ones.

        name: experiment name behind `prefix`, else the key. csv: else the experiment name.
        """
        prefix = self.prefix + (key if name is None else name)
        return Model(
            key=key,
            label=label,
            script=self.script,
            prefix=prefix,
            csv=prefix if csv is None else csv,
            flags=merged(flags(self.flags), flags(text)),
            seeds=self.seeds,
            resources=replace(
                self.resources,
                minutes=minutes or self.resources.minutes,
                memory_gb=memory_gb or self.resources.memory_gb,
            ),
            points=self.points,
            variants=self.variants,
            steps_per_epoch=self.steps_per_epoch,
        )


@dataclass(frozen=True)
class Experiment:
    """A figure or table, or runs that no figure shows.

    key: name on command lines; the lookup key of the figure where it has one of its own.
    figures: lookup keys of its figures, where they differ from the key.
    parameter: column of a run's name that the figure has on its x axis.
    criterion: which errors count as solved: below 1e-5 (flat, distributions), below the threshold
        of the arithmetic data set, of its ranges, of the benchmark, of small divisors
        (`zero.range...`), or of a reference model; accuracy: none of these.
    note: what a reader has to know; departures from the published scripts among them.
    """

    key: str
    title: str
    shown: tuple[Shown, ...]
    models: tuple[Model, ...]
    parameter: str = "interpolation.range"
    figures: tuple[str, ...] = ()
    criterion: str = "flat"
    note: str = ""

    @property
    def figure_keys(self) -> tuple[str, ...]:
        """Lookup keys of its figures."""
        return self.figures or (self.key,)

    @property
    def runs(self) -> int:
        """Number of runs of all models."""
        return sum(model.runs for model in self.models)

    @property
    def iterations(self) -> int:
        """Iterations of all runs together."""
        return sum(model.iterations for model in self.models)

    def model(self, name: str) -> Model:
        """The model of that key, or of that name in the figure; KeyError lists all keys."""
        key = named({model.key: model for model in self.models}, name)
        if key is None:
            raise KeyError(f"{self.key} has no model {name!r}; it has {self.model_keys()}")
        return next(model for model in self.models if model.key == key)

    def model_keys(self) -> str:
        """Keys of all models, for messages."""
        return ", ".join(model.key for model in self.models)


def named(models: Mapping[str, Model], name: str) -> str | None:
    """The key that a user means: itself, or the one model of that label (`nmru`: NMRU)."""
    if name in models:
        return name
    wanted = name.casefold()
    found = [k for k, m in models.items() if wanted in (k.casefold(), m.label.casefold())]
    return found[0] if len(found) == 1 else None


def runs(experiment: Experiment) -> list[list[str]]:
    """Words of every command of an experiment: one a model and variant, each with all seeds."""
    return [list(c.words) for model in experiment.models for c in model.commands()]
