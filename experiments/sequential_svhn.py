"""Train a residual network and a cell on sums or products of house number digits."""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.training.epochs.sequential_digits import SVHN  # noqa: E402


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, train, return the exit code."""
    return SVHN.run(argv)


if __name__ == "__main__":
    raise SystemExit(main())
