"""Write the error that remains when division by small numbers is solved exactly in float32."""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stable_nalu.script import packages  # noqa: E402

with packages(__file__):
    from stable_nalu.statistics.thresholds.small_divisors import main as run


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, write the table and return the exit code."""
    return run(argv)


if __name__ == "__main__":
    raise SystemExit(main())
