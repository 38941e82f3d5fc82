"""Say what trained networks compute, as formulas, and whether they are the ones asked for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.inspection.saved_model import formula_command as main


if __name__ == "__main__":
    raise SystemExit(main())
