"""Write which two of the ten inputs matter in the runs of the robustness study, by seed."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from stable_nalu.script import ScriptParser, exit_code  # noqa: E402

SEEDS = 25


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(description=__doc__)
    parser.add_argument(
        "--csv-out",
        metavar="PATH",
        default="dataset_solution_indexes.csv",
        help="file to write (default: %(default)s)",
    )
    return parser.parse_args(argv)


def generate(args: argparse.Namespace) -> None:
    """Compute and write; places are counted from 0."""
    import pandas as pd

    from stable_nalu.figures.kinds.distances import relevant
    from stable_nalu.statistics.table import write_plain_frame

    rows = [(seed, *relevant(seed)) for seed in range(SEEDS)]
    columns = ["seed", "index.1", "index.2"]
    write_plain_frame(Path(args.csv_out), pd.DataFrame(rows, columns=columns))


def main(argv: list[str] | None = None) -> int:
    """Write the table; the result is the exit code."""
    args = parse_arguments(argv)
    return exit_code("generate_dataset_solution_indexes.py", lambda: generate(args))


if __name__ == "__main__":
    sys.exit(main())
