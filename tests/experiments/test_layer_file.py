"""A layer from the user's own file in the training scripts: from its command line to its record."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import stable_nalu as sn
from stable_nalu.base.files import save_root, tensorboard_root
from stable_nalu.layer import own_layers
from stable_nalu.layer.registry import drop
from tests.ensemble.plans import fork
from tests.experiments.scripts import read, run, run_names, saved
from tests.exported import ROOT

EXAMPLE = str(ROOT / "examples" / "my_layer.py")
PENALTY = str(ROOT / "examples" / "my_layer_with_penalty.py")
SCRIPT = "single_layer_benchmark"
SPU = f"--operation mul --layer-file {EXAMPLE} --layer-type SPU"
SHORT = "--max-iterations 100 --log-interval 50 --learning-rate 0.01"


def all_saved(*words: str) -> list[dict]:
    return [saved(name) for name in run_names(SCRIPT, *words)]


def assert_equal_runs(one: list[dict], other: list[dict], tolerance: float) -> None:
    for a, b in zip(one, other, strict=True):
        for name, value in a["model_state_dict"].items():
            found = b["model_state_dict"][name]
            torch.testing.assert_close(found, value, rtol=tolerance, atol=tolerance)


def train(*words: str) -> list[dict]:
    shutil.rmtree(tensorboard_root(), ignore_errors=True)
    shutil.rmtree(save_root(), ignore_errors=True)
    assert run(SCRIPT, *words) == 0
    return all_saved(*words)


LINEAR = """
import torch

class TwoLayers(torch.nn.Module):
    def __init__(self, in_features, out_features, *, hidden=6):
        super().__init__()
        self.first = torch.nn.Linear(in_features, hidden)
        self.second = torch.nn.Linear(hidden, out_features)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))

class Branching(TwoLayers):
    def forward(self, x):
        y = super().forward(x)
        return y if y.sum().item() > 0 else y
"""


@pytest.fixture
def linear(tmp_path: Path) -> str:
    path = tmp_path / "linear.py"
    path.write_text(LINEAR)
    return str(path)


NOISY = (
    f"--operation add --layer-file {PENALTY} --layer-type NoisySum --layer-option noise=0.1 "
    "--regualizer-scaling-start 20 --regualizer-scaling-end 50"
)


@pytest.mark.parametrize(
    ("words", "tolerance", "is_sparse"),
    [
        (SPU, 0, True),
        (NOISY, 1e-6, True),
        ("--layer-file {linear} --layer-type TwoLayers", 1e-6, False),
    ],
    ids=["own", "noise and penalties", "matrix products"],
)
def test_runs_of_a_stack_are_those_alone(words, tolerance, is_sparse, linear):
    words = f"{words} {SHORT}".replace("{linear}", linear)
    together = train(words, "--seed 0-1")
    alone = [train(words, f"--seed {seed}")[0] for seed in range(2)]
    assert_equal_runs(together, alone, tolerance)
    (name,) = run_names(SCRIPT, words, "--seed 1")
    assert any("sparsity" in tag for tag in read(name).tags) == is_sparse


def test_the_record_holds_the_file_and_a_changed_one_is_not_resumed(tmp_path, capsys):
    path = tmp_path / "mine.py"
    shutil.copyfile(EXAMPLE, path)
    words = f"--operation mul --layer-file {path} --layer-type SPU"
    assert run(SCRIPT, words, SHORT) == 0
    (name,) = run_names(SCRIPT, words, SHORT)
    record = json.loads((tensorboard_root() / name / ".run.json").read_text())
    assert record["layer_files"] == [
        {
            "path": str(path),
            "sha256": own_layers.load_layer_file(str(path)).sha256,
            "source": Path(EXAMPLE).read_text(),
        }
    ]
    moved = path.rename(tmp_path / "moved.py")
    drop(origin=str(path))
    own_layers._loaded.clear()
    resume = f"{words} --resume --learning-rate 0.01".replace(str(path), str(moved))
    assert run(SCRIPT, resume, "--max-iterations 120") == 0
    moved.write_text(moved.read_text() + "\n")
    assert run(SCRIPT, resume, "--max-iterations 140") == 2
    assert "layer file (SHA-256)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--layer-type SPUU", "did you mean SPU?"),
        ("--layer-type NAC-sigma", "NAC-sigma is a model of two layers"),
        ("--layer-type SPU --layer-option powr=2", "did you mean power? it takes power"),
        ("--layer-type SPU --layer-option power=x", "power=x is of another kind"),
        ("--layer-type SPU --layer-option power", "write one such as power=2"),
        ("--layer-type SPU --layer-option power=a/b", "is not an option of a layer"),
        ("--layer-type NAC --layer-option power=2", "NAC takes no 'power'"),
        ("--layer-type NAC --layer-option nac_weight=x", "use --nac-weight"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_name_or_value_is_one_line(words, says, capsys):
    assert run(SCRIPT, "--layer-file", EXAMPLE, words) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_a_forward_of_the_wrong_shape_leaves_no_folder(tmp_path, capsys):
    path = tmp_path / "wrong.py"
    path.write_text(LINEAR.replace("self.second(torch.tanh(self.first(x)))", "x"))
    assert run(SCRIPT, "--layer-file", str(path), "--layer-type TwoLayers") == 2
    err = capsys.readouterr().err
    assert "TwoLayers maps an input of shape (3, 2) to a tensor of shape (3, 2); (3, 1)" in err
    assert err.count("\n") == 1
    assert not tensorboard_root().exists()


LATE = """
import sys
import torch
from stable_nalu import Layer

class Late(Layer):
    def __init__(self, in_features, out_features, *, name=None):
        super().__init__(in_features, out_features, name=name)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self):
        torch.nn.init.ones_(self.W)

    def forward(self, x):
        y = x @ self.W.mT
        if self.iteration > 3 and self.training: FAILS
        return y
"""


@pytest.mark.parametrize("more", ["", "--seed 0-1", "--seed 0-1 --workers 2"])
@pytest.mark.parametrize(
    ("fails", "says"),
    [
        ("return y.sum(-2, keepdim=True)", "Late maps an input of shape "),
        ("sys.exit()", "Late fails in line 16 of late.py: SystemExit; fix the layer"),
        ("raise GeneratorExit", "late.py: GeneratorExit; fix the layer"),
        ("raise RuntimeError('a\\nb')", "in line 16 of late.py: RuntimeError: a; fix"),
    ],
)
def test_a_layer_that_fails_while_it_trains_is_one_line(fails, says, more, tmp_path):
    """In workers, too, which load the file as well."""
    path = tmp_path / "late.py"
    path.write_text(LATE.replace("FAILS", fails))
    words = f"--layer-file {path} --layer-type Late {SHORT} {more}"
    with fork(tmp_path, SCRIPT, *words.split()) as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert says in err
    *notices, last = err.splitlines()
    assert [line[:12] for line in notices] in ([], ["trained one "])


@pytest.mark.parametrize(
    "command",
    [
        "simple_function_static --max-iterations 2",
        "simple_function_recurrent --max-iterations 2 --operation add",
        "number_translation --max-epochs 1",
        "mystery_arithmetic --max-epochs 1",
        "program_evaluation --max-iterations 2",
        "mnist_counting --max-epochs 1 --cnn mlp8 --extrapolation-lengths [1]",
        "gridworld_time --max-iterations 1 --eval-stimuli [5,6] --eval-episodes 5",
        "two_digit_mnist --use-nalm --learn-labels2out --max-epochs 1 --data-source digits "
        "--samples-per-permutation 1 --operation mul",
    ],
)
def test_every_kind_of_script_takes_it(command, monkeypatch):
    monkeypatch.setenv("LSB_DJOB_NUMPROC", "1")
    script, _, words = command.partition(" ")
    unit = "--nalm-name" if script == "two_digit_mnist" else "--layer-type"
    assert run(script, "--layer-file", PENALTY, unit, "NoisySum", words) == 0


CLOCKED = """
import torch
from stable_nalu import Layer
from stable_nalu.abstract import Observation

class Clocked(Layer):
    def __init__(self, in_features, out_features, *, name=None):
        super().__init__(in_features, out_features, name=name)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self):
        torch.nn.init.ones_(self.W)

    def now(self):
        return torch.tensor(float(READ))

    def forward(self, x):
        return x @ self.W.mT + self.now()

    def observations(self):
        return [Observation("scalar", "now", self.now, verbose_only=False)]
"""


@pytest.mark.parametrize("read_by_it", ["self.iteration", "self.progress"])
def test_a_layer_reads_where_training_stands_without_saying_so(read_by_it, tmp_path, capsys):
    path = tmp_path / "clocked.py"
    path.write_text(CLOCKED.replace("READ", read_by_it))
    words = f"--layer-file {path} --layer-type Clocked --max-iterations 8 --log-interval 2"
    assert run("single_layer", "--operation mul", words) == 0
    assert f"a layer that reads {read_by_it}" in capsys.readouterr().err
    (name,) = run_names("single_layer", "--operation mul", words)
    (tag,) = [tag for tag in read(name).tags if tag.endswith("/now")]
    scale = 8 if read_by_it == "self.progress" else 1
    assert read(name).series(tag) == {at: at / scale for at in range(0, 9, 2)}
    trained = sn.load(tensorboard_root() / name).module
    assert trained(torch.zeros(1, 2)).item() == 8 / scale


def test_a_layer_that_reads_progress_is_not_resumed_for_longer(tmp_path, capsys):
    path = tmp_path / "clocked.py"
    path.write_text(CLOCKED.replace("READ", "self.progress"))
    words = f"--operation mul --layer-file {path} --layer-type Clocked"
    assert run("single_layer", words, "--max-iterations 8") == 0
    assert run("single_layer", words, "--max-iterations 9 --resume") == 2
    assert "--max-iterations 8 there, 9 here" in capsys.readouterr().err
    path.write_text(CLOCKED.replace("READ", "self.iteration"))
    assert run("single_layer", words, "--max-iterations 8 --name-prefix u") == 0
    assert run("single_layer", words, "--max-iterations 9 --resume --name-prefix u") == 0


KEEPING = """
import itertools
import torch

class Smoothing(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))
        self.register_buffer("mean", torch.ones(1), persistent=False)

    def forward(self, x):
        y = x @ self.W.T
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * y.detach().mean(0)
        return y / (1 + self.mean)

class Counting(Smoothing):
    calls = 0

    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.seen = {"last": None, "steps": []}

    def forward(self, x):
        self.calls += 1
        y = super().forward(x) * (1.5 if self.calls > 40 else 1)
        self.seen["last"] = y.detach().mean()
        self.seen["steps"].append(self.calls)
        return y

class Iterating(Counting):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.it = itertools.count()

    def forward(self, x):
        return super().forward(x) + 0 * next(self.it)
"""


@pytest.fixture
def keeping(tmp_path: Path) -> str:
    path = tmp_path / "keeping.py"
    path.write_text(KEEPING)
    return f"--layer-file {path} --log-interval 20 --learning-rate 0.01 --layer-type"


@pytest.mark.parametrize("key", ["Smoothing", "Counting"])
def test_what_a_layer_keeps_is_resumed(keeping, key):
    """Buffers that are not saved, and attributes: by the engine and by torch."""
    whole = train(f"{keeping} {key} --max-iterations 60")
    train(f"{keeping} {key} --max-iterations 33")
    assert run(SCRIPT, f"{keeping} {key} --max-iterations 60 --resume") == 0
    resumed = all_saved(f"{keeping} {key} --max-iterations 60")
    assert_equal_runs(whole, resumed, 0)
    assert [s["progress"]["errors"] for s in whole] == [s["progress"]["errors"] for s in resumed]


def test_a_layer_that_keeps_what_no_checkpoint_holds_is_not_resumed(keeping, capsys):
    train(f"{keeping} Iterating --max-iterations 33")
    assert run(SCRIPT, f"{keeping} Iterating --max-iterations 60 --resume") == 2
    (line,) = [s for s in capsys.readouterr().err.splitlines() if "argument --resume" in s]
    assert "a pass of its layer changes layer_1.layer.module.it, which no checkpoint holds" in line
