"""Export runs on pairs of digits to CSV files: one row per run and evaluation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.result.export import pairs as main


if __name__ == "__main__":
    raise SystemExit(main())
