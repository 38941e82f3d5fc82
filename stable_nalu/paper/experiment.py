"""An experiment as data: its models, the commands that train them, their runs, its figures.

Pairs of ranges and other values that published experiments sweep are written once, at the end: they
are the points of one command, or variants of several.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from stable_nalu.base.papers import FLAT, Paper
from stable_nalu.dataset.distribution import (
    DISTRIBUTION_RANGES,
    EXTRAPOLATION_RANGES,
    MIRRORED,
    MULTIPLICATION_RANGES,
    SMALL_DIVISOR_BOUNDS,
    ExtrapolationRange,
    plain,
)
from stable_nalu.figure.runs import Drawing
from stable_nalu.options import Config
from stable_nalu.options.flag import seeds_text
from stable_nalu.statistics.setups import BEST_RANGE, DMU, SMALL_DIVISORS, Judgement
from stable_nalu.task.table import SCRIPTS

Flags = Mapping[str, tuple[str, ...]]
"""Flag -> its values, none for a switch: `{"--seed": ("0-24",), "--no-cuda": ()}`."""

JUDGED = ("flat", "distributions", "arithmetic", "ranges", "benchmark", "zero.range", "dmu")
"""Kinds of criterion that can be applied to runs of the arithmetic scripts."""

MEASURED = "measured"
"""Instead of a criterion, where the numbers of runs are no success rates but measures."""

EPOCH_FLAG, ITERATION_FLAG = "--max-epochs", "--max-iterations"


def flags(text: str) -> Flags:
    """Read `--a 1 2 --b`, quoted as in a shell; a flag that comes again replaces the former."""
    read: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in shlex.split(text):
        if word.startswith("--"):
            name = word
            read[name] = ()
        elif not name:
            raise ValueError(f"{text!r} does not begin with a flag")
        else:
            read[name] += (word,)
    return read


def merged(*parts: Flags) -> Flags:
    """Return one mapping of all flags; of a flag that comes twice, the last one counts."""
    return {name: values for part in parts for name, values in part.items()}


def words(mapping: Flags) -> list[str]:
    return [word for name, values in mapping.items() for word in (name, *values)]


def gathered(points: tuple[Flags, ...]) -> Flags:
    """Return the flags of one command that plans every point: all values behind one flag.

    Ranges are paired in order by the scripts, hence repeated as they stand.
    """
    names = list(points[0]) if points else []
    return {name: tuple(value for point in points for value in point[name]) for name in names}


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
        """Return the words behind `python3`."""
        return [f"experiments/{self.script}.py", *self.words]


@dataclass(frozen=True)
class Recipe:
    """What the models of a study have in common.

    flags: text, as typed. prefix: put before the experiment names of the models.
    points: values planned by one command, such as pairs of ranges; none means one.
    steps_per_epoch: updates per epoch, for scripts that count epochs.
    """

    script: str
    flags: str
    seeds: range
    resources: Resources
    prefix: str = ""
    points: tuple[Flags, ...] = ()
    variants: tuple[Variant, ...] = (Variant("", {}),)
    steps_per_epoch: int = 0

    def model(
        self, key: str, label: str, text: str, *, name: str = "", csv: str = "", **more: int | None
    ) -> "Model":
        """Return a model of this study; flags of `text` win over the common ones.

        name: experiment name behind `prefix`, if not the key.
        csv: name of the exported table, if not the experiment name.
        more: resources that differ: `minutes`, `memory_gb`.
        """
        resources = replace(self.resources, **{k: v for k, v in more.items() if v})
        prefix, every = self.prefix + (name or key), f"{self.flags} {text}"
        own = {"prefix": prefix, "flags": flags(every), "resources": resources}
        return Model(**vars(self) | own, key=key, label=label, csv=csv or prefix)


@dataclass(frozen=True, kw_only=True)
class Model:
    """One curve of a figure: a unit with its flags, over seeds and values; see `Recipe`.

    key: short name, `--model` of the batch scripts. label: its name in the figure.
    prefix: the published experiment name, folder of its runs below the log root.
    csv: its table below the folder of tables, without `.csv`.
    """

    key: str
    label: str
    script: str
    prefix: str
    csv: str
    flags: Flags
    seeds: range
    resources: Resources
    points: tuple[Flags, ...]
    variants: tuple[Variant, ...]
    steps_per_epoch: int

    @property
    def runs(self) -> int:
        return len(self.seeds) * max(1, len(self.points)) * len(self.variants)

    @property
    def iterations(self) -> int:
        each = sum(self.length(variant) for variant in self.variants)
        return each * len(self.seeds) * max(1, len(self.points))

    def length(self, variant: Variant) -> int:
        """Return the iterations of one run, or its updates where a script counts epochs."""
        every = merged(self.flags, variant.flags)
        if ITERATION_FLAG in every:
            return int(every[ITERATION_FLAG][0])
        return SCRIPTS[self.script].epochs(int(every[EPOCH_FLAG][0])) * self.steps_per_epoch

    def command(
        self,
        variant: Variant,
        seeds: Iterable[int] | None = None,
        points: Sequence[Flags] | None = None,
        extra: Flags | None = None,
    ) -> Command:
        """Return the command for a variant, with all seeds and points unless others are given.

        extra: flags laid over everything else.
        """
        swept = gathered(self.points if points is None else tuple(points))
        every_seed = seeds_text(self.seeds if seeds is None else seeds)
        own = {"--seed": (every_seed,), "--name-prefix": (self.prefix,)}
        every = merged(self.flags, variant.flags, swept, own, extra or {})
        return Command(self.script, tuple(words(every)))

    def commands(self, seeds: Iterable[int] | None = None) -> list[Command]:
        chosen = None if seeds is None else list(seeds)
        return [self.command(variant, chosen) for variant in self.variants]

    def named(self, label: str, key: str = "") -> Self:
        """Return the same runs under another label, as in another figure."""
        return replace(self, key=key or self.key, label=label)

    def only_variants(self, *names: str) -> Self:
        """Return the same model for some of its variants."""
        kept = tuple(variant for variant in self.variants if variant.name in names)
        if len(kept) != len(names):
            raise ValueError(f"{self.key} lacks some variants of {names}")
        return replace(self, variants=kept)


@dataclass(frozen=True)
class Measure:
    """A number of each run that is no verdict, such as an error, read from its last logged row.

    column: of the exported table. A `*` at its end means all that begin so: kept for figures;
        tables show those with a published number, the rest of their name for a `*` in the label.
    typical: the statistic of many runs, for example to compare with one published number.
    below: a limit; the share of runs below it is shown. lower: whether lower values are better.
    steps: logged steps, or epochs, whose values are kept, too, in columns such as `loss@1000`.
    digits: significant ones, in tables. optional: NaN is then no result, and not the worst one.
    """

    column: str
    label: str
    typical: Literal["median", "mean", "best"] = "median"
    below: float | None = None
    steps: tuple[int, ...] = ()
    lower: bool = True
    digits: int = 3
    optional: bool = False


@dataclass(frozen=True)
class FurtherTable:
    """A table that a figure needs besides exported runs: the script that writes it, its words.

    words: `{csv}` is replaced by the folder of exported tables. name: of the table, if it shows the
    run of a `seed` of a `model`.
    """

    script: str
    words: str
    model: str = ""
    seed: int = 0
    name: str = ""


@dataclass(frozen=True)
class Experiment:
    """A figure or table, or runs that no figure shows.

    key: name on command lines, and of the figure where it has one of its own. A `/` becomes `-` in
        names of files and figures: `nalu/fig1`, `nalu-fig1.csv`.
    paper, numbers: what shows it, if anything, and where: `("Figure 3", "Table 1")`.
    drawings: its figures.
    parameter: column of a run's name that the figure has on its x axis.
    criterion: which errors count as solved: below 1e-5 (flat, distributions), below the threshold
        of the arithmetic data set, of its ranges, of the benchmark, of small divisors
        (`zero.range...`), of the DMU's repository (dmu), or of a reference model; accuracy,
        measured: none of these.
    note: what a reader has to know; departures from the published scripts among them.
    measures: the numbers of measured runs, those that matter most first.
    rate: iterations per CPU second, of all runs, until a cost is kept; None: as of other tasks.
    selected_by: column whose lowest value picks the row that is kept of a run; empty: the last one.
    best_range: number of last rows among which a run is judged.
    tables: what its figures need besides exported runs.
    """

    key: str
    title: str
    paper: Paper | None
    numbers: tuple[str, ...]
    models: tuple[Model, ...]
    drawings: tuple[Drawing, ...] = ()
    parameter: str = "interpolation.range"
    criterion: str = "flat"
    note: str = ""
    measures: tuple[Measure, ...] = ()
    rate: float | None = None
    selected_by: str = ""
    best_range: int = BEST_RANGE
    tables: tuple[FurtherTable, ...] = ()

    @property
    def judgement(self) -> Judgement:
        """Return how its runs are judged, wherever a user does not ask for something else."""
        if self.criterion in ("flat", "distributions"):
            return Judgement(FLAT, best_range=self.best_range)
        if self.criterion.startswith((SMALL_DIVISORS, DMU)):
            return Judgement(parameter=self.criterion)
        if self.criterion == "benchmark":
            # The usual thresholds are those of these runs; others may be beside exported files.
            return Judgement(setups=(Path("eps_thrs_sltr"),), by_input_size=True)
        return Judgement(best_range=self.best_range)

    @property
    def is_measured(self) -> bool:
        return self.criterion == MEASURED or bool(self.measures)

    @property
    def stem(self) -> str:
        """Return the key as names of files and figures have it."""
        return self.key.replace("/", "-")

    @property
    def figure_keys(self) -> tuple[str, ...]:
        return tuple(drawing.key or self.stem for drawing in self.drawings) or (self.stem,)

    @property
    def runs(self) -> int:
        return sum(model.runs for model in self.models)

    @property
    def iterations(self) -> int:
        return sum(model.iterations for model in self.models)

    def model(self, name: str) -> Model:
        """Return the model of a key, or of a name in the figure; KeyError lists all keys."""
        key = named({model.key: model for model in self.models}, name)
        if key is None:
            keys = ", ".join(model.key for model in self.models)
            raise KeyError(f"{self.key} has no model {name!r}; it has {keys}")
        return next(model for model in self.models if model.key == key)


def named(models: Mapping[str, Model], name: str) -> str | None:
    """Return the key that a user means: itself, or the one model of that label (`nmru`: NMRU)."""
    if name in models:
        return name
    wanted = name.casefold()
    found = [k for k, m in models.items() if wanted in (k.casefold(), m.label.casefold())]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class ExpectedRun:
    """One run: its place in the model and its folder below the log root."""

    model: Model
    variant: Variant
    point: int
    seed: int
    name: str
    config: Config

    @property
    def leaf(self) -> str:
        """Return its name in exported tables: without the prefix of its model."""
        return self.name.removeprefix(f"{self.model.prefix}/")


def expected_runs(
    model: Model, seeds: Iterable[int] | None = None, extra: Flags | None = None
) -> list[ExpectedRun]:
    """Return every run of a model, in the order in which its commands plan them.

    extra: flags that override the model's.
    """
    chosen = list(model.seeds if seeds is None else seeds)
    found: list[ExpectedRun] = []
    for variant in model.variants if chosen else ():
        command = model.command(variant, chosen, extra=extra)
        for index, (name, config) in enumerate(_planned(command)):
            point = index // len(chosen)
            found.append(ExpectedRun(model, variant, point, config.seed, name, config))
    return found


@lru_cache(maxsize=64)
def _planned(command: Command) -> list[tuple[str, Config]]:
    """Return names and configurations of the runs of a command, which is read once."""
    spec = SCRIPTS[command.script]
    return [(spec.run_name(config), config) for config in spec.plan(command.words).configs]


def covering(
    runs: Sequence[ExpectedRun], extra: Flags | None = None
) -> list[tuple[Command, list[ExpectedRun]]]:
    """Return the fewest commands that plan these runs and no others, each with its runs.

    All runs are of one model; values that are trained with the same seeds share a command.
    """
    columns: dict[tuple[str, int], list[ExpectedRun]] = {}
    for run in runs:
        columns.setdefault((run.variant.name, run.point), []).append(run)
    groups: dict[tuple[str, tuple[int, ...]], list[list[ExpectedRun]]] = {}
    for (variant, _), column in columns.items():
        seeds = tuple(run.seed for run in column)
        groups.setdefault((variant, seeds), []).append(column)
    found: list[tuple[Command, list[ExpectedRun]]] = []
    for (_, seeds), group in groups.items():
        first = group[0][0]
        model = first.model
        points = [model.points[column[0].point] for column in group] if model.points else ()
        command = model.command(first.variant, seeds, points, extra)
        found.append((command, [run for column in group for run in column]))
    return found


def argument(tested: ExtrapolationRange) -> str:
    """Return a range as the value of a flag: `[2,6]`, mirrored `[[-6,-2],[2,6]]`."""
    given = f"[{plain(tested.a)},{plain(tested.b)}]"
    if not tested.mirror:
        return given
    parts = sorted([(tested.a, tested.b), (-tested.b, -tested.a)])
    return "[" + ",".join(f"[{plain(low)},{plain(high)}]" for low, high in parts) + "]"


def range_point(trained: str, tested: str) -> Flags:
    return {"--interpolation-range": (trained,), "--extrapolation-range": (tested,)}


def _pairs(trained: str, tested: Sequence[ExtrapolationRange]) -> tuple[Flags, ...]:
    together = zip(trained.split(), tested, strict=True)
    return tuple(range_point(text, argument(interval)) for text, interval in together)


def values(flag: str, texts: str) -> tuple[Flags, ...]:
    """Return a point for every value of one flag."""
    return tuple({flag: (text,)} for text in texts.split())


def variants(flag: str, texts: str, common: str = "") -> tuple[Variant, ...]:
    """Return a variant for every value of one flag that a command holds once."""
    return tuple(Variant(text, flags(f"{common} {flag} {text}")) for text in texts.split())


def operations(names: str) -> tuple[Variant, ...]:
    return variants("--operation", names)


SINGLE_MODULE_RANGES = _pairs(
    "[-20,-10] [-2,-1] [-1.2,-1.1] [-0.2,-0.1] [-2,2] [0.1,0.2] [1,2] [1.1,1.2] [10,20]",
    EXTRAPOLATION_RANGES,
)
"""The nine pairs of single modules."""

_DATA_SET_ORDER = (7, 5, 2, 3, 6, 8, 0, 1, 4)
DATA_SET_RANGES = tuple(SINGLE_MODULE_RANGES[index] for index in _DATA_SET_ORDER)
"""The same pairs, in the order of the arithmetic data set of the robustness paper."""

ONE_TO_TWO = tuple(p for p in SINGLE_MODULE_RANGES if p["--interpolation-range"] == ("[1,2]",))

MULTIPLICATION_PAIRS = _pairs(
    "[-2,-1] [-2,2] [0,1] [0.1,0.2] [1,2] [1.1,1.2] [10,20]", MULTIPLICATION_RANGES
)
"""The seven pairs of the first study of multiplication."""

MIXED_SIGNS = (
    range_point("[-2,2]", argument(MIRRORED)),
    range_point("[[-2,-0.1],[0.1,2],[]]", "[[-6,-2],[2,6],[]]"),
    range_point("[[0.1,2],[-2,-0.1],[]]", "[[2,6],[-6,-2],[]]"),
    range_point("[[-2,-1],[1,2],[]]", "[[-6,-2],[2,6],[]]"),
    range_point("[[1,2],[-2,-1],[]]", "[[2,6],[-6,-2],[]]"),
)
"""Signs per element, then signs per half of the vector."""

NEAR_ZERO = tuple(
    range_point(f"[0,{plain(bound)}]", f"[0,{plain(bound)}]") for bound in SMALL_DIVISOR_BOUNDS
)
"""Intervals from zero, the same in training and test."""

_BENFORD, _BELOW, _ABOVE, _FIFTY, _HUNDRED = (argument(tested) for tested in DISTRIBUTION_RANGES)
DISTRIBUTIONS = tuple(
    Variant(name, {"--sample-distribution": tuple(words.split()), **range_point(trained, tested)})
    for name, words, trained, tested in (
        ("benford", "benford", "[10,100]", _BENFORD),
        ("normal-below", "truncated-normal -1 3 -10 3", "[-5,10]", _BELOW),
        ("normal-above", "truncated-normal 1 3 10 3", "[-10,5]", _ABOVE),
        ("normal-centred", "truncated-normal 0 1 10 1", "[-5,5]", _ABOVE),
        ("uniform-50", "uniform", "[-50,50]", _FIFTY),
        ("uniform-100", "uniform", "[-100,100]", _HUNDRED),
    )
)
"""Each distribution with its ranges; a command holds one, as ranges are paired among themselves."""

_SIZES = (
    ("4 10 25", 5_000_000, 10),
    ("50 75 100", 5_000_000, 15),
    ("125 150", 10_000_000, 30),
    ("175 200", 10_000_000, 45),
    ("225 250", 15_000_000, 60),
    ("275 300", 15_000_000, 75),
)
INPUT_SIZES = tuple(
    Variant(size, flags(f"--input-size {size} --max-iterations {iterations}"), 60 * hours)
    for sizes, iterations, hours in _SIZES
    for size in sizes.split()
)
"""Lengths of the input vector; longer ones train longer."""
