"""What a figure is: files that it reads, how runs become points, and the functions that draw."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from stable_nalu.base.papers import Paper
from stable_nalu.statistics.setups import USUAL, Judgement

Size = tuple[float, float]

STANDARD = (13.968 * 1.4, 5.7 * 1.4)
"""Width and height in cm of most published figures."""

Run = Mapping[str, Any]
"""What the name of a run holds: column -> value."""


def standard(height: float) -> Size:
    """Return the usual width with a height that is given before the usual scale of 1.4."""
    return (STANDARD[0], height * 1.4)


@dataclass(frozen=True)
class Only:
    """Rows to keep: those whose `column` is one of `values`; rows of other `models` pass."""

    column: str
    values: tuple[object, ...]
    models: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reference:
    """Runs with a solved accumulator: the files that may have them, and the seeds that count.

    level, of_one_run: the bound on their errors; see `statistics.thresholds.from_reference`.
    """

    files: tuple[str, ...]
    seeds: tuple[int, ...]
    level: float = 0.99
    of_one_run: bool = False


@dataclass(frozen=True)
class Runs:
    """How the rows of exported files become one row per run.

    x: the column that groups runs besides the model.
    models: models that the figure should have; with `closed`, it has no others.
    expected: values of x that every model should have.
    relabel: makes the label of a run from the columns that its name holds.
    extra: one more grouping column.
    reference: what gives the thresholds of sequence tasks.
    length: the test length of sequence tasks that is shown; None: all, and x is the length.
    derive: further columns, made from those that run names hold.
    """

    x: str
    models: tuple[str, ...] = ()
    closed: bool = False
    expected: tuple[object, ...] = ()
    only: tuple[Only, ...] = ()
    relabel: Callable[[Run], str] | None = None
    extra: str | None = None
    reference: Reference | None = None
    length: int | None = None
    derive: tuple[tuple[str, Callable[[Run], str]], ...] = ()


@dataclass(frozen=True)
class Series:
    """One exported file.

    files: paths below the CSV folder without `.csv`; the first that exists is read.
    label: the model that all its runs are shown as; None: as their names say.
    expects: models to miss when the file is missing and `label` does not say.
    """

    files: tuple[str, ...]
    label: str | None = None
    expects: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return what a legend calls the file."""
        return self.label or self.files[0]

    @property
    def missed(self) -> tuple[str, ...]:
        """Return what is missing from a figure without this file."""
        return (self.label,) if self.label is not None else self.expects or (self.files[0],)


Needs = Literal["nothing", "outcomes", "measures", "epochs"]


def kind(title: str, needs: Needs = "measures") -> Callable[[Any], Any]:
    """Make a function a kind of drawings or tables, of the context of a figure and its options.

    title: what `--list` calls them.
    needs: what they are drawn from: a formula, the outcome of each run, what was measured at its
        end and at some steps, or at every epoch.
    """

    def marked(make: Any) -> Any:
        make.title, make.needs = title, needs
        return make

    return marked


@dataclass(frozen=True)
class Sketch:
    """One drawing or table: the function that makes it, and its options.

    stem: name of the file without its ending, in which `{key}` becomes the key of the figure.
    """

    kind: Any
    stem: str
    options: Mapping[str, Any]


def sketch(kind: Any, stem: str = "{key}", **options: Any) -> Sketch:
    """Return a part of a figure."""
    return Sketch(kind, stem, options)


@dataclass(frozen=True)
class Drawing:
    """A figure of an experiment, or of a user's own files.

    series: files in the order of the legend; none: those of the models of the experiment, and where
        several models share one, its runs are shown as their names say.
    folders: where they may lie below the CSV folder, besides the CSV folder itself.
    key, title, number: its own, where the experiment has several figures; the key finds it.
    paper: whose figure it is, where no paper shows the experiment; None for a user's files.
    judgement: when runs are solved: that of the experiment, or for a user's files the usual one.
    """

    parts: tuple[Sketch, ...]
    series: tuple[Series, ...] = ()
    folders: tuple[str, ...] = ()
    key: str = ""
    title: str = ""
    number: str = ""
    paper: Paper | None = None
    judgement: Judgement = USUAL


def drawn(
    *parts: Sketch, series: tuple[Series, ...] = (), folders: tuple[str, ...] = ()
) -> tuple[Drawing]:
    """Return the one figure of an experiment."""
    return (Drawing(parts, series, folders),)
