"""Summarise finished runs: success rate, solved at, sparsity error, with 95 % intervals."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.errors import OptionError
from stable_nalu.options.kinds import integer
from stable_nalu.script import ScriptParser, exit_code

from .estimators import BEST_RANGE, Estimators, add_estimate_flags, add_threshold_flags
from .table import write_frame
from .terminal import as_text

if TYPE_CHECKING:
    import pandas as pd


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(prog="summarize.py", description=__doc__)
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
    from stable_nalu.files import refuse_inputs, refuse_one_file

    from .judge import Judgement, judge_runs
    from .setups import SHIPPED
    from .summary import summarize_runs, summarize_solved

    setups = [Path(p) for p in args.exp_setups]
    inputs = [*map(Path, args.csv or [args.solved_csv]), *(setups or SHIPPED)]
    named = {"--csv-out": args.csv_out, "--seeds-csv-out": args.seeds_csv_out}
    outputs = {flag: Path(path) for flag, path in named.items() if path is not None}
    refuse_inputs(outputs.values(), inputs)
    refuse_one_file(outputs)
    estimators = Estimators(
        args.gamma_fit,
        args.sparsity_fit,
        args.plain,
        args.bootstrap_samples,
        args.bootstrap_seed,
        args.goodness_of_fit,
    )
    if args.solved_csv:
        for flag in ("--models", "--by", "--seeds-csv-out"):
            if getattr(args, flag[2:].replace("-", "_")):
                raise OptionError(flag, "goes with --csv only", "leave it out")
        _give(summarize_solved(Path(args.solved_csv), estimators), args.csv_out)
        return
    judgement = Judgement(setups, args.threshold, args.parameter, args.best_range)
    runs = judge_runs(
        [Path(p) for p in args.csv],
        judgement,
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
    else:
        sys.stdout.write(as_text(table, shutil.get_terminal_size().columns))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the summary; the result is the exit code."""
    args = parse_arguments(argv)
    return exit_code("summarize.py", lambda: summarize(args))
