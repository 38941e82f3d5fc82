"""Export runs on pairs of digits to CSV files: one row per run and evaluation."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stable_nalu.errors import OptionError  # noqa: E402
from stable_nalu.script import packages  # noqa: E402

with packages(__file__):
    from stable_nalu.reader.export import run_exporter
    from stable_nalu.reader.run_parser import PAIRS

SWITCHES = {
    "--from-parent-folder": "--tensorboard-dir holds folders of runs; each becomes a file in the "
    "folder --csv-out"
}


def folders_and_files(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Return each folder of runs and the file that it becomes."""
    if not args.from_parent_folder:
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the export and return the exit code."""
    script = "two_digit_mnist_reader.py"
    return run_exporter(script, str(__doc__), argv, lambda args: PAIRS, SWITCHES, folders_and_files)


if __name__ == "__main__":
    sys.exit(main())
