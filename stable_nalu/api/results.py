"""Summarise, compare and draw trained runs in Python.

`export/summarize.py` and `export/plot.py` use the same code. Errors are raised as `UsageError`, and
the warnings of a script are Python warnings.
"""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import pandas as pd

from stable_nalu.base.errors import UsageError, did_you_mean, is_text, named_as_in_python
from stable_nalu.base.script import plain, plural
from stable_nalu.options.run_names import column_of
from stable_nalu.statistics import summary
from stable_nalu.statistics import table as judging
from stable_nalu.statistics.comparison import Comparison, compared
from stable_nalu.statistics.intervals import PairedTest, paired_test
from stable_nalu.statistics.setups import BEST_RANGE, PUBLISHED, Estimators, Judgement, expand_name

from .runs import TABLE, TASK, TrainedRuns, path_of, varying

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stable_nalu.figure.style import Palette

# fmt: off
DrawingKind = Literal["range", "success", "distribution", "sweep", "table", "histogram", "curve",
    "metrics", "surface", "path", "matrix", "critical-difference", "profile"]
# fmt: on


@named_as_in_python()
def summarize(
    runs: TrainedRuns | pd.DataFrame,
    *,
    by: Sequence[str] | str | None = None,
    threshold: float | None = None,
    parameter: str | None = None,
    exp_setups: Iterable[str | Path] = (),
    best_range: int = BEST_RANGE,
    estimators: Estimators = PUBLISHED,
    technical: bool = False,
) -> summary.Summary:
    """Return one row per group: success rate, solved at and sparsity error, with 95 % intervals.

    Args:
        runs: the result of `train` or `read_runs`, of any script, or its table; or a table from
            your own loop with the columns model, task, seed, step and error.
        by: options that define a group; None: model, operation, ranges and all that differ.
        threshold: the test error below which a run is solved; None: the threshold of its task.
        parameter: rows of the tables to use; None: the rows for a run's script and model.
        exp_setups: tables of thresholds in place of the usual ones; runs without a row are left
            out then.
        best_range: a run is judged at the lowest validation error among this many last rows.
        estimators: how means and intervals are made.
        technical: whether columns have the papers' names, as in `export/summarize.py`.

    Examples:
        >>> sn.summarize(runs)[["model", "n", "success_rate"]]
          model  n  success_rate
        0   NMU  8           1.0
    """
    by = [by] if isinstance(by, str) else by
    if by is not None and not isinstance(by, Sequence):
        raise UsageError(f"by: {by!r} is not a list of columns")
    setups = _paths("exp_setups", exp_setups)
    judgement = Judgement(threshold, parameter, tuple(setups), best_range)
    _require_estimators(estimators)
    judged = judging.judge_tables([(TABLE, _table(runs, threshold))], judgement, _warn)
    options = list(judged.columns)[: list(judged.columns).index("threshold")]
    table = summary.summarize_runs(judged, None if by is None else _known(options, by), estimators)
    return summary.Summary(table) if technical else summary.typed_summary(table)


def _known(columns: Collection[str], by: Sequence[str]) -> list[str]:
    """Return the columns of options, which may be named as arguments of `train`."""
    chosen = []
    for name in by:
        typed = isinstance(name, str) and name not in columns
        column = summary.technical_name(name) if typed else name
        if column not in columns:
            others = [one for one in columns if one not in ("name", "model_code")]
            known = list(map(summary.typed_name, others))
            remedy = did_you_mean(str(name), known, f"one of {', '.join(known)}")
            raise UsageError(f"by: there is no option {name!r}; {remedy}")
        chosen.append(column)
    return chosen


Models = Mapping[str, TrainedRuns] | Mapping[str, pd.DataFrame]


@overload
def compare(
    runs_a: TrainedRuns | pd.DataFrame,
    runs_b: TrainedRuns | pd.DataFrame,
    *,
    threshold: float | None = None,
    labels: tuple[str, str] | None = None,
) -> PairedTest: ...
@overload
def compare(
    runs_a: Models | TrainedRuns | pd.DataFrame, *, threshold: float | None = None
) -> Comparison: ...
@named_as_in_python(runs="runs_a")
def compare(
    runs_a: Models | TrainedRuns | pd.DataFrame,
    runs_b: TrainedRuns | pd.DataFrame | None = None,
    *,
    threshold: float | None = None,
    labels: tuple[str, str] | None = None,
) -> PairedTest | Comparison:
    """Test whether one model solves more often, by pairs of runs of one seed.

    Two runs form a pair if they have the same seed, operation and ranges, and the same value of
    every option that differs among the runs of either model. The test is exact and two-sided, and
    exchanges the sides of whole seeds. With one run for each seed it is McNemar's test, with
    Newcombe's interval for pairs. With several it has Student's interval of the seeds' differences.

    For several models it returns a table of all pairs, with p by Holm's method.

    Args:
        runs_a: runs of one model. Without `runs_b`: several models by their labels, or runs of
            several models. A table may be from your own loop, as for `summarize`.
        runs_b: runs of the other model.
        threshold: the test error below which a run is solved; None: the threshold of its task.
        labels: names for both; None: the names of their models.

    Examples:
        >>> others = sn.train("single_layer", layer="NAC", seed=range(8), **how)
        >>> sn.compare(runs, others).p
        0.0078125
    """
    if runs_b is not None:
        ones = _judged(runs_a, threshold)
        with named_as_in_python(runs="runs_b"):
            others = _judged(runs_b, threshold)
        if labels is None:
            names = [", ".join(dict.fromkeys(table["model"])) for table in (ones, others)]
            labels = (names[0], names[1]) if names[0] != names[1] else ("the first", "the second")
        return _tested(ones, others, labels, ("the first", "the second"))
    if labels is not None:
        raise UsageError("labels: they are of two models; give several as {label: runs}")
    if isinstance(runs_a, Mapping):
        models = {_label(name): _judged(runs, threshold) for name, runs in runs_a.items()}
    else:
        judged = _judged(runs_a, threshold)
        models = {str(name): rows for (name,), rows in judging.groups(judged, ["model"])}
    if len(models) < 2:
        raise UsageError(f"runs_a: {plural(len(models), 'model')} is given; two are compared")
    pairs = combinations(models.items(), 2)
    tests = [_tested(ones, others, (a, b), (a, b)) for (a, ones), (b, others) in pairs]
    return compared(tests)


def _judged(runs: object, threshold: float | None) -> pd.DataFrame:
    """Return a row per judged run, with its last step."""
    table = _table(runs, threshold)
    judged = judging.judge_tables([(TABLE, table)], Judgement(threshold=threshold), _warn)
    steps: Any = table.groupby("name")["step"]
    last = steps.max().to_dict()
    return judged.assign(iterations=[last[name] for name in judged["name"]])


def _tested(
    ones: pd.DataFrame, others: pd.DataFrame, labels: tuple[str, str], called: tuple[str, str]
) -> PairedTest:
    apart = dict.fromkeys((*TASK, *varying(ones), *varying(others)))
    by = [c for c in apart if c in ones and c in others]
    test = paired_test(labels, ones, others, [*by, "seed"])
    if not test.pairs:
        one, other = map(plain, called)
        raise UsageError(f"no run of {one} has the task and the seed of one of {other}")
    return test


def _label(given: object) -> str:
    if not isinstance(given, str) or not is_text(given):
        raise UsageError(f"label of a model: {given!r} is not text")
    return given


@named_as_in_python()
def plot(
    runs: TrainedRuns | pd.DataFrame | Mapping[str, TrainedRuns] | Mapping[str, pd.DataFrame],
    kind: DrawingKind = "range",
    *,
    by: Sequence[str] | str | None = None,
    column: str | None = None,
    threshold: float | None = None,
    exp_setups: Iterable[str | Path] = (),
    estimators: Estimators = PUBLISHED,
    palette: "Palette" = "safe",
) -> "Figure":
    """Return a drawing of runs.

    Args:
        runs: the result of `train` or `read_runs`, or several results by the names of their models;
            or a table from your own loop, as for `summarize`.
        kind: a `--kind` of `export/plot.py`, except its tables.
        by: options that define a line; None: model, and all that differ except x.
        column: the x of a sweep, or the values that another kind shows.
        threshold: the test error below which a run is solved; None: the threshold of its task.
        exp_setups: tables of thresholds in place of the usual ones.
        estimators: how means and intervals are made.
        palette: colours that read in print and for colour-blind readers, or the published hues.

    Examples:
        >>> sn.plot({"NMU": runs, "NAC": others}, kind="success").savefig("success.png")
    """
    from stable_nalu.figure.entries import entry_of_tables, made
    from stable_nalu.figure.runs import Context
    from stable_nalu.figure.style import PALETTES

    if palette not in PALETTES:
        raise UsageError(f"palette: {palette!r} is not one of {', '.join(PALETTES)}")
    if not isinstance(column, str | None):
        raise UsageError(f"column: {column!r} is not a name of a column")
    _require_estimators(estimators)
    setups = _paths("exp_setups", exp_setups)
    Judgement(threshold)  # refuses a threshold that is none
    column = column if column is None or "." in column else summary.technical_name(column)
    tables: dict[str, pd.DataFrame] = {}
    for label, own in (runs if isinstance(runs, Mapping) else {"": runs}).items():
        tables[_label(label)] = _table(own, threshold)
    if column is None and kind in ("range", "success") and _has_no_ranges(tables.values()):
        column = "operation"
    by_task = kind in ("histogram", "critical-difference", "profile")
    beside = (column, *_X, *(["operation"] if by_task else []))
    tables = {k: v for name, t in tables.items() for k, v in _split(name, t, by, beside).items()}
    labels = [] if list(tables) == [""] else list(tables)
    # A name with slashes would be a path of folders.
    named = ((label.replace("/", "∕") or "runs", table) for label, table in tables.items())
    names = {f"the table of {label}": table for label, table in named}
    header = [str(name) for name in next(iter(tables.values()))]
    entry = entry_of_tables(kind, list(names), header, labels, "figure", column)
    how: Any = {"threshold": threshold, "estimators": estimators, "palette": palette}
    context = Context(entry, Path(), names, setups=setups, **how)
    figure = made(entry.parts[0], context).figure
    for text in context.warnings:
        _warn(text)
    if figure is None:
        raise UsageError(f"kind {kind!r} is not a drawing; export/plot.py writes it")
    return figure


_X = ("hidden.size", "train.distribution", "test.distribution", "distribution")
"""Options that kinds have on their x axes."""
_WORDS = ("model", "operation")
"""Options whose values name a group on their own: `mul on U[1,2)`, with no `operation=`."""


def _split(
    name: str, table: pd.DataFrame, by: Sequence[str] | str | None, x: Collection[str | None]
) -> dict[str, pd.DataFrame]:
    """Split a table by the options that differ, besides the model and x.

    If none differs, the table stays whole.
    """
    by = [by] if isinstance(by, str) else by
    try:
        codes, options = judging.parsed_names(table, expand_name, TABLE)
    except (UsageError, KeyError):  # of a script without these options
        return {name: table}
    if by is None:
        operation = ["operation"] if len(set(options["operation"])) > 1 else []
        by = [c for c in (*operation, *summary.differing_options(options)) if c not in x]
    by = _known(list(options), by)
    if not name or len(set(options["model"])) > 1:
        by = list(dict.fromkeys(["model", *by]))
    if not by or (by == ["model"] and not name):
        return {name: table}
    parts_by_name: dict[str, pd.DataFrame] = {}
    for values, group in judging.groups(options, by):
        pairs = zip(by, values, strict=True)
        parts = [str(v) if c in _WORDS else f"{c.replace('.', ' ')} {v}" for c, v in pairs]
        parts_by_name[", ".join([name, *parts] if name else parts)] = table.loc[
            pd.Series(codes, table.index).isin(group.index)
        ]
    return parts_by_name


def _require_estimators(given: object) -> None:
    if not isinstance(given, Estimators):
        raise UsageError(f"estimators: {given!r} is none; give an Estimators of statistics")


def _has_no_ranges(tables: Iterable[pd.DataFrame]) -> bool:
    """Return whether training ranges would tell no tasks apart."""
    column = column_of("interpolation_range")
    return all(column in table and table[column].isin(["", None]).all() for table in tables)


def _table(runs: object, threshold: float | None) -> pd.DataFrame:
    table = runs.table if isinstance(runs, TrainedRuns) else runs
    if not isinstance(table, pd.DataFrame):
        kind = type(runs).__name__
        raise UsageError(f"runs: {kind} is not a table; give what train or read_runs returns")
    return _of_other_loop(table, threshold) if "error" in table and "name" not in table else table


_TIDY = ("model", "task", "seed", "step", "error")


def _of_other_loop(tidy: pd.DataFrame, threshold: float | None) -> pd.DataFrame:
    """Convert a table from a user's own loop. Its runs are judged at their last rows."""
    judging.require(tidy, _TIDY, TABLE, f"one of {', '.join(_TIDY)}")
    if threshold is None and judging.THRESHOLD not in tidy:
        raise UsageError("threshold: this table has none; give one, such as threshold=1e-5")
    given = judging.numeric(tidy, ("seed", "step", "error"), TABLE).reset_index(drop=True)
    judging.refuse_rows(given["seed"].isna(), given, "seed", TABLE, "no seed")
    judging.refuse_rows(given["error"] < 0, given, "error", TABLE, "an error below 0")
    texts = {name: given[name].astype(str) for name in ("model", "task", "seed")}
    missing = dict.fromkeys((judging.VALIDATION, judging.SPARSITY), float("nan"))
    own = {"name": texts["model"] + "/" + texts["task"] + "/" + texts["seed"]}
    own |= {"step": given["step"], judging.TEST: given["error"], **missing}
    own[judging.THRESHOLD] = given.get(judging.THRESHOLD, float("nan"))
    own |= {judging.MODEL_CODE: texts["model"], "model": texts["model"]}
    own |= {"operation": texts["task"], **dict.fromkeys(TASK[1:], ""), "seed": given["seed"]}
    return pd.DataFrame(own)


def _paths(name: str, given: object) -> list[Path]:
    """Return the paths of a list, or the one."""
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    return [path_of(name, one) for one in several]


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)
