"""The commands that show how runs ended: `summarize.py` for groups, `verdict.py` for each."""

import argparse
import math
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import refuse_inputs, refuse_one_file
from stable_nalu.base.script import ScriptParser, exit_code, plain
from stable_nalu.options.flag import integer, number

from .judge import EXPORTED, judge_tables, reduce_run
from .names import operation_label
from .setups import (
    BEST_RANGE,
    SHIPPED,
    Estimators,
    Judgement,
    add_estimate_flags,
    add_threshold_flags,
    limit_of,
)
from .summary import summarize_runs, summarize_solved
from .table import groups, in_columns, numeric, read_table, require, write_frame

_TITLES = {"success.rate": "success rate", "converged.at": "solved at", "sparse.error": "sparsity"}
_LEADING = ("model", "operation", "interpolation.range", "group")


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(
        prog="summarize.py",
        description="Summarise finished runs: success rate, solved at, sparsity error, with 95 % "
        "intervals.",
    )
    source = parser.add_argument_group("runs")
    kind = source.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--csv", metavar="PATH", nargs="+", help="files of export/simple_function_static.py"
    )
    kind.add_argument(
        "--solved-csv",
        metavar="PATH",
        help="or a table of judged runs with the columns group, seed, solved, "
        "extrapolation.step.solved and sparse.error.max",
    )
    source.add_argument(
        "--models",
        metavar="LABEL",
        nargs="+",
        help="a model label for each file of --csv (default: from the run names)",
    )
    _add_judgement_flags(parser)
    estimates = parser.add_argument_group("means and intervals (defaults: as published)")
    estimates.add_argument(
        "--by",
        metavar="COLUMN",
        nargs="+",
        help="group by these options (default: model, operation, ranges and what else differs)",
    )
    add_estimate_flags(estimates)
    estimates.add_argument(
        "--plain",
        action="store_true",
        help="add the plain mean and median with bootstrap intervals",
    )
    estimates.add_argument(
        "--goodness-of-fit",
        action="store_true",
        help="add p values of Kolmogorov-Smirnov tests of the fitted gamma and beta densities",
    )
    estimates.add_argument("--bootstrap-samples", metavar="N", type=integer(1).one, default=10_000)
    estimates.add_argument("--bootstrap-seed", metavar="N", type=integer(0).one, default=0)
    output = parser.add_argument_group("what to write")
    output.add_argument(
        "--csv-out", metavar="PATH", help="a table of one row per group (default: the terminal)"
    )
    output.add_argument("--seeds-csv-out", metavar="PATH", help="also one row per run of --csv")
    return parser.parse_args(argv)


def _add_judgement_flags(parser: ScriptParser) -> None:
    judged = parser.add_argument_group("when a run of --csv is solved")
    add_threshold_flags(judged)
    judged.add_argument(
        "--parameter",
        metavar="NAME",
        help="rows of the tables to use, such as zero.range.hard (default: those of a run's script "
        "and model)",
    )
    judged.add_argument(
        "--best-range",
        metavar="N",
        type=integer(1).one,
        default=BEST_RANGE,
        help="judge at the lowest validation error of the last N rows (default: %(default)s)",
    )


def summarize(args: argparse.Namespace) -> None:
    """Read, judge and estimate, then write or show the summary."""
    setups = [Path(p) for p in args.exp_setups]
    inputs = [*map(Path, args.csv or [args.solved_csv]), *(setups or SHIPPED)]
    named = {"--csv-out": args.csv_out, "--seeds-csv-out": args.seeds_csv_out}
    outputs = {flag: Path(path) for flag, path in named.items() if path is not None}
    refuse_inputs(outputs.values(), inputs)
    refuse_one_file(outputs)
    resampled = args.bootstrap_samples, args.bootstrap_seed
    estimators = Estimators(
        args.gamma_fit, args.sparsity_fit, args.plain, *resampled, args.goodness_of_fit
    )
    if args.solved_csv:
        for flag in ("--models", "--by", "--seeds-csv-out"):
            if getattr(args, flag[2:].replace("-", "_")):
                raise OptionError(flag, "goes with --csv only", "leave it out")
        _give(summarize_solved(Path(args.solved_csv), estimators), args.csv_out)
        return
    judgement = Judgement(parameter=args.parameter, best_range=args.best_range)
    runs = judge_tables(
        [(path, read_table(path)) for path in map(Path, args.csv)],
        judgement.given(args.threshold, setups),
        lambda text: sys.stderr.write(f"{text}\n"),
        args.models,
    )
    table = summarize_runs(runs, args.by, estimators)
    if args.seeds_csv_out is not None:
        write_frame(Path(args.seeds_csv_out), runs)
    _give(table, args.csv_out)


def _give(table: pd.DataFrame, path: str | None) -> None:
    """Write the summary to the file that is named, or show it."""
    if path is not None:
        write_frame(Path(path), table)
        return
    sys.stdout.write(as_text(table, shutil.get_terminal_size().columns))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the summary; the result is the exit code."""
    args = parse_arguments(argv)
    return exit_code("summarize.py", lambda: summarize(args))


class _Cell(NamedTuple):
    """A value, and its 95 % interval where it has one."""

    value: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.value} ({self.interval})" if self.interval else self.value


def as_text(table: pd.DataFrame, width: int) -> str:
    """Return a summary: one line per group, two where intervals would not fit beside the means.

    Options that all groups share are named above the table. Where two lines are still too wide,
    options that follow from model and training range are left out, and at last every group is a
    block of lines.
    """
    measures = [c for c in table if str(c).startswith(tuple(_TITLES))]
    names = [str(c) for c in table if c not in measures and c != "runs"]
    options = {name: [_option(name, value) for value in table[name]] for name in names}
    shared = {n: v[0] for n, v in options.items() if len(table) > 1 and len(set(v)) == 1}
    columns = {_title(n): [_Cell(o) for o in v] for n, v in options.items() if n not in shared}
    if "runs" in table:
        columns["runs"] = [_Cell(str(n)) for n in table["runs"]]
    for column in measures:
        columns |= _measure(table, str(column))
    lines = _fitting(columns, [_title(name) for name in _following(options) - shared.keys()], width)
    above = [f"{_title(name)}: {value}" for name, value in shared.items()]
    return "\n".join([*above, *lines, "With 95 % intervals; '-': no run is solved."]) + "\n"


def _following(options: dict[str, list[str]]) -> set[str]:
    """Return the options that a group's model, operation and training range determine."""
    leading = [name for name in _LEADING if name in options]
    groups = list(zip(*map(options.__getitem__, leading), strict=True))
    return {
        name
        for name, values in options.items()
        if name not in leading and len({*zip(groups, values, strict=False)}) == len({*groups})
    }


def _fitting(columns: dict[str, list[_Cell]], following: list[str], width: int) -> list[str]:
    fewer = {name: cells for name, cells in columns.items() if name not in following}
    left_out = f"Left out, see --csv-out: {', '.join(sorted(following))}."
    for lines, note in ((_beside(columns), ""), (_below(columns), ""), (_below(fewer), left_out)):
        if max(map(len, lines)) <= width:
            return [*lines, *textwrap.wrap(note, width)]
    return _blocks(columns)


def _title(name: str) -> str:
    return name.replace(".", " ")


def _option(column: object, value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return operation_label(value) if column == "operation" else plain(str(value))


def _measure(table: pd.DataFrame, column: str) -> dict[str, list[_Cell]]:
    """Return the column of a mean with its interval, or of a p value; nothing for all others."""
    base = column.removesuffix(".mean")
    ends = next((e for e in (column, base) if f"{e}.lower" in table), None)
    if ends is None and not column.endswith(".ks.p"):
        return {}
    name = next(name for name in _TITLES if column.startswith(name))
    rest = _title(column.removeprefix(name).removesuffix(".mean" if column != ends else ""))
    if ends is None:
        return {_TITLES[name] + rest: [_Cell(_number(v)) for v in table[column]]}
    factor, unit = (100, " %") if name == "success.rate" else (1, "")
    rows = zip(table[column], table[f"{ends}.lower"], table[f"{ends}.upper"], strict=True)
    return {
        _TITLES[name] + rest: [
            _Cell(
                f"{_number(factor * mean)}{unit}",
                "" if low != low else f"{_number(factor * low)}–{_number(factor * high)}{unit}",
            )
            for mean, low, high in rows
        ]
    }


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if 10 <= value < math.inf else f"{value:.2g}"


def _beside(columns: dict[str, list[_Cell]]) -> list[str]:
    return in_columns(list(columns), [list(map(str, row)) for row in _rows(columns)])


def _below(columns: dict[str, list[_Cell]]) -> list[str]:
    """Return values above their intervals, below names of two lines."""
    heads = [name.partition(" ") for name in columns]
    rows = [[rest for _, _, rest in heads]]
    for cells in _rows(columns):
        rows += [[cell.value for cell in cells], [cell.interval for cell in cells]]
    return [line for line in in_columns([first for first, _, _ in heads], rows) if line]


def _blocks(columns: dict[str, list[_Cell]]) -> list[str]:
    lines: list[str] = []
    for cells in _rows(columns):
        lines += [f"{name}: {cell}" for name, cell in zip(columns, cells, strict=True)] + [""]
    return lines


def _rows(columns: dict[str, list[_Cell]]) -> list[tuple[_Cell, ...]]:
    return list(zip(*columns.values(), strict=True))


def verdict(argv: Sequence[str] | None = None) -> int:
    """Print a line for each run; the exit code is 0 when there is one, solved or not."""
    parser = ScriptParser(
        prog="verdict.py",
        description="Say of every run in an exported CSV file whether it solved its task: one line "
        "each.",
    )
    parser.add_argument("--csv", metavar="PATH", required=True, help="file of the exporter")
    parser.add_argument(
        "--threshold",
        metavar="MSE",
        type=number(above=0).one,
        help="extrapolation error below which a run counts as solved (default: that of its task)",
    )
    args = parser.parse_args(argv)

    def tell() -> None:
        try:
            verdicts = _verdicts(Path(args.csv), args.threshold)
        except UsageError as error:
            raise UsageError(f"argument --csv: {error}") from error
        for name, line in verdicts.items():
            sys.stdout.write(f"{line}: {name}\n" if len(verdicts) > 1 else f"{line}\n")

    return exit_code("verdict.py", tell)


def _verdicts(path: Path, threshold: float | None) -> dict[str, str]:
    """Return run name -> verdict, in the order of the file."""
    table = read_table(path)
    require(table, EXPORTED, path, "an export of export/simple_function_static.py")
    table = numeric(table, EXPORTED[1:], path)
    if table.empty:
        raise UsageError(f"there is no run in {path}")
    verdicts = {}
    for (name,), rows in groups(table.astype({"name": str}), ["name"]):
        found = reduce_run(rows, limit_of(name, threshold))
        facts = (
            f"extrapolation error {found['extrapolation.last']:.3g}, "
            f"threshold {found['threshold']:g}, sparsity error {found['sparse.error.max']:.3g}"
        )
        if found["solved"]:
            step = int(found["extrapolation.step.solved"])
            verdicts[name] = f"success: solved at step {step} ({facts})"
        else:
            verdicts[name] = f"not solved in {int(rows['step'].iloc[-1])} steps ({facts})"
    return verdicts
