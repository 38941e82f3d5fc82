"""Write predictions of a trained model over a grid of two inputs, or the exact answers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.inspection.prediction_sweep import main


if __name__ == "__main__":
    raise SystemExit(main())
