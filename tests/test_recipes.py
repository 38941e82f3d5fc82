"""The recipes of CONTRIBUTING, performed in a copy of the tree: a layer, a flag, a task, a figure.

Each recipe changes as many places as CONTRIBUTING names, and no other; all are performed in one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu.base.files import EXTRA_FLAGS, cells_of

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


class Tree:
    """A tree of which single files are copies, and all others are links."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._link(ROOT, folder)

    def _link(self, source: Path, target: Path) -> None:
        target.mkdir(exist_ok=True)
        for path in source.iterdir():
            if path.name not in (".git", "__pycache__"):
                (target / path.name).symlink_to(path)

    def _own(self, name: str) -> Path:
        """Return a file that may be written: its folders become folders of the copy."""
        path = self.folder
        for part in Path(name).parts[:-1]:
            path /= part
            if path.is_symlink():
                source = path.resolve()
                path.unlink()
                self._link(source, path)
        return path / Path(name).name

    def add(self, name: str, text: str, behind: str | None = None) -> None:
        """Put text behind a line of a file, or at its end; make the file if there is none."""
        path = self._own(name)
        before = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        if behind is None:
            path.write_text(before + text)
        else:
            assert before.count(behind) == 1
            path.write_text(before.replace(behind, behind + text))

    def run(self, codes: dict[str, str]) -> dict[str, str]:
        """Run code in one Python process, as importing torch takes longest; name -> what is said.

        An error is said, too.
        """
        kept = ("PATH", "HOME", "STABLE_NALU_CACHE", EXTRA_FLAGS)
        roots = {"TENSORBOARD_DIR": "tensorboard", "SAVE_DIR": "save"}
        done = subprocess.run(
            [sys.executable, "-c", EACH],
            cwd=self.folder,
            env={k: os.environ[k] for k in kept if k in os.environ}
            | {"PYTHONPATH": str(self.folder)}
            | {name: str(self.folder / root) for name, root in roots.items()},
            input=json.dumps(codes),
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def exported(self, folder: str) -> list[dict[str, str]]:
        """Return the rows of trained runs with their configurations."""
        return cells_of(self.folder / f"{folder}.csv")


EACH = """
import contextlib, io, json, sys, traceback
said = {}
for name, code in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(code, {})
        except BaseException:
            traceback.print_exc(file=out)
    said[name] = out.getvalue()
json.dump(said, sys.stdout)
"""
LAYER = '''
from .base import Layer


class SquareLayer(Layer):
    r"""Sum of squares: y_o = sum_i W_oi x_i².

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).
    """

    default_name = "square"

    def make_parameters(self) -> None:
        self.W = self.new_parameter()

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W, -1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x * x, self.W)
'''
LINE = """
    LayerEntry("Square", "Square", MADSEN_2020, nau_nmu.SquareLayer, recurs=True),"""
TEST_OF_THE_LAYER = """
from stable_nalu.layer.nau_nmu import SquareLayer
from tests.layer_checks import IN, OUT, LayerChecks


class TestSquare(LayerChecks):
    layer = SquareLayer

    def formula(self, layer, row, o):
        return sum(layer.W[o, i].item() * x * x for i, x in enumerate(row))

    def start(self):
        yield "W", torch.empty(OUT, IN).uniform_(-1, 1)
"""


TRAINED = """
from stable_nalu.command_line import main

short = ["--max-iterations", "2", "--log-interval", "1"]
assert main(["single_layer", "--layer-type", "Square", "--name-prefix", "layer", *short]) == 0
"""
TESTED = """
import pytest

words = ["tests/layer/test_basic.py", "tests/contract/test_layers.py", "-k", "Square"]
assert pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *words]) == 0
"""


def test_a_layer_is_a_class_a_line_and_its_test(tree, said):
    assert "Traceback" not in said["layer"], said["layer"]
    assert {row["layer.type"] for row in tree.exported("layer")} == {"Square"}
    assert " passed" in said["test of the layer"], said["test of the layer"]
    assert "Traceback" not in said["test of the layer"]


FLAG = """
    Flag(
        "--softness",
        number(0),
        0.0,
        "How soft it is.",
        sweep=True,
        young=True,
        in_name="sf-{softness:float}",
    ),"""
NAMES = """
from stable_nalu.command_line import main
from stable_nalu.options.run_names import parse_leaf
from stable_nalu.task.table import SCRIPTS

spec = SCRIPTS["single_layer"]
names = [spec.leaf(c) for c in spec.plan(["--softness", "0", "0.5"]).configs]
print(*(parse_leaf(name).get("softness") for name in names))
print(names[1].removeprefix(names[0]))
words = ["--softness", "0.5", "--layer-type", "NAC", "--max-iterations", "2", "--log-interval", "1"]
assert main(["single_layer", "--name-prefix", "flag", *words]) == 0
"""


def test_a_flag_is_one_entry(tree, said):
    assert said["flag"].split()[:3] == ["None", "0.5", "_sf-0.5"], said["flag"]
    rows = tree.exported("flag")
    assert {row["softness"] for row in rows} == {"0.5"}
    assert rows[0]["name"].endswith("_sf-0.5")


TASK = '''
"""Twice a number: one layer learns y = 2 x."""

import torch

from stable_nalu.layer import GeneralizedLayer
from stable_nalu.options import Flag
from stable_nalu.options import run_names as nf
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS
from stable_nalu.options.flag import buildable_layers, integer
from stable_nalu.training import floats
from stable_nalu.training.task import Task

from .shared import task_script


class Doubling(Task):
    """Rows of numbers up to 10; tested up to 100."""

    def __init__(self, config, device):
        super().__init__(config, device)
        x = torch.linspace(0, 10, config.train_size)[:, None]
        self.rows = floats(x, device), floats(2 * x, device)

    def network(self, config, layer_options):
        return GeneralizedLayer(1, 1, config.layer_type, **layer_options)

    def batches(self):
        yield self.rows

    def measures(self, model):
        x, t = self.rows
        return {tag: ((model(s * x) - s * t) ** 2).mean() for tag, s in (
            ("metric/valid/interpolation", 1), ("metric/test/extrapolation", 10))}


SCRIPT = task_script(
    "doubling",
    summary="Train one layer on y = 2 x.",
    example="--layer-type NAU --seed 0-9",
    task=(
        LAYER_TYPE.but(choices=buildable_layers),
        Flag("--train-size", integer(1), 32, "Number of training rows."),
        MAX_ITERATIONS.but(default=1000),
    ),
    fragments=("n{train_size}",),
    batch_size=None,
    learning_rate=0.1,
)
TASK = Doubling
'''


DOUBLED = """
import runpy

words = "--layer-type linear --train-size 8 --max-iterations 200 --seed 0-1 --log-interval 100"
assert runpy.run_path("experiments/doubling.py")["main"](words.split()) == 0
"""


def test_a_task_is_its_file_and_its_script(tree, said):
    assert "Traceback" not in said["task"], said["task"]
    rows = tree.exported("doubling")
    assert [(row["seed"], row["step"]) for row in rows] == [
        (seed, step) for seed in ("0", "1") for step in ("0", "100", "200")
    ]
    assert {row["name"] for row in rows} == {f"linear_n8_s{s}_lr-adam-0.10000" for s in (0, 1)}
    errors = [float(row["metric.test.extrapolation"]) for row in rows[:3]]
    assert errors == sorted(errors, reverse=True)


DECLARED = """
EXPERIMENTS += (
    judged_by_benchmark(
        "new-figure", "Addition by a new unit", MCFC_2023, ("new",),
        (for_operation("add").model("new", "New", "--layer-type NAC", name="add/new"),),
        drawn(panels("add")),
    ),
)
"""
PUBLISHED = "new-figure,new,add,,,9,225,,,,,,,,,report\n"
MADE_UP = """
from pathlib import Path

import pandas as pd

from stable_nalu.result.batch import find_job
from stable_nalu.paper.command import plot_command
from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import find
from stable_nalu.paper.published import published
from stable_nalu.result.reproduce import listing

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
words = ["new-figure", "--csv-dir", "csvs", "--out-dir", "plots", "--format", "png"]
assert plot_command(words) == 0
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Tree:
    """All recipes performed, in a tree."""
    tree = Tree(tmp_path_factory.mktemp("recipes") / "tree")
    tree.add("stable_nalu/layer/nau_nmu.py", LAYER)
    tree.add("stable_nalu/layer/registry.py", LINE, behind="_OF_PACKAGE = (")
    tree.add("tests/layer/test_basic.py", TEST_OF_THE_LAYER)
    tree.add("stable_nalu/options/flags.py", FLAG, behind='    "Criterion",')
    tree.add("stable_nalu/task/doubling.py", TASK)
    tree.add("stable_nalu/task/table.py", "\n    doubling,", behind="from . import (")
    entry = "\n    (doubling.SCRIPT, doubling.TASK),"
    tree.add("stable_nalu/task/table.py", entry, behind="_IN_ORDER = (")
    script = (ROOT / "experiments" / "gridworld_time.py").read_text()
    tree.add("experiments/doubling.py", script.replace("gridworld_time", "doubling"))
    tree.add("stable_nalu/paper/primer.py", DECLARED)
    tree.add("stable_nalu/paper/published_results/mcfc.csv", PUBLISHED)
    return tree


EXPORTED = """
from stable_nalu.result.export import any_runs

for name in ("layer", "flag", "doubling"):
    words = ["--tensorboard-dir", f"tensorboard/{name}", "--csv-out", f"{name}.csv"]
    assert any_runs(words) == 0
"""


@pytest.fixture(scope="module")
def said(tree) -> dict[str, str]:
    """What is said by what the recipes allow."""
    codes = {"layer": TRAINED, "flag": NAMES, "task": DOUBLED, "export": EXPORTED}
    return tree.run({**codes, "figure": MADE_UP, "test of the layer": TESTED})


def test_a_figure_is_one_declaration(tree, said):
    assert said["figure"].splitlines()[:2] == ["True True", "[9]"], said["figure"]
    written = {path.name for path in (tree.folder / "plots").iterdir()}
    assert "new-figure_op-add.png" in written
    table = (tree.folder / "plots" / "new-figure_op-add_final_metrics.csv").read_text()
    assert len(table.splitlines()) == 10
