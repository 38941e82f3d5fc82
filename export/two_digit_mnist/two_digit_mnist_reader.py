"""Export runs on pairs of digits to CSV files: one row per run and evaluation."""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stable_nalu.errors import OptionError  # noqa: E402
from stable_nalu.machine import granted_cores  # noqa: E402
from stable_nalu.script import ScriptParser, exit_code, packages  # noqa: E402

with packages(__file__):
    from stable_nalu.reader import TensorboardMetricTwoDigitMNISTReader
    from stable_nalu.reader.export import (
        add_export_flags,
        conclude,
        export_csv,
        open_reader,
    )

FIRST_UPDATE = 1


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = ScriptParser(description=__doc__)
    add_export_flags(parser)
    parser.add_argument(
        "--from-parent-folder",
        action="store_true",
        help="--tensorboard-dir holds folders of runs; each becomes a file in the folder --csv-out",
    )
    return parser.parse_args(argv)


def folders_and_files(args: argparse.Namespace) -> list[tuple[str | None, str | None]]:
    """Return each folder of runs and the file that it becomes."""
    if not (args.from_parent_folder and args.tensorboard_dir and args.csv_out):
        return [(args.tensorboard_dir, args.csv_out)]
    parent = Path(args.tensorboard_dir)
    if not parent.is_dir():
        raise OptionError("--tensorboard-dir", f"there is no folder {parent}", "name another")
    found = sorted(folder for folder in parent.iterdir() if folder.is_dir())
    shown = [folder for folder in found if not folder.name.startswith(".")]
    if not shown:
        problem = f"there are no folders of runs in {parent}"
        raise OptionError("--tensorboard-dir", problem, "leave out --from-parent-folder")
    return [(str(f), str(Path(args.csv_out) / f"{f.name}.csv")) for f in shown]


def main(argv: list[str] | None = None) -> int:
    """Run the export and return the exit code."""
    args = parse_arguments(argv)

    def export() -> int:
        build = partial(
            TensorboardMetricTwoDigitMNISTReader,
            step_start=FIRST_UPDATE,
            processes=granted_cores(),
        )
        codes = []
        for folder, file in folders_and_files(args):
            reader = open_reader(folder, build)
            export_csv(reader, file)
            codes.append(conclude(reader, args.strict))
        return max(codes)

    return exit_code("two_digit_mnist_reader.py", export)


if __name__ == "__main__":
    sys.exit(main())
