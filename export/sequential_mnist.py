"""Export runs on digit sequences, MNIST or SVHN, to a CSV file: a row per run and logged epoch."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.result.export import sequences as main


if __name__ == "__main__":
    raise SystemExit(main())
