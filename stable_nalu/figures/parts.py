"""What can be drawn, as data: one class a kind, with all that tells its drawings apart.

Sizes are width and height in cm. `stem` is the name of the file without its ending; `{key}` stands
for the lookup key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .style import STANDARD

if TYPE_CHECKING:
    import pandas as pd

INCH = 2.54
Size = tuple[float, float]


def standard(height: float = 5.7) -> Size:
    """The usual width, with a height before the usual scale of 1.4."""
    return (STANDARD[0], height * 1.4)


@dataclass(frozen=True)
class Threshold:
    """Errors below which runs count as solved: one number, or rows of setup files.

    flat: for every run, unless setup files are given or `file` is among the exported ones.
    parameter: which rows count; None: all but those of division by small numbers.
    by_input_size: runs only match rows of their own input size.
    """

    flat: float | None = None
    file: str | None = None
    parameter: str | None = None
    by_input_size: bool = False


@dataclass(frozen=True)
class Only:
    """Rows to keep: those whose `column` is one of `values`; rows of other `models` pass."""

    column: str
    values: tuple[object, ...]
    models: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reference:
    """Runs with a solved accumulator: the file that has them, and the seeds that count."""

    files: tuple[str, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Runs:
    """How the rows of exported files become one row a run.

    x: column that groups them besides the model.
    names: grammar of the run names.
    models: models that the figure should have; with `closed`, no others.
    expected: values of x that every model should have.
    relabel: new labels from parsed columns.
    extra: one more grouping column.
    reference: what gives the thresholds of sequence tasks.
    derive: further columns from parsed ones.
    """

    x: str
    threshold: Threshold
    names: Literal["single", "data-set", "sequence"] = "data-set"
    models: tuple[str, ...] = ()
    closed: bool = False
    expected: tuple[object, ...] = ()
    only: tuple[Only, ...] = ()
    relabel: Callable[[pd.DataFrame], pd.Series] | None = None
    extra: str | None = None
    best_range: int = 5000
    inclusive: bool = False
    reference: Reference | None = None
    derive: tuple[tuple[str, Callable[[pd.DataFrame], pd.Series]], ...] = ()


@dataclass(frozen=True)
class Part:
    """One drawing or table."""

    @property
    def kind(self) -> str:
        """What `--list` calls it."""
        return _KINDS[type(self).__name__]


@dataclass(frozen=True)
class Panels(Part):
    """Success rate, solved at and sparsity error side by side, against a range or a parameter.

    style: dodge: categories, series beside each other; line: numbers; category: lines over
        categories.
    success: title of the first panel; with `alone` it is the only one.
    half_open: ranges are printed as `U[a,b)`.
    """

    stem: str
    runs: Runs
    x_label: str
    style: Literal["dodge", "line", "category"] = "dodge"
    success: str = "Success rate"
    breaks: tuple[float, ...] = ()
    half_open: bool = True
    log_x: bool = False
    alone: bool = False
    size: Size = STANDARD

    @property
    def kind(self) -> str:
        """By what is on the x axis."""
        if self.runs.x == "distribution":
            return "distribution"
        return "range" if self.runs.x == "interpolation.range" else "sweep"


@dataclass(frozen=True)
class Successes(Part):
    """Success rates only, one panel a swept parameter. Panels are (title, file, runs)."""

    stem: str
    panels: tuple[tuple[str, str, Runs], ...]
    columns: int
    size: Size = STANDARD


@dataclass(frozen=True)
class Table(Part):
    """LaTeX table of success rate, solved at and sparsity error.

    within: columns within which the best value is bold; empty: nothing is.
    rows: operation -> models, where a table shows some only.
    """

    stem: str
    runs: Runs
    label: str
    caption: str
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    show_operation: bool = True
    show_range: bool = False
    within: tuple[str, ...] = ("operation",)
    long: bool = False


@dataclass(frozen=True)
class Histogram(Part):
    """Distribution of a gate over runs, by model and operation, split by success."""

    stem: str
    runs: Runs
    column: str
    bins: int = 25
    size: Size = STANDARD


@dataclass(frozen=True)
class Curves(Part):
    """Errors of single runs against the iteration."""

    stem: str
    runs: Runs
    seed: int
    threshold_line: float
    size: Size = STANDARD


@dataclass(frozen=True)
class EpochCurves(Part):
    """Mean of one column against the epoch, with its standard error."""

    stem: str
    column: str
    y_label: str
    size: Size = (7 * INCH, 7 * INCH)


@dataclass(frozen=True)
class Scatter(Part):
    """Means of several columns at one epoch of each run, by model.

    metrics: (columns, text); the first column that the files have is used.
    best: choose the row of the largest value of this column among the last ten; default: the last.
    """

    stem: str
    metrics: tuple[tuple[tuple[str, ...], str], ...]
    y_label: str
    order: tuple[str, ...] = ()
    best: str | None = None
    size: Size = (7 * INCH, 7 * INCH)


@dataclass(frozen=True)
class Violin(Part):
    """Distribution over runs of one column at the chosen row, by model."""

    stem: str
    column: str
    y_label: str
    order: tuple[str, ...] = ()
    best: str | None = None
    size: Size = (13.968 * 2, 5.7 * 2)


@dataclass(frozen=True)
class Distances(Part):
    """Distance of trained weights to the exact solution, by configuration or distribution."""

    stem: str
    by: Literal["configuration", "distribution"]
    size: Size = (7 * INCH, 7 * INCH)


@dataclass(frozen=True)
class GoldErrors(Part):
    """Error that is left with exact weights, against the sampled range, by module."""

    stem: str
    panels: tuple[tuple[str, str], ...]
    order: tuple[str, ...]
    size: Size = STANDARD


@dataclass(frozen=True)
class Bars(Part):
    """Accuracy per class, whole and zoomed."""

    stem: str
    zoom: tuple[float, float] = (0.96, 1.0)
    size: Size = (13.968 * 2, 5.7 * 2)


@dataclass(frozen=True)
class Matrix(Part):
    """Counts of true against predicted classes."""

    stem: str
    size: Size = (15 * INCH, 10 * INCH)


@dataclass(frozen=True)
class Surface(Part):
    """Predictions over two inputs, cut into bins, one facet a series."""

    stem: str
    bins: int = 20
    size: Size = (16 * 1.4, 10 * 1.4)


@dataclass(frozen=True)
class Landscape(Part):
    """Loss over two weights, computed: no file is read."""

    stem: str
    loss: str
    epsilon: float
    title: str
    shape: Literal["rmse", "squared"] = "rmse"
    first_row: Literal["pair", "all"] = "pair"
    w1: tuple[float, float] = (-1.0, 1.0)
    w2: tuple[float, float] = (-1.0, 1.0)
    size: Size = (10 * INCH, 6 * INCH)


@dataclass(frozen=True)
class Path(Part):
    """Two weights, and two gates, along training: one file of the entry.

    every: only rows of steps that it divides are read; `shown`: drawn, where `show` is not a path.
    show: the path itself; how far the weights move between rows; that over how far the gates do.
    """

    stem: str
    file: str
    columns: tuple[tuple[str, str], ...]
    time: str
    limits: tuple[float, float]
    every: int = 1
    shown: int = 1
    show: Literal["path", "distance", "ratio"] = "path"
    size: Size = (16, 16)


_KINDS = {
    "Successes": "sweep",
    "Table": "table",
    "Histogram": "histogram",
    "Curves": "curve",
    "EpochCurves": "curve",
    "Scatter": "metrics",
    "Violin": "violin",
    "Distances": "distance",
    "GoldErrors": "gold-errors",
    "Bars": "bars",
    "Matrix": "matrix",
    "Surface": "surface",
    "Landscape": "landscape",
    "Path": "path",
}
