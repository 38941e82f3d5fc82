"""From judged runs to one row per plotted point: success rate, solved at, sparsity error.

Each has its 95 % interval. Columns have the names of the published tables; in a `Summary`, which
programs get, they have names that one can type. Solved at and sparsity error are of solved runs
only.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import bar

from .intervals import STATISTICS, bootstrap, wilson
from .judge import SPARSITY
from .means import beta_p_value, gamma_p_value, mean_sparsity, solved_at
from .names import operation_label
from .setups import PUBLISHED, Estimators, shared_threshold
from .table import groups, numeric, read_table, refuse_rows, require

SOLVED, STEP = "solved", "extrapolation.step.solved"
MEASURES = ("success.rate", "converged.at", "sparse.error")

_ALWAYS = ("model", "operation", "interpolation.range", "extrapolation.range")
_MODEL = ("layer.type", "nac.mul", "first.layer", "nalu.bias", "nalu.two.nac", "nalu.two.gate")
_MODEL += ("nalu.mul", "nalu.gate", "nac.weight", "nru.div.mode")
_NEVER = ("name", "seed", "id", "name.prefix", "model_code", *_MODEL, *_ALWAYS)
_TRUTH = {1: True, 0: False, "TRUE": True, "FALSE": False, "True": True, "False": False}


def summarize_group(
    solved: np.ndarray,
    steps: np.ndarray,
    sparsity: np.ndarray,
    estimators: Estimators = PUBLISHED,
) -> dict[str, float]:
    """Return the summary of one group from arrays of one entry per run.

    steps: NaN where a run is not solved.
    """
    steps, sparsity = steps[solved], sparsity[solved]
    steps, sparsity = steps[~np.isnan(steps)], sparsity[~np.isnan(sparsity)]
    rate = wilson(int(solved.sum()), len(solved))
    converged = solved_at(steps, estimators.gamma_fit)
    sparse = mean_sparsity(sparsity, estimators.sparsity_fit)
    row = {
        "success.rate.mean": rate.mean,
        "success.rate.lower": rate.lower,
        "success.rate.upper": rate.upper,
        "success.rate.max": math.nan,
        "converged.at.median": float(np.median(steps)) if len(steps) else math.nan,
        "converged.at.sigma.2": converged.nuisance,
        "converged.at.mean": converged.mean,
        "converged.at.lower": converged.lower,
        "converged.at.upper": converged.upper,
        "converged.at.max": float(np.max(steps)) if len(steps) else math.nan,
        "sparse.error.v": sparse.nuisance,
        "sparse.error.mean": sparse.mean,
        "sparse.error.lower": sparse.lower,
        "sparse.error.upper": sparse.upper,
        "sparse.error.max": math.nan,
    }
    if estimators.plain:
        row |= _plain("converged.at", steps, estimators)
        row |= _plain("sparse.error", sparsity, estimators)
    if estimators.goodness_of_fit:
        row["converged.at.ks.p"] = gamma_p_value(steps)
        row["sparse.error.ks.p"] = beta_p_value(sparsity)
    return row


def solved_of(runs: pd.DataFrame) -> int:
    """Return how many of these runs are solved."""
    return int(runs[SOLVED].to_numpy(bool).sum())


def summary_of(runs: pd.DataFrame, estimators: Estimators = PUBLISHED) -> dict[str, float]:
    """Return the summary of some judged runs."""
    steps, sparsity = (runs[column].to_numpy(float).tobytes() for column in (STEP, SPARSITY))
    return dict(_summary(runs[SOLVED].to_numpy(bool).tobytes(), steps, sparsity, estimators))


@functools.cache
def _summary(
    solved: bytes, steps: bytes, sparsity: bytes, estimators: Estimators
) -> dict[str, float]:
    """Return the summary; runs that several figures share are summarised once."""
    columns = (np.frombuffer(solved, bool), np.frombuffer(steps), np.frombuffer(sparsity))
    return summarize_group(*columns, estimators)


def _plain(measure: str, values: np.ndarray, estimators: Estimators) -> dict[str, float]:
    row = {}
    for statistic in STATISTICS:
        found = bootstrap(values, statistic, resamples=estimators.resamples, seed=estimators.seed)
        column = f"{measure}.plain.{statistic}"
        row |= {column: found.mean, f"{column}.lower": found.lower, f"{column}.upper": found.upper}
    return row


def summarize(
    runs: pd.DataFrame, by: Iterable[str], estimators: Estimators = PUBLISHED
) -> pd.DataFrame:
    """Return one row per group, in order of appearance.

    runs: one row per run with the columns `by`, `solved`, `extrapolation.step.solved` and
        `sparse.error.max`.
    """
    by = list(by)
    rows = []
    every = list(groups(runs, by))
    for key, group in bar(every, unit="groups", what="summarising"):
        rows.append(dict(zip(by, key, strict=True)) | summary_of(group, estimators))
    return pd.DataFrame(rows)


def summarize_runs(
    runs: pd.DataFrame, by: Sequence[str] | None, estimators: Estimators
) -> pd.DataFrame:
    """Return one row per group of judged runs: how many `runs`, their `threshold`, the summary.

    The threshold is missing where runs of a group have several.

    by: options that tell groups apart; None means model, operation, ranges and every other option
        that differs.
    """
    options = list(runs.columns)[: list(runs.columns).index("threshold")]
    unknown = [column for column in by or () if column not in options]
    if unknown:
        known = ", ".join(o for o in options if o not in ("name", "model_code"))
        raise UsageError(f"no option {', '.join(map(str, unknown))}; one of {known}")
    by = list(by or (*_ALWAYS, *differing_options(runs[options])))
    table = summarize(runs, by, estimators)
    of_groups = [group for _, group in groups(runs, by)]
    table.insert(len(by), "runs", [len(group) for group in of_groups])
    table.insert(len(by) + 1, "threshold", [shared_threshold(group) for group in of_groups])
    return table


def differing_options(options: Any) -> list[str]:
    """Return the options that differ between runs, besides model, operation, ranges and seed."""
    columns = [column for column in options if column not in _NEVER]
    return [str(c) for c in columns if len(options[c].drop_duplicates()) > 1]


def summarize_solved(path: Path, estimators: Estimators) -> pd.DataFrame:
    """Return one row per group of a plain table of runs, in order of appearance."""
    runs = read_table(path)
    require(runs, ("group", "seed", SOLVED, STEP, SPARSITY), path, "a table of solved runs")
    if runs.empty:
        raise UsageError(f"there is no run in {path}")
    wrong = ~runs[SOLVED].isin(list(_TRUTH))
    refuse_rows(wrong, runs, SOLVED, path, "not 0, 1, TRUE or FALSE")
    runs = numeric(runs, (STEP, SPARSITY, "seed"), path)
    runs[SOLVED] = runs[SOLVED].map(_TRUTH)
    for column in (STEP, SPARSITY):
        refuse_rows(runs[column] < 0, runs, column, path, "less than 0")
    refuse_rows(runs[SOLVED] & runs[STEP].isna(), runs, STEP, path, "where the run is solved")
    runs["group"] = runs["group"].astype(str)
    return summarize(runs, ["group"], estimators)


def mean_summary(
    runs: pd.DataFrame, by: Iterable[str], measures: Mapping[str, str]
) -> pd.DataFrame:
    """Return n, mean, sd, se = sd/sqrt(n) and ci = t(0.975, n-1) se per group and measure.

    measures: column of `runs` -> text of the column `metric.type`. Missing values are left out.
    """
    by = list(by)
    rows = []
    for column, text in measures.items():
        for key, group in groups(runs, by):
            values = group[column].to_numpy(dtype=float)
            identity = dict(zip(by, key, strict=True))
            rows.append(identity | _moments(values[~np.isnan(values)]) | {"metric.type": text})
    return pd.DataFrame(rows)


def _moments(values: np.ndarray) -> dict[str, float]:
    n = len(values)
    # Infinite errors, of runs that diverged, have no deviation.
    with np.errstate(invalid="ignore"):
        deviation = float(np.std(values, ddof=1)) if n > 1 else math.nan
    error = deviation / math.sqrt(n) if n else math.nan
    return {
        "n": n,
        "mean": float(np.mean(values)) if n else math.nan,
        "sd": deviation,
        "se": error,
        "ci": error * float(stats.t.ppf(0.975, n - 1)) if n > 1 else math.nan,
    }


def long_form(summary: pd.DataFrame, by: Iterable[str]) -> pd.DataFrame:
    """Return the summary with one row per group and measure, as the plots' side files hold it.

    The column `our.model` marks NMU and NAU.
    """
    by = list(by)
    parts = []
    for measure in MEASURES:
        part = summary[by].copy()
        part["key"] = measure
        for column in ("mean", "upper", "lower", "max"):
            part[f"{column}.value"] = summary[f"{measure}.{column}"]
        parts.append(part)
    table = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
    table["our.model"] = table["model"].isin(["NMU", "NAU"])
    return table


_LEFT_OUT = {
    *("success.rate.max", "converged.at.median", "converged.at.sigma.2", "converged.at.max"),
    *("sparse.error.v", "sparse.error.max"),
}
_WORDS = {
    "success.rate.mean": "success_rate",
    "success.rate": "success",
    "converged.at": "solved_at",
    "sparse.error": "sparsity",
    "lower": "low",
    "upper": "high",
    "runs": "n",
}
_HEADS = {"success": "Success rate", "solved_at": "Solved at", "sparsity": "Sparsity error"}


def technical_name(name: str) -> str:
    """Return the column of an option, given as the argument of `train` is called."""
    return name.replace("_", ".")


def typed_summary(table: pd.DataFrame) -> "Summary":
    """Return a summary without the columns that only the papers' scripts need, renamed."""
    kept = table.drop(columns=[column for column in table if column in _LEFT_OUT])
    return Summary(kept.rename(columns=typed_name))


def typed_name(column: str) -> str:
    """Return a column without dots; an option has the name of the argument of `train`."""
    for word, other in _WORDS.items():
        column = column.replace(word, other)
    plain = ".plain." in column
    return (column if plain else column.removesuffix(".mean")).replace(".", "_")


class Summary(pd.DataFrame):
    """One row per group of runs."""

    def to_latex(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a table for a paper, which needs the package booktabs.

        Options that all groups share are left out. Intervals, of 95 %, stand behind the means.
        """
        if "success_rate" not in self:
            return str(pd.DataFrame(self).to_latex(index=False))
        options = list(self.columns[: self.columns.get_loc("n")])
        shown = [c for c in options if c == "model" or len(set(map(str, self[c]))) > 1]
        heads = [*(_escaped(c.replace("_", " ").capitalize()) for c in shown), "$n$"]
        body = [
            [*(_option(c, row[c]) for c in shown), str(row["n"]), *_measures(row)]
            for row in self.to_dict("records")
        ]
        lines = [rf"\begin{{tabular}}{{{'l' * len(shown)}rrrr}}", r"\toprule"]
        lines += [_line([*heads, *_HEADS.values()]), r"\midrule", *map(_line, body)]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _option(column: str, value: object) -> str:
    if column == "operation":
        return operation_label(str(value), latex=True)
    if column == "model":
        return _escaped(str(value)) if "$" not in str(value) else str(value)
    if isinstance(value, float):
        return "--" if math.isnan(value) else f"{value:g}"
    return _escaped(str(value)).replace("∪", r"$\cup$")


def _escaped(text: str) -> str:
    for character in "_%&#":
        text = text.replace(character, f"\\{character}")
    return text


def _measures(row: dict) -> Iterable[str]:
    """Yield the cells of the three measures: percent, steps, and a share in powers of ten."""
    rate = (row[c] for c in ("success_rate", "success_low", "success_high"))
    yield _cell([rf"{100 * value:.0f}\,\%" for value in rate])
    for measure, show in (("solved_at", _steps), ("sparsity", _scientific)):
        values = [row[measure + end] for end in ("", "_low", "_high")]
        yield "--" if math.isnan(values[0]) else _cell([show(v) for v in values])


def _cell(texts: list[str]) -> str:
    mean, low, high = texts
    return f"{mean} [{low}, {high}]" if low and high else mean


def _steps(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.0f}".replace(",", r"\,")


def _scientific(value: float) -> str:
    if math.isnan(value):
        return ""
    if value == 0 or abs(value) >= 0.01:
        return f"{value:.2g}"
    digits, power = f"{value:.1e}".split("e")
    return rf"${digits} \cdot 10^{{{int(power)}}}$"
