"""From judged runs to one row per plotted point: success rate, solved at, sparsity error.

Each has its 95 % interval. Columns have the names of the published tables; in a `Summary`, which
programs get, they have names that one can type. Solved at and sparsity error are of solved runs
only.

The commands show how runs ended: `summarize.py` for groups, `verdict.py` for each.
"""

import argparse
import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from stable_nalu.base.errors import OptionError, UsageError, flagged
from stable_nalu.base.files import refuse_inputs, refuse_one_file
from stable_nalu.base.script import ScriptParser, adder, bar, exit_code, plain, say
from stable_nalu.options.flag import integer, number

from . import setups
from . import table as tables
from .intervals import STATISTICS, bootstrap, wilson
from .latex import escaped, option, tabular
from .means import beta_p_value, gamma_p_value, mean_sparsity, solved_at
from .setups import PUBLISHED, Estimators

_TITLES = {"success.rate": "success rate", "converged.at": "solved at", "sparse.error": "sparsity"}
_LEADING = ("model", "operation", "interpolation.range", "group")
SOLVED, STEP = "solved", "extrapolation.step.solved"
MEASURES = ("success.rate", "converged.at", "sparse.error")

_ALWAYS = ("model", "operation", "interpolation.range", "extrapolation.range")
_MODEL = ("layer.type", "nac.mul", "first.layer", "nalu.bias", "nalu.two.nac", "nalu.two.gate")
_MODEL += ("nalu.mul", "nalu.gate", "nac.weight", "nru.div.mode")
_NEVER = ("name", "seed", "id", "name.prefix", "model_code", *_MODEL, *_ALWAYS)
_TRUTH = {1: True, 0: False, "TRUE": True, "FALSE": False, "True": True, "False": False}


def summarize_group(
    solved: np.ndarray, steps: np.ndarray, sparsity: np.ndarray, how: Estimators = PUBLISHED
) -> dict[str, float]:
    """Return the summary of one group from arrays of one entry per run.

    steps: NaN where a run is not solved.
    """
    steps, sparsity = steps[solved], sparsity[solved]
    steps, sparsity = steps[~np.isnan(steps)], sparsity[~np.isnan(sparsity)]
    rate = wilson(int(solved.sum()), len(solved))
    converged = solved_at(steps, how.gamma_fit)
    sparse = mean_sparsity(sparsity, how.sparsity_fit)
    median, most = (float(f(steps)) if len(steps) else math.nan for f in (np.median, np.max))
    row = _ends("success.rate", rate) | {"success.rate.max": math.nan}
    row |= {"converged.at.median": median, "converged.at.sigma.2": converged.nuisance}
    row |= _ends("converged.at", converged) | {"converged.at.max": most}
    row |= {"sparse.error.v": sparse.nuisance} | _ends("sparse.error", sparse)
    row["sparse.error.max"] = math.nan
    if how.plain:
        draws = {"resamples": how.resamples, "seed": how.seed}
        for measure, values in (("converged.at", steps), ("sparse.error", sparsity)):
            for statistic in STATISTICS:
                ends = _ends(f"{measure}.plain.{statistic}", bootstrap(values, statistic, **draws))
                row |= {name.removesuffix(".mean"): end for name, end in ends.items()}
    if how.goodness_of_fit:
        row["converged.at.ks.p"] = gamma_p_value(steps)
        row["sparse.error.ks.p"] = beta_p_value(sparsity)
    return row


def _ends(name: str, estimate: Sequence[float]) -> dict[str, float]:
    ends = zip(("mean", "lower", "upper"), estimate, strict=False)
    return {f"{name}.{end}": value for end, value in ends}


def solved_of(runs: pd.DataFrame) -> int:
    return int(runs[SOLVED].to_numpy(bool).sum())


def summary_of(runs: pd.DataFrame, estimators: Estimators = PUBLISHED) -> dict[str, float]:
    steps, sparsity = (runs[column].to_numpy(float).tobytes() for column in (STEP, tables.SPARSITY))
    return dict(_summary(runs[SOLVED].to_numpy(bool).tobytes(), steps, sparsity, estimators))


@cache
def _summary(
    solved: bytes, steps: bytes, sparsity: bytes, estimators: Estimators
) -> dict[str, float]:
    """Return the summary; runs that several figures share are summarised once."""
    columns = (np.frombuffer(solved, bool), np.frombuffer(steps), np.frombuffer(sparsity))
    return summarize_group(*columns, estimators)


def summarize(
    runs: pd.DataFrame, by: Iterable[str], estimators: Estimators = PUBLISHED
) -> pd.DataFrame:
    """Return one row per group, in order of appearance.

    runs: one row per run with the columns `by`, `solved`, `extrapolation.step.solved` and
        `sparse.error.max`.
    """
    by = list(by)
    every = bar(list(tables.groups(runs, by)), unit="groups", what="summarising")
    rows = (dict(zip(by, k, strict=True)) | summary_of(group, estimators) for k, group in every)
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
    of_groups = [group for _, group in tables.groups(runs, by)]
    table.insert(len(by), "runs", [len(group) for group in of_groups])
    table.insert(len(by) + 1, "threshold", [setups.shared_threshold(group) for group in of_groups])
    return table


def differing_options(options: Any) -> list[str]:
    """Return the options that differ between runs, besides model, operation, ranges and seed."""
    columns = [column for column in options if column not in _NEVER]
    return [str(c) for c in columns if len(options[c].drop_duplicates()) > 1]


def summarize_solved(path: Path, estimators: Estimators) -> pd.DataFrame:
    """Return one row per group of a plain table of runs, in order of appearance."""
    runs = tables.read_table(path)
    columns = ("group", "seed", SOLVED, STEP, tables.SPARSITY)
    tables.require(runs, columns, path, "a table of solved runs")
    if runs.empty:
        raise UsageError(f"there is no run in {path}")
    wrong = ~runs[SOLVED].isin(list(_TRUTH))
    tables.refuse_rows(wrong, runs, SOLVED, path, "not 0, 1, TRUE or FALSE")
    runs = tables.numeric(runs, (STEP, tables.SPARSITY, "seed"), path)
    runs[SOLVED] = runs[SOLVED].map(_TRUTH)
    for column in (STEP, tables.SPARSITY):
        tables.refuse_rows(runs[column] < 0, runs, column, path, "less than 0")
    unknown = runs[SOLVED] & runs[STEP].isna()
    tables.refuse_rows(unknown, runs, STEP, path, "where the run is solved")
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
        for key, group in tables.groups(runs, by):
            values = group[column].dropna().to_numpy(dtype=float)
            n = len(values)
            # Infinite errors, of runs that diverged, have no deviation.
            with np.errstate(invalid="ignore"):
                deviation = float(np.std(values, ddof=1)) if n > 1 else math.nan
            error = deviation / math.sqrt(n) if n else math.nan
            mean = float(np.mean(values)) if n else math.nan
            ci = error * float(stats.t.ppf(0.975, n - 1)) if n > 1 else math.nan
            found = {"n": n, "mean": mean, "sd": deviation, "se": error, "ci": ci}
            rows.append(dict(zip(by, key, strict=True)) | found | {"metric.type": text})
    return pd.DataFrame(rows)


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

    def to_latex(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, caption: str | None = None, label: str | None = None
    ) -> str:
        """Return a table for a paper, which needs the package booktabs.

        Options that all groups share are left out. Intervals, of 95 %, stand behind the means.

        Args:
            caption: what stands above the table, in LaTeX; it makes the table a float.
            label: what refers to the table; it does so, too.
        """
        if "success_rate" not in self:
            return str(pd.DataFrame(self).to_latex(index=False, caption=caption, label=label))
        options = list(self.columns[: self.columns.get_loc("n")])
        shown = [c for c in options if c == "model" or len(set(map(str, self[c]))) > 1]
        heads = [*(escaped(c.replace("_", " ").capitalize()) for c in shown), "$n$"]
        rows = [
            [*(option(c, row[c]) for c in shown), str(row["n"]), *_measures(row)]
            for row in self.to_dict("records")
        ]
        columns = f"{'l' * len(shown)}rrrr"
        return tabular(columns, [*heads, *_HEADS.values()], rows, caption, label)


def _measures(row: dict) -> Iterable[str]:
    """Yield the cells of the three measures: percent, steps, and a share in powers of ten."""

    def steps(value: float) -> str:
        return "" if math.isnan(value) else f"{value:,.0f}".replace(",", r"\,")

    shows = (lambda value: rf"{100 * value:.0f}\,\%", steps, _scientific)
    for measure, show in zip(("success", "solved_at", "sparsity"), shows, strict=True):
        mean = row["success_rate" if measure == "success" else measure]
        low, high = show(row[f"{measure}_low"]), show(row[f"{measure}_high"])
        text = "--" if math.isnan(mean) else show(mean)
        yield f"{text} [{low}, {high}]" if low and high and text != "--" else text


def _scientific(value: float) -> str:
    if math.isnan(value):
        return ""
    if value == 0 or abs(value) >= 0.01:
        return f"{value:.2g}"
    digits, power = f"{value:.1e}".split("e")
    return rf"${digits} \cdot 10^{{{int(power)}}}$"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    text = "Summarise finished runs: success rate, solved at, sparsity error, with 95 % intervals."
    parser = ScriptParser(prog="summarize.py", description=text)
    source = parser.add_argument_group("runs")
    add = adder(source.add_mutually_exclusive_group(required=True))
    add("--csv PATH ...", "files of export/simple_function_static.py")
    text = "or a table of judged runs with the columns group, seed, solved, "
    add("--solved-csv PATH", f"{text}extrapolation.step.solved and sparse.error.max")
    text = "a model label for each file of --csv (default: from the run names)"
    adder(source)("--models LABEL ...", text)
    add = adder(parser.add_argument_group("when a run of --csv is solved"))
    setups.add_threshold_flags(add)
    text = "rows of the tables to use, such as zero.range.hard (default: those of a run's script "
    add("--parameter NAME", f"{text}and model)")
    text = "judge at the lowest validation error of the last N rows"
    add("--best-range N", text, type=integer(1).one, usual=setups.BEST_RANGE)
    add = adder(parser.add_argument_group("means and intervals (defaults: as published)"))
    text = "group by these options (default: model, operation, ranges and what else differs)"
    add("--by COLUMN ...", text)
    setups.add_estimate_flags(add)
    add("--plain", "add the plain mean and median with bootstrap intervals")
    text = "add p values of Kolmogorov-Smirnov tests of the fitted gamma and beta densities"
    add("--goodness-of-fit", text)
    add("--bootstrap-samples N", type=integer(1).one, default=10_000)
    add("--bootstrap-seed N", type=integer(0).one, default=0)
    add = adder(parser.add_argument_group("what to write"))
    add("--csv-out PATH", "a table of one row per group (default: the terminal)")
    add("--seeds-csv-out PATH", "also one row per run of --csv")
    return parser.parse_args(argv)


def _summarize(args: argparse.Namespace) -> None:
    given = [Path(p) for p in args.exp_setups]
    inputs = [*map(Path, args.csv or [args.solved_csv]), *(given or setups.SHIPPED)]
    named = {"--csv-out": args.csv_out, "--seeds-csv-out": args.seeds_csv_out}
    outputs = {flag: Path(path) for flag, path in named.items() if path is not None}
    refuse_inputs(outputs.values(), inputs)
    refuse_one_file(outputs)
    resampled = args.bootstrap_samples, args.bootstrap_seed
    fits = args.gamma_fit, args.sparsity_fit
    estimators = Estimators(*fits, args.plain, *resampled, args.goodness_of_fit)
    if args.solved_csv:
        for flag in ("--models", "--by", "--seeds-csv-out"):
            if getattr(args, flag[2:].replace("-", "_")):
                raise OptionError(flag, "goes with --csv only", "leave it out")
        with flagged("--solved-csv"):
            table = summarize_solved(Path(args.solved_csv), estimators)
    else:
        judgement = setups.Judgement(parameter=args.parameter, best_range=args.best_range)
        judgement, warn = judgement.given(args.threshold, given), partial(print, file=sys.stderr)
        with flagged("--csv"):
            logged = [(path, tables.read_table(path)) for path in map(Path, args.csv)]
            runs = tables.judge_tables(logged, judgement, warn, args.models)
        table = summarize_runs(runs, args.by, estimators)
        if args.seeds_csv_out is not None:
            tables.write_frame(outputs["--seeds-csv-out"], runs)
    if args.csv_out is not None:
        tables.write_frame(outputs["--csv-out"], table)
    else:
        sys.stdout.write(as_text(table, shutil.get_terminal_size().columns))


def main(argv: Sequence[str] | None = None) -> int:
    args = _arguments(argv)
    return exit_code("summarize.py", lambda: _summarize(args))


Columns = dict[str, list[tuple[str, str]]]
"""Column of a text -> its values, each with its 95 % interval where it has one."""


def as_text(table: pd.DataFrame, width: int) -> str:
    """Return a summary: one line per group, or two if intervals do not fit behind the means.

    Options that all groups share are named above the table. If two lines are still too wide,
    options that follow from model and training range are left out, and as a last resort every group
    is a block of lines.
    """
    measures = [c for c in table if str(c).startswith(tuple(_TITLES))]
    names = [str(c) for c in table if c not in measures and c != "runs"]
    options = {name: [_shown(name, value) for value in table[name]] for name in names}
    shared = {n: v[0] for n, v in options.items() if len(table) > 1 and len(set(v)) == 1}
    columns = {_title(n): [(o, "") for o in v] for n, v in options.items() if n not in shared}
    if "runs" in table:
        columns["runs"] = [(str(n), "") for n in table["runs"]]
    for column in measures:
        columns |= _measure(table, str(column))
    above = [f"{_title(name)}: {value}" for name, value in shared.items()]
    leading = [name for name in _LEADING if name in options]
    places = list(zip(*map(options.__getitem__, leading), strict=True))
    following = [
        _title(name)
        for name in options.keys() - shared.keys() - {*leading}
        if len({*zip(places, options[name], strict=False)}) == len({*places})
    ]
    lines = _fitting(columns, sorted(following), width)
    return "\n".join([*above, *lines, "With 95 % intervals; '-': no run is solved."]) + "\n"


def _fitting(columns: Columns, following: list[str], width: int) -> list[str]:
    rows = list(zip(*columns.values(), strict=True))
    shown = [[f"{value} ({ends})" if ends else value for value, ends in row] for row in rows]

    def below(columns: Columns) -> list[str]:
        """Return values above their intervals, below names of two lines."""
        heads = [name.partition(" ") for name in columns]
        cells = [[rest for _, _, rest in heads]]
        for row in zip(*columns.values(), strict=True):
            cells += map(list, zip(*row, strict=True))
        return [line for line in tables.in_columns([first for first, _, _ in heads], cells) if line]

    beside = tables.in_columns(list(columns), shown)
    fewer = {name: cells for name, cells in columns.items() if name not in following}
    left_out = f"Left out, see --csv-out: {', '.join(following)}."
    for lines, note in ((beside, ""), (below(columns), ""), (below(fewer), left_out)):
        if max(map(len, lines)) <= width:
            return [*lines, *textwrap.wrap(note, width)]
    blocks = ([*(f"{n}: {c}" for n, c in zip(columns, row, strict=True)), ""] for row in shown)
    return [line for block in blocks for line in block]


def _title(name: str) -> str:
    return name.replace(".", " ")


def _shown(column: object, value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return setups.operation_label(value) if column == "operation" else plain(str(value))


def _measure(table: pd.DataFrame, column: str) -> Columns:
    """Return the column of a mean with its interval, or of a p value; nothing for all others."""
    base = column.removesuffix(".mean")
    ends = next((e for e in (column, base) if f"{e}.lower" in table), None)
    if ends is None and not column.endswith(".ks.p"):
        return {}
    name = next(name for name in _TITLES if column.startswith(name))
    rest = _title(column.removeprefix(name).removesuffix(".mean" if column != ends else ""))
    factor, unit = (100, " %") if name == "success.rate" else (1, "")
    cells = [(f"{_number(factor * value)}{unit}", "") for value in table[column]]
    if ends is not None:
        bounds = zip(factor * table[f"{ends}.lower"], factor * table[f"{ends}.upper"], strict=True)
        texts = ["" if a != a else f"{_number(a)}–{_number(b)}{unit}" for a, b in bounds]
        cells = [(value, text) for (value, _), text in zip(cells, texts, strict=True)]
    return {_TITLES[name] + rest: cells}


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if 10 <= value < math.inf else f"{value:.2g}"


def verdict(argv: Sequence[str] | None = None) -> int:
    """Print a line for each run; the exit code is 0 when there is one, solved or not."""
    text = "Say of every run in an exported CSV file whether it solved its task: one line each."
    parser = ScriptParser(prog="verdict.py", description=text)
    add = adder(parser)
    add("--csv PATH", "file of the exporter", required=True)
    text = "extrapolation error below which a run counts as solved (default: that of its task)"
    add("--threshold MSE", text, type=number(above=0).one)
    args = parser.parse_args(argv)

    def tell() -> None:
        try:
            for line in _verdicts(Path(args.csv), args.threshold):
                say(line)
        except UsageError as error:
            raise UsageError(f"argument --csv: {error}") from error

    return exit_code("verdict.py", tell)


def _verdicts(path: Path, threshold: float | None) -> list[str]:
    table = tables.read_table(path)
    tables.require(table, tables.EXPORTED, path, "an export of export/simple_function_static.py")
    table = tables.numeric(table, tables.EXPORTED[1:], path)
    if table.empty:
        raise UsageError(f"there is no run in {path}")
    verdicts = {}
    for (name,), rows in tables.groups(table.astype({"name": str}), ["name"]):
        found = tables.reduce_run(rows, setups.limit_of(name, threshold))
        facts = f"extrapolation error {found['extrapolation.last']:.3g}, "
        facts += f"threshold {found['threshold']:g}, "
        facts += f"sparsity error {found['sparse.error.max']:.3g}"
        verdicts[name] = f"not solved in {int(rows['step'].iloc[-1])} steps ({facts})"
        if found["solved"]:
            step = int(found["extrapolation.step.solved"])
            verdicts[name] = f"success: solved at step {step} ({facts})"
    several = len(verdicts) > 1
    return [f"{line}: {name}" if several else line for name, line in verdicts.items()]
