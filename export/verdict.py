"""Say of every run in an exported CSV file whether it solved its task: one line each."""

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path

VALIDATION, TEST = "metric.valid.interpolation", "metric.test.extrapolation"
SPARSITY, STEP = "sparse.error.max", "step"
BEST_RANGE = 5000
"""A run is judged by the weights of lowest validation error among its last rows."""

Row = dict[str, str]


def number(row: Row, column: str) -> float:
    """A cell; NaN when it is empty."""
    return float(row[column] or "nan")


def verdict(rows: list[Row], threshold: float) -> str:
    """What became of one run, given its rows in step order."""
    last = [row for row in rows[-BEST_RANGE:] if not math.isnan(number(row, VALIDATION))]
    best = min(last, key=lambda row: number(row, VALIDATION), default=rows[-1])
    error = number(best, TEST)
    facts = (
        f"extrapolation error {error:.3g}, threshold {threshold:g}, "
        f"sparsity error {number(best, SPARSITY):.3g}"
    )
    if error < threshold:
        solved = next(row[STEP] for row in rows if number(row, TEST) < threshold)
        return f"success: solved at step {solved} ({facts})"
    return f"not solved in {rows[-1][STEP]} steps ({facts})"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the verdicts; the exit code is 0 when there is one, solved or not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", metavar="PATH", required=True, help="file of the exporter")
    parser.add_argument(
        "--threshold",
        metavar="MSE",
        type=float,
        default=1e-5,
        help="extrapolation error below which a run counts as solved (default: 1e-5)",
    )
    args = parser.parse_args(argv)
    runs: dict[str, list[Row]] = {}
    try:
        with Path(args.csv).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                runs.setdefault(row["name"], []).append(row)
        verdicts = {name: verdict(rows, args.threshold) for name, rows in runs.items()}
    except OSError as error:
        sys.stderr.write(f"verdict.py: error: argument --csv: {error}\n")
        return 2
    except (KeyError, ValueError) as error:
        sys.stderr.write(
            f"verdict.py: error: argument --csv: {args.csv} is not an export of "
            f"export/simple_function_static.py ({error})\n"
        )
        return 2
    for name, line in verdicts.items():
        sys.stdout.write(f"{line}: {name}\n" if len(verdicts) > 1 else f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
