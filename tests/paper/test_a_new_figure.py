"""The recipe of CONTRIBUTING: a figure is one declaration in the file of its paper."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DECLARED = """
EXPERIMENTS += (
    judged_by_benchmark(
        "new-figure", "Addition by a new unit", shown_in(MCFC_2023, "new"),
        (for_operation("add").model("new", "New", "--layer-type NAC", name="add/new"),),
        drawn(panels("add")),
    ),
)
"""
PUBLISHED = "new-figure,new,add,,,9,225,,,,,,,,,report\n"
MADE_UP = """
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.cluster.job_script import find_job
from stable_nalu.figure.command import main
from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import find
from stable_nalu.paper.published import published
from stable_nalu.result.listing import listing

(model,) = find("new-figure").models
names = [run.name.removeprefix(f"{model.prefix}/") for run in expected_runs(model, [0, 1])]
columns = ["metric.valid.interpolation", "metric.test.extrapolation", "sparse.error.max"]
rows = [
    {"name": name, "step": step, **dict.fromkeys(columns, 1e-9 * place)}
    for place, name in enumerate(names)
    for step in (0, 1000)
]
path = Path("csvs", f"{model.csv}.csv")
path.parent.mkdir(parents=True)
pd.DataFrame(rows).to_csv(path, index=False)
print("Addition by a new unit" in listing(2), find_job("new-figure").models() == [model])
print([point.solved for point in published("new-figure")])
sys.exit(main(["new-figure", "--csv-dir", "csvs", "--out-dir", "plots", "--format", "png"]))
"""


def test_one_declaration_is_listed_planned_and_drawn(tmp_path):
    """In a copy of the tree; only the room of papers is copied file by file."""
    for folder, copied in ((ROOT, "stable_nalu"), (ROOT / "stable_nalu", "paper")):
        copy = tmp_path / folder.relative_to(ROOT)
        copy.mkdir(exist_ok=True)
        for path in folder.iterdir():
            if path.name != copied:
                (copy / path.name).symlink_to(path)
    papers = shutil.copytree(ROOT / "stable_nalu" / "paper", tmp_path / "stable_nalu" / "paper")
    declared = papers / "mcfc.py"
    imports = "from .drawing import drawn\nfrom .primer import panels\n"
    declared.write_text(declared.read_text() + imports + DECLARED)
    with (papers / "published_results" / "mcfc.csv").open("a") as file:
        file.write(PUBLISHED)
    done = subprocess.run(
        [sys.executable, "-c", MADE_UP],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[:2] == ["True True", "[9]"]
    written = {path.name for path in (tmp_path / "plots").iterdir()}
    assert "new-figure_op-add.png" in written
    table = (tmp_path / "plots" / "new-figure_op-add_final_metrics.csv").read_text()
    assert len(table.splitlines()) == 10
