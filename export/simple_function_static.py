"""Export the runs of the arithmetic tasks to a CSV file: one row per run and logged step."""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.machine import granted_cores  # noqa: E402
from stable_nalu.script import ScriptParser, exit_code, packages  # noqa: E402

with packages(__file__):
    from stable_nalu.reader import TensorboardMetricReader
    from stable_nalu.reader.export import (
        ArithmeticMatcher,
        add_export_flags,
        conclude,
        export_csv,
        open_reader,
    )


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(description=__doc__)
    add_export_flags(parser)
    parser.add_argument(
        "--export-gate", action="store_true", help="add the mean gate of every NALU layer"
    )
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="add the first two weights and gates, which runs log under --verbose",
    )
    parser.add_argument(
        "--weights-only",
        action="store_true",
        help="write every logged weight, and no metrics, of single-layer networks",
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the export and return the exit code."""
    args = parse_arguments(argv)

    def export() -> int:
        build = partial(
            TensorboardMetricReader,
            metric_matcher=ArithmeticMatcher(gates=args.export_gate),
            recursive_weight=args.verbose,
            processes=granted_cores(),
            weights_only=args.weights_only,
        )
        reader = open_reader(args.tensorboard_dir, build)
        export_csv(reader, args.csv_out)
        return conclude(reader, args.strict)

    return exit_code("simple_function_static.py", export)


if __name__ == "__main__":
    sys.exit(main())
