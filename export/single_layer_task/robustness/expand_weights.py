"""Cut the last step out of an export with --weights-only, and add the options of every run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.paper.command import expand_weights as main


if __name__ == "__main__":
    raise SystemExit(main())
