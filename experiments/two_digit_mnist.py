"""Train a network that reads two digits side by side, from what is computed of them alone."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.result import run_script
    from stable_nalu.task.pairs import TWO_DIGITS, PairTask

main = partial(run_script, TWO_DIGITS, PairTask)

if __name__ == "__main__":
    raise SystemExit(main())
