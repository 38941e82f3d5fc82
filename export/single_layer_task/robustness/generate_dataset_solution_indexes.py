"""Write which two of the ten inputs matter in the runs of the robustness study, by seed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.paper.command import solution_indexes as main


if __name__ == "__main__":
    raise SystemExit(main())
