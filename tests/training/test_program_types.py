"""What pyright says of calls of `stable_nalu.train` and `plot`, as an editor would."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu.task import SCRIPTS

CALLS = """
import numpy as np
import stable_nalu as sn

runs = sn.train("single_layer_benchmark", layer=sn.layer("NMU"), operation="mul", seed=range(5))
sn.train("single_layer", layer=["NMU", "NAC"], seed=np.arange(3), operation=["mul", "add"])
sn.train("single_layer", out="runs", interpolation_range=[(1, 2), (-2, -1)], seed="0-4")
sn.train("single_layer", layer_option={"power": [1, 2]}, verbose=True, learning_rate=1)
how = {"operation": "mul", "seed": range(5), "max_iterations": 60}
sn.train("single_layer", **how)
for script in ("single_layer", "ST_mnist_labels"):
    sn.train(script, seed=3).solved.mean()
sn.plot(runs, kind="curve")
sn.train("single_layer", max_iteration=3)  # wrong
sn.train("single_layer", operation=3)  # wrong
sn.train("single_layer", operation=["mul", "times"])  # wrong
sn.train("single_layer", max_iterations="many")  # wrong
sn.train("number_translation", interpolation_range=[1, 2])  # wrong
sn.train("single_layer", dry_run=True)  # wrong
sn.train("single_layers")  # wrong
sn.plot(runs, kind="rnge")  # wrong
"""


@pytest.mark.slow
def test_a_checker_knows_the_flags_of_every_script(tmp_path):
    pytest.importorskip("pyright")
    root = Path(__file__).parents[2]
    defaults = [
        f"sn.train({name!r}, {', '.join(f'{f.dest}={f.default!r}' for f in flags)})"
        for name, spec in SCRIPTS.items()
        if (flags := [f for f in spec.flags if f.dest not in ("dry_run", "evaluate")])
    ]
    path = tmp_path / "calls.py"
    path.write_text("\n".join([CALLS, *defaults]), encoding="utf-8")
    settings = {"include": ["calls.py"], "extraPaths": [str(root)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "-p", tmp_path], capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not start: {done.stderr[-200:]}")
    lines = path.read_text(encoding="utf-8").splitlines()
    found = json.loads(done.stdout)["generalDiagnostics"]
    flagged = {lines[one["range"]["start"]["line"]]: one["message"] for one in found}
    assert set(flagged) == {line for line in lines if line.endswith("# wrong")}, flagged
