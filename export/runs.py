"""Export runs of any script to a CSV file: a row per run and logged step, with configurations."""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.script import packages  # noqa: E402

with packages(__file__):
    from stable_nalu.reader.export import run_exporter


def main(argv: Sequence[str] | None = None) -> int:
    """Run the export and return the exit code."""
    return run_exporter("runs.py", str(__doc__), argv)


if __name__ == "__main__":
    sys.exit(main())
