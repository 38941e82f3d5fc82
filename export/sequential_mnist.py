"""Export runs on digit sequences, MNIST or SVHN, to a CSV file: a row per run and logged epoch."""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.machine import granted_cores  # noqa: E402
from stable_nalu.script import ScriptParser, exit_code, packages  # noqa: E402

with packages(__file__):
    from stable_nalu.reader.export import (
        add_export_flags,
        conclude,
        export_csv,
        open_reader,
        sequence_reader,
    )


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(description=__doc__)
    add_export_flags(parser)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the export and return the exit code."""
    args = parse_arguments(argv)

    def export() -> int:
        build = partial(sequence_reader, processes=granted_cores())
        reader = open_reader(args.tensorboard_dir, build)
        export_csv(reader, args.csv_out)
        return conclude(reader, args.strict)

    return exit_code("sequential_mnist.py", export)


if __name__ == "__main__":
    sys.exit(main())
