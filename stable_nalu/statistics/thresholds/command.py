"""Write the thresholds below which an error counts as solved: one row per task and range."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.options.kinds import integer, number
from stable_nalu.script import ScriptParser, exit_code
from stable_nalu.statistics.table import write_table

from . import tables


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    kinds = "\n".join(f"  {name:<22}{table.text}" for name, table in tables.TABLES.items())
    parser = ScriptParser(
        prog="generate_exp_setups.py",
        description=__doc__,
        epilog=f"tables:\n{kinds}\n\nexample:\n"
        "  python3 export/generate_exp_setups.py --csv-out exp_setups.csv",
    )
    output = parser.add_argument_group("what to write")
    output.add_argument("--csv-out", metavar="PATH", required=True, help="file to write")
    output.add_argument(
        "--tables",
        nargs="+",
        metavar="TABLE",
        choices=tuple(tables.TABLES),
        default=list(tables.DEFAULT_TABLES),
        help=f"tables to put into it (default: {' '.join(tables.DEFAULT_TABLES)})",
    )
    parser.add_argument(
        "--epsilon",
        type=number(above=0).one,
        default=tables.Settings.epsilon,
        metavar="X",
        help="how far every weight is from the solution, on the arithmetic data set and in the "
        "first benchmark, whose own script had 1e-4 (default: %(default)s)",
    )
    arithmetic = parser.add_argument_group("arithmetic data set")
    arithmetic.add_argument(
        "--exact-subsets",
        action="store_true",
        help="take subsets as long as the data set's; the published thresholds, which are the "
        "default, take them one longer",
    )
    simulated = parser.add_argument_group("simulated rows (division and root)")
    simulated.add_argument(
        "--samples",
        type=integer(2).one,
        default=tables.Settings.samples,
        metavar="N",
        help="draws per row",
    )
    simulated.add_argument("--seed", type=integer(0).one, default=tables.Settings.seed, metavar="N")
    return parser.parse_args(argv)


def generate(args: argparse.Namespace) -> None:
    """Compute and write the tables; say how exact the simulated rows are."""
    if "sequential" in args.tables and len(args.tables) > 1:
        raise UsageError("argument --tables: sequential has columns of its own, write it alone")
    if args.epsilon >= 1:
        raise UsageError(f"argument --epsilon: {args.epsilon:g} is too large; it lies below 1")
    settings = tables.Settings(args.epsilon, not args.exact_subsets, args.samples, args.seed)
    found = list(tables.collect(tuple(args.tables), settings))
    columns = tables.COLUMNS if len(found[0][0]) > 3 else tables.SEQUENTIAL_COLUMNS
    write_table(Path(args.csv_out), columns, (row for row, _ in found))
    errors = [error for _, error in found if 0 < error < math.inf]
    if errors:
        sys.stderr.write(
            f"simulated: {len(errors)} rows, relative standard error up to {max(errors):.1%}\n"
        )
    if any(math.isinf(error) for _, error in found):
        sys.stderr.write("division over a mirrored range has no threshold: published value kept\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file; the result is the exit code."""
    args = parse_arguments(argv)
    return exit_code("generate_exp_setups.py", lambda: generate(args))
