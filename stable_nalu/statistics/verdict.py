"""Say of every run in an exported CSV file whether it solved its task: one line each."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.files import table_rows
from stable_nalu.options.kinds import number
from stable_nalu.script import ScriptParser, exit_code

from .estimators import BEST_RANGE
from .setups import Limit, limit_of

VALIDATION, TEST = "metric.valid.interpolation", "metric.test.extrapolation"
SPARSITY, STEP = "sparse.error.max", "step"

Row = dict[str, str]


def cell(row: Row, column: str) -> float:
    """Return the number in a cell; NaN when it is empty."""
    return float(row[column] or "nan")


def verdict(rows: list[Row], limit: Limit) -> str:
    """Tell what became of one run, given its rows in step order."""
    last = [row for row in rows[-BEST_RANGE:] if not math.isnan(cell(row, VALIDATION))]
    best = min(last, key=lambda row: cell(row, VALIDATION), default=rows[-1])
    error = cell(best, TEST)
    facts = (
        f"extrapolation error {error:.3g}, threshold {limit.threshold:g}, "
        f"sparsity error {cell(best, SPARSITY):.3g}"
    )
    if limit.met(error):
        solved = next(row[STEP] for row in rows if limit.met(cell(row, TEST)))
        return f"success: solved at step {solved} ({facts})"
    return f"not solved in {rows[-1][STEP]} steps ({facts})"


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(prog="verdict.py", description=__doc__)
    parser.add_argument("--csv", metavar="PATH", required=True, help="file of the exporter")
    parser.add_argument(
        "--threshold",
        metavar="MSE",
        type=number(above=0).one,
        help="extrapolation error below which a run counts as solved (default: that of its task)",
    )
    return parser.parse_args(argv)


def verdicts_of(path: Path, threshold: float | None) -> dict[str, str]:
    """Run name -> verdict, in the order of the file."""
    runs: dict[str, list[Row]] = {}
    try:
        lines = table_rows(path)
        header = next(lines, [])
        for cells in lines:
            row = dict(zip(header, cells, strict=True))
            for column in (VALIDATION, TEST, STEP, SPARSITY):
                cell(row, column)
            runs.setdefault(row["name"], []).append(row)
        verdicts = {name: verdict(rows, limit_of(name, threshold)) for name, rows in runs.items()}
    except UsageError as error:
        raise UsageError(f"argument --csv: {error}") from error
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"argument --csv: {path} is not an export of export/simple_function_static.py ({error})"
        ) from error
    if not verdicts:
        raise UsageError(f"argument --csv: there is no run in {path}")
    return verdicts


def main(argv: Sequence[str] | None = None) -> int:
    """Print the verdicts; the exit code is 0 when there is one, solved or not."""
    args = parse_arguments(argv)

    def tell() -> None:
        verdicts = verdicts_of(Path(args.csv), args.threshold)
        for name, line in verdicts.items():
            sys.stdout.write(f"{line}: {name}\n" if len(verdicts) > 1 else f"{line}\n")

    return exit_code("verdict.py", tell)
