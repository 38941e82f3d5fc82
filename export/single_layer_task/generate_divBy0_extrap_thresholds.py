"""Write the error that remains when division by small numbers is solved exactly in float32."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.statistics.thresholds import write_residuals as main


if __name__ == "__main__":
    raise SystemExit(main())
