"""Write the error that remains when division by small numbers is solved exactly in float32."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stable_nalu.script import ScriptParser, exit_code  # noqa: E402
from stable_nalu.statistics.table_csv import write_table  # noqa: E402


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(description=__doc__)
    parser.add_argument(
        "--csv-out",
        metavar="PATH",
        default="divBy0_test_errors.csv",
        help="file to write (default: %(default)s)",
    )
    parser.add_argument(
        "--add-eps",
        action="store_true",
        help="add the float32 machine epsilon: the success thresholds of the figures",
    )
    return parser.parse_args(argv)


def generate(args: argparse.Namespace) -> None:
    """Evaluate and write."""
    from stable_nalu.statistics.thresholds.small_divisors import residuals

    rows = []
    for found in residuals():
        error = found.threshold if args.add_eps else found.error
        values = (found.module.label, found.task.name, error, found.range_label)
        rows.append(dict(zip(("module", "parameter", "test.mse", "range"), values, strict=True)))
        sys.stdout.write(
            f"{found.module.label}: {found.task.dataset}, {found.range_label}: {error}\n"
        )
    write_table(Path(args.csv_out), rows[0], rows)


def main(argv: list[str] | None = None) -> int:
    """Write the table; the result is the exit code."""
    args = parse_arguments(argv)
    return exit_code("generate_divBy0_extrap_thresholds.py", lambda: generate(args))


if __name__ == "__main__":
    sys.exit(main())
