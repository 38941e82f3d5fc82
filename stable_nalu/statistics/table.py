"""Tables of runs: read from CSV, judged, split into groups, written in the dialect of the papers.

A judged run has its options, its threshold and its outcome. In the papers' dialect text is quoted,
and missing, infinite and true values are NA, Inf and TRUE.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_text_file, table_rows
from stable_nalu.dataset.distribution import INTERPOLATION_ORDER

from . import setups
from .setups import MODEL_CODE, THRESHOLD

Parts = Sequence[tuple[Path | str, pd.DataFrame]]
Warn = Callable[[str], object]
WHOLE = ("step", "seed")
VALIDATION, TEST = "metric.valid.interpolation", "metric.test.extrapolation"
SPARSITY = "sparse.error.max"
ERRORS = VALIDATION, TEST, SPARSITY
DIVERGED_AT = "diverged.at"
"""Column, where it is known: the step at which a run diverged, in all rows of the run."""
DIVERGED = "diverged"
"""Column of kept runs: whether a run diverged."""
INCLUSIVE = "inclusive"
"""Column: whether an error equal to the threshold is low enough."""
BEST_STEP = "best.step"
"""Column: the step that a run is judged at."""
EXPORTED = ("name", "step", VALIDATION, TEST, SPARSITY)


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file, or raise UsageError with one line that says what is wrong with it."""
    rows = table_rows(path)
    header = next(rows, [])
    for _ in rows:  # pandas fills rows that are too short.
        pass
    for column in header:
        if header.count(column) > 1:  # pandas gives the second one another name.
            raise UsageError(f"{path} has column {column} twice; keep one of them")
    try:
        return pd.read_csv(path, low_memory=False)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not a CSV table: {' '.join(str(error).split())}") from None


def require(table: pd.DataFrame, columns: Iterable[str], path: Path | str, kind: str) -> None:
    """Raise UsageError for a table that lacks one of the columns, or has one twice."""
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise UsageError(f"{path} is not {kind}: it has column {twice} twice")
    lacking = [column for column in columns if column not in table.columns]
    if lacking:
        raise UsageError(f"{path} is not {kind}: it has no column {', '.join(lacking)}")


def numeric(table: pd.DataFrame, columns: Iterable[str], path: Path | str) -> pd.DataFrame:
    """Return the table with columns of numbers; UsageError names the first wrong cell.

    Steps and seeds are whole numbers from 0 on, a step is never missing, and no error is negative;
    a script that is not arithmetic may have rewards in their place.
    """
    table = table.copy()
    for column in columns:
        try:
            table[column] = pd.to_numeric(table[column])
        except (ValueError, TypeError):
            read: Any = pd.to_numeric(table[column], errors="coerce")
            refuse_rows(read.isna() & table[column].notna(), table, column, path, "no number")
        given = table[column].notna()
        if column in WHOLE:
            wrong = given & ((table[column] % 1 != 0) | (table[column] < 0))
            refuse_rows(wrong, table, column, path, "no whole number from 0 on")
        if column == "step":
            refuse_rows(~given, table, column, path, "no step")
        if column in ERRORS:
            wrong = table[column] < 0
            if MODEL_CODE in table:
                wrong &= table["input.size"].notna() if "input.size" in table else False
            refuse_rows(wrong, table, column, path, "an error below 0")
    return table


def refuse_rows(
    wrong: Any, table: pd.DataFrame, column: str, path: Path | str, problem: str
) -> None:
    """Raise UsageError that names the first row for which `wrong` is true, if there is one."""
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        cell = table[column].iloc[place]
        shown = "an empty cell" if cell != cell else repr(str(cell))
        raise UsageError(f"{path}: row {place + 1}: column {column} holds {shown}, {problem}")


def refuse_repeated(rows: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise UsageError for logged rows of two runs of one name, or of one run given twice."""
    again = rows.duplicated(list(columns))
    if again.any():
        row = rows.loc[again].iloc[0]
        remedy = "give each run once, and runs of one name as tables with labels of their own"
        raise UsageError(f"run {row['name']} has step {row['step']} twice; {remedy}")


def parsed_names(
    table: pd.DataFrame,
    parse: Callable[[str, dict[str, Any] | None], Mapping[str, object]],
    path: Path | str,
) -> tuple[np.ndarray, pd.DataFrame]:
    """Return the options of the runs of a table, and which row of them each row has.

    They are made once per run: of the columns from `model_code` on, which a table with the
    configuration of its runs has, else of the name. The threshold of a run's task is the last of
    them, where the table has it. UsageError names the first row whose name is empty or does not
    parse.
    """
    refuse_rows(table["name"].isna(), table, "name", path, "no name of a run")
    codes, names = pd.factorize(table["name"].astype(str))
    firsts = np.unique(codes, return_index=True)[1]
    known: list[Any] = [{}] * len(names)
    if MODEL_CODE in table:
        part = table.iloc[firsts].loc[:, MODEL_CODE:].astype(object)
        # Of scripts without ranges; files hold nothing there.
        part = part.fillna(dict.fromkeys(part.columns.intersection(RANGES), ""))
        known = part.where(part.notna(), None).to_dict("records")
    options = []
    for name, columns, row in zip(names, known, firsts, strict=True):
        own = isinstance(columns.get(MODEL_CODE), str) and isinstance(columns.get("seed"), Real)
        try:
            options.append(parse(name, columns if own else None))
        except ValueError as error:
            problem = f"{path}: row {row + 1}: {error}"
            raise UsageError(f"{problem}; leave out runs of other scripts") from None
    found = pd.DataFrame(options)
    if THRESHOLD in table:
        found[THRESHOLD] = table[THRESHOLD].to_numpy()[firsts]
    return codes, found


RANGES = "interpolation.range", "extrapolation.range"


def groups(table: pd.DataFrame, by: Iterable[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the values of the columns `by` and the rows that have them, in order of appearance.

    A missing value counts as a value.
    """
    for key, group in table.groupby(list(by), sort=False, dropna=False, observed=True):
        yield cast(tuple[Any, ...], key), group


def judge_tables(
    parts: Parts, judgement: setups.Judgement, warn: Warn, models: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return one row per run: options, threshold, outcome. Runs without a threshold are left out.

    parts: names of tables of logged rows, for messages, and the tables.
    models: a label for each part, in place of those that follow from the options of the runs.
    """
    if models is not None and len(models) != len(parts):
        raise UsageError(f"{len(models)} models are named for {len(parts)} files")
    logged, options = [], []
    for i, (path, part) in enumerate(parts):
        require(part, EXPORTED, path, "an export of metrics")
        if part.empty:
            continue
        part = numeric(part, [*EXPORTED[1:], *part.columns.intersection(["seed"])], path)
        logged.append(part)
        options.append(parsed_names(part, setups.expand_name, path)[1])
        if models is not None:
            options[-1]["model"] = models[i]
    if not options:
        raise UsageError(f"there is no run in {', '.join(str(path) for path, _ in parts)}")
    runs = pd.concat(options, keys=range(len(options)))
    twice = runs["name"][runs.duplicated(["model", "name"])].tolist()
    if twice:
        raise UsageError(f"two files hold run {twice[0]}; tell them apart by --models")
    judgement.refuse_unknown()
    runs = with_limits(runs, judgement, warn)
    if runs.empty:
        raise UsageError("no run has a threshold; give --threshold, or other --exp-setups")
    part_of = runs.index.get_level_values(0)
    of_parts = ((rows, runs.loc[part_of == place]) for place, rows in enumerate(logged))
    table = pd.concat(outcomes(*part, judgement.best_range) for part in of_parts)
    table = table.drop(columns=BEST_STEP)
    return pd.DataFrame(sorted(table.to_dict("records"), key=_place))


def with_limits(runs: pd.DataFrame, judgement: setups.Judgement, warn: Warn) -> pd.DataFrame:
    """Return the runs with their thresholds, and say how many are left out for want of one.

    A run of a script that is not arithmetic stays without one: it is not solved.
    """
    limits = judgement.limits(runs)
    thresholds, inclusive = ([limit[i] for limit in limits] for i in range(2))
    runs = runs.assign(**{"threshold": thresholds, INCLUSIVE: inclusive})
    arithmetic = np.array([setups.is_arithmetic(run) for run in runs.to_dict("records")])
    left_out = runs["threshold"].isna() & arithmetic
    unknown = runs.loc[left_out]
    for (operation, tested_on), group in groups(unknown, ["operation", "extrapolation.range"]):
        warn(f"no threshold for {operation} on {tested_on}: {len(group)} runs left out")
    without = runs.loc[runs["threshold"].isna() & ~arithmetic]
    for (task,), group in groups(without, ["operation"]):
        warn(f"no threshold is known for {task}: {len(group)} runs count as not solved; give one")
    return runs.loc[~left_out]


def outcomes(
    rows: pd.DataFrame,
    runs: pd.DataFrame,
    best_range: int = setups.BEST_RANGE,
    also: Sequence[str] = (),
) -> pd.DataFrame:
    """Return runs, each with what came of it: outcome, number of rows, step that it is judged at.

    rows: logged rows of these runs, in any order, and of others.
    runs: one per row, with a name of its own, and when it is solved.
    also: columns whose values at the row that a run is judged at are wanted.
    """
    rows = rows.astype({"name": str})
    rows = rows.loc[rows["name"].isin(runs["name"])]
    refuse_repeated(rows, ["name", "step"])
    logged = dict(groups(rows.sort_values("step", kind="stable"), ["name"]))
    found = []
    for run in runs.to_dict("records"):
        steps = logged[run["name"],]
        outcome = reduce_run(steps, setups.Limit(run["threshold"], run.pop(INCLUSIVE)), best_range)
        best = steps.iloc[outcome["best.model.step"] - 1]
        facts = {"size": len(steps), BEST_STEP: best["step"]}
        found.append(run | outcome | facts | {column: best[column] for column in also})
    return pd.DataFrame(found)


def _place(run: dict) -> tuple:
    """Return where a run stands: operations and training ranges have their usual order."""
    trained_on = run["interpolation.range"]
    orders = (list(setups.OPERATIONS), run["operation"]), (INTERPOLATION_ORDER, trained_on)
    places = [order.index(value) if value in order else len(order) for order, value in orders]
    return *places, trained_on, setups.model_order(run["model"]), run["name"]


def best_row(validation: np.ndarray, best_range: int = setups.BEST_RANGE) -> int:
    """Return the index of the first minimum among the last `best_range` errors.

    Where all of them are missing, that is the last row.
    """
    size = len(validation)
    first = max(0, size - best_range)
    last = validation[first:]
    return size - 1 if np.isnan(last).all() else first + int(np.nanargmin(last))


def best_rows(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the row of each run where a column was lowest, of rows in step order."""
    runs = table.groupby("name", sort=False)[by]
    return table.loc[[own.index[best_row(own.to_numpy(float), len(own))] for _, own in runs]]


def measured_at_the_end(table: pd.DataFrame, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """Return last rows of runs without measures of those that diverged, logged before they did.

    columns: of measures; None: all of them.
    """
    if DIVERGED_AT in table:
        lost = table[DIVERGED_AT].notna()
    elif DIVERGED in table:
        lost = table[DIVERGED].astype(float) == 1
    else:
        return table
    if columns is None:
        columns = [name for name in table if name.startswith("metric.") and "@" not in name]
    return table.assign(**{name: table[name].mask(lost) for name in columns})


def reduce_run(
    rows: pd.DataFrame, limit: setups.Limit, best_range: int = setups.BEST_RANGE
) -> dict:
    """Return the outcome of one run from its rows in step order.

    There is no condition on sparsity, and the first step below the threshold may come before
    the row that the run is judged at. A run that diverged has infinite errors.
    """
    validation = rows[VALIDATION].to_numpy(dtype=float)
    test = rows[TEST].to_numpy(dtype=float)
    if DIVERGED_AT in rows and rows[DIVERGED_AT].notna().any():
        validation, test = np.full_like(validation, np.inf), np.full_like(test, np.inf)
    steps = rows["step"].to_numpy(dtype=float)
    best = best_row(validation, best_range)
    low_enough = limit.met(test)
    return {
        "threshold": limit.threshold,
        "best.model.step": best + 1,
        "interpolation.last": float(validation[best]),
        "extrapolation.last": float(test[best]),
        "interpolation.step.solved": _first(steps, limit.met(validation)),
        "extrapolation.step.solved": _first(steps, low_enough),
        "sparse.error.max": float(rows[SPARSITY].iloc[best]),
        "solved": bool(low_enough[best]),
    }


def _first(steps: np.ndarray, chosen: np.ndarray) -> float:
    return float(steps[np.argmax(chosen)]) if chosen.any() else math.nan


def in_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line of names and one per row, in columns."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    cells = (zip(row, widths, strict=True) for row in (names, *rows))
    return ["  ".join(cell.ljust(width) for cell, width in row).rstrip() for row in cells]


def format_cell(value: object) -> str:
    """Format one cell; a number gets the fewest digits that give the same double."""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if value is None:
        return "NA"
    if isinstance(value, bool | np.bool_):
        return str(value).upper()
    if isinstance(value, Real):
        text = repr(float(value)).removesuffix(".0")
        return {"nan": "NA", "inf": "Inf", "-inf": "-Inf"}.get(text, text)
    raise TypeError(f"no cell for {value!r}")


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write a header and rows in the papers' dialect; a row that lacks a column has NA there."""
    columns = list(columns)
    lines = [columns, *([row.get(column) for column in columns] for row in rows)]
    _write_text(path, "".join(",".join(map(format_cell, line)) + "\n" for line in lines))


def write_frame(path: Path, table: pd.DataFrame) -> None:
    write_table(path, table.columns, table.to_dict("records"))


def write_plain_frame(path: Path, table: pd.DataFrame) -> None:
    """Write a data frame as the exporters do: nothing quoted, a missing cell empty, `inf`."""
    _write_text(path, table.to_csv(index=False))


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    write_plain_frame(path, pd.DataFrame(rows))


def _write_text(path: Path, text: str) -> None:
    try:
        with atomic_text_file(path, named=True) as file:
            file.write(text)
    except BrokenPipeError:  # the reader of standard output has enough
        raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
