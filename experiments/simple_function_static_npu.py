"""Train a two-layer network on the arithmetic data set, with the NPU penalties in its loss."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stable_nalu.base.script import begin, packages  # noqa: E402

begin(__name__)

with packages(__file__):
    from stable_nalu.result import run_script
    from stable_nalu.task.arithmetic import STATIC_NPU, SimpleFunctionStatic

main = partial(run_script, STATIC_NPU, SimpleFunctionStatic)

if __name__ == "__main__":
    raise SystemExit(main())
