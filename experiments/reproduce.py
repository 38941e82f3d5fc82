"""Reproduce a figure or table from its key: train, export, summarise, plot, compare."""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.script import packages  # noqa: E402

with packages(__file__):
    from stable_nalu.reproduction.command import main as run


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, do what it asks for and return the exit code."""
    return run(argv)


if __name__ == "__main__":
    raise SystemExit(main())
