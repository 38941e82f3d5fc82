"""Train a recurrent cell on sums over sequences, joined by an operation."""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.training.recurrent.sums import TASK  # noqa: E402


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, train, return the exit code."""
    return TASK.run(argv)


if __name__ == "__main__":
    raise SystemExit(main())
