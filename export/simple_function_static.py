"""Export the runs of the arithmetic tasks to a CSV file: one row per run and logged step."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.script import packages  # noqa: E402

with packages(__file__):
    from stable_nalu.reader.export import run_exporter
    from stable_nalu.reader.run_parser import (
        ArithmeticMatcher,
        MetricParser,
        RunParser,
        WeightsParser,
    )

SWITCHES = {
    "--export-gate": "add the mean gate of every NALU layer",
    "--verbose": "add the first two weights and gates, which runs log under --verbose",
    "--weights-only": "write every logged weight, and no metrics, of single-layer networks",
}


def parser_of(args: argparse.Namespace) -> RunParser:
    """Return what makes the rows of a run."""
    if args.weights_only:
        return WeightsParser()
    return MetricParser(ArithmeticMatcher(args.export_gate), recursive_weight=args.verbose)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the export and return the exit code."""
    return run_exporter("simple_function_static.py", str(__doc__), argv, parser_of, SWITCHES)


if __name__ == "__main__":
    sys.exit(main())
