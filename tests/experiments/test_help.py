"""--help is there for every script, and quick: it imports nothing needless, nor does the loop."""

import subprocess
import sys

from tests.exported import ROOT

HEAVY = (
    *("torchvision", "tensorboard", "tensorboardX", "pandas", "scipy", "matplotlib", "sklearn"),
    "torch._dynamo",
)
PROBE = """
import runpy, sys
sys.argv = [{path!r}, "--help"]
try:
    runpy.run_path({path!r}, run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
import stable_nalu.training.loop
loaded = [name for name in {heavy!r} if name in sys.modules]
assert not loaded, loaded
"""


def test_help_imports_little():
    path = str(ROOT / "experiments" / "single_layer.py")
    code = PROBE.format(path=path, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--layer-type" in done.stdout
