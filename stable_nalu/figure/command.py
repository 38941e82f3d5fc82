"""Draw figures and write tables of the papers from exported CSV files, or figures of your own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.errors import OptionError
from stable_nalu.machine import CSV_FOLDER
from stable_nalu.options.kinds import file_name
from stable_nalu.script import ScriptParser, exit_code
from stable_nalu.statistics.setups import Estimators, add_estimate_flags, add_threshold_flags

EXAMPLES = """examples:
  plot.py --list
  plot.py nips-sltr-in2 --csv-dir results/csv --out-dir results/plots --format pdf png
  plot.py --csv results/mine.csv --kind range --label "My layer"
"""


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(prog="plot.py", description=__doc__, epilog=EXAMPLES)
    parser.add_argument("keys", metavar="KEY", nargs="*", help="figures or tables to make")
    parser.add_argument("--list", action="store_true", help="name every figure and table")
    parser.add_argument(
        "--csv-dir",
        metavar="PATH",
        default=CSV_FOLDER,
        help="exported files, as reproduce.py writes them (default: %(default)s)",
    )
    parser.add_argument(
        "--out-dir", metavar="PATH", default="results/plots", help="default: %(default)s"
    )
    parser.add_argument(
        "--format", nargs="+", choices=("pdf", "png"), default=["pdf"], help="default: pdf"
    )
    own = parser.add_argument_group("your own results")
    own.add_argument("--csv", metavar="PATH", nargs="+", help="exported files")
    own.add_argument(
        "--kind",
        default="range",
        help="range, success (rates only), distribution, sweep, table, histogram, curve, metrics, "
        "surface, path or matrix (default: %(default)s)",
    )
    own.add_argument("--label", metavar="TEXT", nargs="+", default=[], help="name of each file")
    own.add_argument(
        "--column",
        metavar="NAME",
        help="x of a sweep; weights of a path, such as label2out; what other kinds show",
    )
    own.add_argument(
        "--name",
        type=file_name().one,
        default="figure",
        help="file name without ending (default: %(default)s)",
    )
    judged = parser.add_argument_group("when a run is solved")
    add_threshold_flags(judged)
    shown = parser.add_argument_group("means, intervals, colours")
    add_estimate_flags(shown)
    shown.add_argument(
        "--palette",
        choices=("safe", "published"),
        default="safe",
        help="colours that read in print and for colour-blind readers, or the published hues",
    )
    return parser.parse_args(argv)


def plot(args: argparse.Namespace) -> None:
    """Find the entries, render them, tell what is missing."""
    from .entries import all_entries, entry_of_files, find, listing
    from .entry import Context
    from .render import Output, render
    from .source import Source

    if args.list:
        sys.stdout.write(listing(all_entries()))
        return
    entries = [find(key) for key in args.keys]
    if args.csv:
        paths = [Path(path) for path in args.csv]
        entries.append(entry_of_files(args.kind, paths, args.label, args.name, args.column))
    if not entries:
        raise OptionError("KEY", "no figure is named", "name one, give --csv, or see --list")
    for entry in entries:
        source = Source(Path(args.csv_dir), entry.folders)
        setups = [Path(path) for path in args.exp_setups]
        estimators = Estimators(args.gamma_fit, args.sparsity_fit)
        wanted = setups, args.threshold, estimators, args.palette
        context = Context(entry, source, *wanted)
        written = render(context, Output(Path(args.out_dir), args.format))
        for text in source.warnings:
            sys.stderr.write(f"warning: {entry.key}: {text}\n")
        for text in (*source.notes, *map(str, written)):
            sys.stdout.write(f"{text}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the figures, and return the exit code."""
    args = parse_arguments(argv)
    return exit_code("plot.py", lambda: plot(args))
