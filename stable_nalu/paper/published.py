"""Published numbers, read from files next to this one, to compare a reproduction with.

`published_measures/` has numbers of measured experiments. Each has a label that says what stands
behind it: only some of them are published.

`published_results/` has success rates.
One row per point: solved of runs, median and mean step solved at, sparsity error; an unpublished
number is `None`. An upper limit alone means "below it". `source` says where a number was
read: table, figure, abstract, report, talk (an earlier run of the authors), derived.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stable_nalu.base.files import cells_of

FOLDER = Path(__file__).with_name("published_results")
SEEDS = Path(__file__).with_name("published_seeds.csv")
MEASURES = Path(__file__).with_name("published_measures")
LABELS = {
    "PUB": "published",
    "LOG": "logged by the released code",
    "S2": "stated in the article",
    "S3": "stated in the notes",
}
"""Label of a number that is no success rate -> what it is, in words."""

_ALSO = {
    "function_task_static": "function_task_static_all",
    "function_task_static_reproduce": "function_task_static_all",
    "function_task_static_mul_range_reproduce": "function_task_static_mul_range",
    "benchmark_sltr_mul": "benchmark_sltr_mul_mcfc",
    "benchmark_sltr_add": "benchmark_sltr_add_mcfc",
}
"""Experiments whose points were published as those of another one."""


def same_point(value: object, text: str) -> bool:
    """Return whether a cell is the published point: by number where both are numbers, else by text.

    A published two-part range is named by its ends alone.
    """
    try:
        return math.isclose(float(str(value)), float(text))
    except ValueError:
        return str(value).replace(" ", "") == text.replace(" ", "")


@dataclass(frozen=True)
class Bounded:
    """A number and the ends of its 95 % interval."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class Published:
    """One point. column, point: where it stands on the x axis; both empty for a whole model."""

    experiment: str
    model: str
    operation: str
    column: str
    point: str
    solved: int
    runs: int
    median: float | None
    mean: Bounded
    sparsity: Bounded
    source: str


@dataclass(frozen=True)
class PublishedSeeds:
    """Which of the seeds 0 to runs - 1 a model solved, where a paper's files tell.

    solved_at: solved seed -> the first logged step at which its test error was below the threshold.
    sparsity: solved seed -> its sparsity error.
    """

    model: str
    operation: str
    runs: int
    solved_at: Mapping[int, int]
    sparsity: Mapping[int, float]


@dataclass(frozen=True)
class PublishedMeasure:
    """A number of a measured experiment that was given elsewhere, or a claim about one.

    operation, point: the runs that it is about; a point is written as `column=value`. Empty: all.
    measure: column of the kept runs.
    value: a number, or `<` and the model that is above this one.
    tolerance: the error of reading it off a figure, or of rounding, if that matters.
    """

    experiment: str
    model: str
    operation: str
    point: str
    measure: str
    value: str
    tolerance: float | None
    label: str
    source: str

    def is_about(self, settings: Mapping[str, Any]) -> bool:
        """Return whether these settings match every setting that it names."""
        column, _, value = self.point.partition("=")
        wanted = {"operation": self.operation, column: value}
        return all(same_point(settings.get(name), text) for name, text in wanted.items() if text)

    @property
    def number(self) -> float | None:
        return None if self.value.startswith("<") else float(self.value)

    @property
    def better_than(self) -> str:
        """Return the model that is said to have a higher value, if any."""
        return self.value.removeprefix("<") if self.value.startswith("<") else ""

    @property
    def standing(self) -> str:
        """Return what stands behind it, in words."""
        if self.tolerance is not None and self.label == "PUB":
            return f"read off the figure (±{self.tolerance:g})"
        return LABELS[self.label]


def all_published() -> list[Published]:
    return [_point(cells) for path in sorted(FOLDER.glob("*.csv")) for cells in cells_of(path)]


def published(experiment: str) -> list[Published]:
    key = _ALSO.get(experiment, experiment)
    return [point for point in all_published() if point.experiment == key]


def published_seeds(experiment: str) -> list[PublishedSeeds]:
    """Return all that is known of the seeds of an experiment, from the file behind Table 6."""
    key = _ALSO.get(experiment, experiment)
    return [
        PublishedSeeds(
            cells["model"],
            cells["operation"],
            int(cells["runs"]),
            _by_seed(cells["solved_at"], int),
            _by_seed(cells["sparsity"], float),
        )
        for cells in cells_of(SEEDS)
        if cells["experiment"] == key
    ]


def _by_seed(text: str, kind: Callable[[str], Any]) -> dict[int, Any]:
    """Return what `0:1000 3:2000` says of each seed."""
    return {int(seed): kind(cell) for seed, cell in (pair.split(":") for pair in text.split())}


def all_published_measures() -> list[PublishedMeasure]:
    """Return the numbers of all measured experiments, in the order of the files."""
    rows = [cells for path in sorted(MEASURES.glob("*.csv")) for cells in cells_of(path)]
    return [PublishedMeasure(tolerance=_number(row.pop("tolerance")), **row) for row in rows]


def published_measures(experiment: str) -> list[PublishedMeasure]:
    return [row for row in all_published_measures() if row.experiment == experiment]


def _point(cells: dict[str, str]) -> Published:
    mean, sparsity = (
        Bounded(*(_number(cells[f"{name}{end}"]) for end in ("", ".lower", ".upper")))
        for name in ("mean", "sparsity")
    )
    own: dict[str, Any] = {"solved": int(cells["solved"]), "runs": int(cells["runs"]), "mean": mean}
    own |= {"median": _number(cells["median"]), "sparsity": sparsity}
    return Published(**{name: own.get(name, cells[name]) for name in Published.__annotations__})


def _number(text: str) -> float | None:
    return float(text) if text else None
