"""Training from a Python program: the runs and errors of a command, and what pyright says."""

import itertools
import json
import linecache
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import stable_nalu as sn
from stable_nalu.api.program import usual
from stable_nalu.base.errors import UsageError
from stable_nalu.options.values import typed_values
from stable_nalu.result.export import export_csv
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.loop import Training
from tests.experiments.scripts import run, run_names, saved

NMU = "ReRegualizedLinearMNAC"
SCRIPT = "single_layer_benchmark"
SHORT = {"operation": "mul", "max_iterations": 60, "log_interval": 20, "name_prefix": "t"}


class Gain(torch.nn.Module):
    """A layer that is only in this program."""

    def __init__(self, in_features, out_features, *, gain=1.0):
        super().__init__()
        self.gain = gain
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))

    def forward(self, x):
        return self.gain * (self.W * x.unsqueeze(1)).sum(-1)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"seed": range(3), "id": None}, "--seed 0 1 2"),
        ({"seed": 3, "verbose": True, "reinit": False}, "--seed 3 --verbose"),
        ({"interpolation_range": [1, 2]}, "--interpolation-range [1,2]"),
        ({"interpolation_range": [(1, 2), (-2, -1.5)]}, "--interpolation-range [1,2] [-2,-1.5]"),
        ({"interpolation_range": [[-2, -1], [1, 2]]}, "--interpolation-range [[-2,-1],[1,2]]"),
        ({"interpolation_range": tuple(np.arange(1.0, 3.0))}, "--interpolation-range [1.0,2.0]"),
        ({"layer_option": {"gain": [1, 2], "mode": "x"}}, "--layer-option gain=1 gain=2 mode=x"),
        ({"nmu_noise": np.False_, "verbose": np.True_, "layer_option": {}}, "--verbose"),
        (
            {"seed": torch.arange(2), "learning_rate": np.array(0.5)},
            "--seed 0 1 --learning-rate 0.5",
        ),
        (
            {"operation": ["add", "mul"], "seed": [1, 2], "reinit": [True, False]},
            "--operation add --seed 1 2 --reinit; --operation add --seed 1 2; "
            "--operation mul --seed 1 2 --reinit; --operation mul --seed 1 2",
        ),
        (
            {"sample_distribution": [("truncated-normal", -1, 3, 0, 2), ("uniform",)]},
            "--sample-distribution truncated-normal -1 3 0 2 --sample-distribution uniform",
        ),
    ],
)
def test_flags_are_those_of_the_command(flags, words):
    spec = SCRIPTS["single_layer" if "sample_distribution" in flags else SCRIPT]
    own = {"resume": [True], "workers": [1]}
    read = [vars(spec.parser.read(command.split())) for command in words.split("; ")]
    assert typed_values(spec, usual(spec, flags)) == [own | typed for typed in read]


def test_runs_are_those_of_the_command_to_the_bit():
    runs = sn.train(SCRIPT, layer=NMU, seed=range(2), short_names=False, **SHORT)
    assert [run.seed for run in runs] == [0, 1]
    assert len(runs.table) == 2 * 4
    words = ["--operation", "mul", "--layer-type", NMU, "--seed", "0-1"]
    words += ["--max-iterations", "60", "--log-interval", "20"]
    names = run_names(SCRIPT, *words)
    states = [saved(name)["model_state_dict"] for name in names]
    assert run(SCRIPT, *words, "--remove-existing-data") == 0
    for name, state in zip(names, states, strict=True):
        for key, value in saved(name)["model_state_dict"].items():
            assert torch.equal(value, state[key])


def test_only_the_runs_of_the_call_are_read(tmp_path, caplog):
    """Runs of other calls may lie beside them: others may be trained there just now."""
    other = tmp_path / "tensorboard" / "t" / "another"
    other.mkdir(parents=True)
    runs = sn.train(SCRIPT, layer=NMU, **SHORT)
    assert (len(runs.table), len(runs)) == (4, 1)
    assert not caplog.messages


def test_a_class_of_the_program_needs_no_registering():
    runs = sn.train(SCRIPT, layer=Gain, layer_option={"gain": [1.0, 2.0]}, seed=range(2), **SHORT)
    assert runs["name"].nunique() == 4
    again = sn.train(SCRIPT, layer=Gain, layer_option={"gain": 2.0}, seed=0, resume=True, **SHORT)
    assert again["name"].nunique() == 1


CELL = """
class Mine(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))

    def forward(self, x):
        return {} * (self.W * x.unsqueeze(1)).sum(-1)
"""


def test_a_class_that_is_written_anew_is_another_layer():
    """As in a notebook, which keeps the text of its cells."""

    def written(place, gain):
        text, file, scope = CELL.format(gain), f"<cell {place}>", {"torch": torch, "__name__": "x"}
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), scope)
        return scope["Mine"]

    sn.train(SCRIPT, layer=written(0, 1), **SHORT)
    sn.train(SCRIPT, layer=written(1, 1), **SHORT)
    with pytest.raises(UsageError, match="holds a run of another configuration .*layer file"):
        sn.train(SCRIPT, layer=written(2, 3), **SHORT)


FACTOR = 1.0


def _times(y):
    return FACTOR * y


def made(k, *, base=torch.nn.Module, through="closure"):
    """A class named Made that multiplies by k, or by what else tells it from others."""

    class Made(base):
        factor = k

        def __init__(self, in_features, out_features, power=k):
            super().__init__()
            self.power = power
            self.W = torch.nn.Parameter(torch.ones(out_features, in_features))

        def forward(self, x):
            y = x @ self.W.mT
            if through == "closure":
                return k * y
            return {"global": _times, "object": lambda y: y + (k is None)}[through](y)

    return Made


class Doubling(torch.nn.Module):
    def extra(self):
        return 2


def test_classes_of_one_text_are_distinguished_by_what_they_read(monkeypatch):
    sn.train(SCRIPT, layer=made(1.0), **SHORT)
    sn.train(SCRIPT, layer=made(1.0), **SHORT)
    another = "holds a run of another configuration .*layer file"
    for layer in (made(2.0), made(1.0, base=Doubling), made(torch.ones(1))):
        with pytest.raises(UsageError, match=another):
            sn.train(SCRIPT, layer=layer, **SHORT)
    ours, how = made(1.0, through="global"), SHORT | {"name_prefix": "u"}
    sn.train(SCRIPT, layer=ours, **how)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 2.0)
    with pytest.raises(UsageError, match=another):
        sn.train(SCRIPT, layer=ours, **how)


def test_a_class_of_the_same_name_is_trained_by_its_own_formula():
    errors = [
        sn.train(SCRIPT, layer=made(k), **(SHORT | {"name_prefix": f"k{k}", "max_iterations": 0}))
        for k in (1.0, 3.0)
    ]
    one, other = (runs["metric.test.extrapolation"].iloc[0] for runs in errors)
    assert one != other
    with pytest.raises(UsageError, match="Made is another class than the one that was trained"):
        sn.load(errors[0][0])


def test_what_tells_a_class_from_others_and_cannot_be_recorded_is_refused(tmp_path):
    with (tmp_path / "notes.txt").open("w") as file, pytest.raises(UsageError) as raised:
        sn.train(SCRIPT, layer=made(file, through="object"), **SHORT)
    said = "Made reads Made.factor, which no record can tell"
    assert said in str(raised.value)


def test_workers_do_not_know_the_layers_of_a_program(tmp_path):
    """More processes begin without what this one has registered."""
    for workers in (2, None):
        with pytest.raises(UsageError, match="other processes cannot know Gain"):
            sn.train(SCRIPT, layer=Gain, seed=range(2), workers=workers, **SHORT)
    assert not (tmp_path / "tensorboard").exists()


@pytest.mark.parametrize(
    ("script", "flags", "says"),
    [
        ("single_layr", {}, "did you mean single_layer?"),
        (SCRIPT, {"max_iteration": 5}, "did you mean max_iterations?"),
        (SCRIPT, {"max_iterations": -5}, "^max_iterations: -5 is too small"),
        (SCRIPT, {"layer": "NMUU"}, "^layer: 'NMUU' is not a choice; did you mean NMU?"),
        (SCRIPT, {"layer": [NMU, NMU]}, "two of the runs have the name "),
        (SCRIPT, {"out": 3}, "out: 3 is not a path"),
        (SCRIPT, {"no_save": True, "checkpoint_interval": 5}, "nothing with no_save; give only"),
        (SCRIPT, {"layer": "NAC-sigma"}, "NAC-sigma is a model of two layers"),
        (SCRIPT, {"layer": torch.nn.Bilinear}, r"does not take \(in_features, out_features\)"),
        (SCRIPT, {"layer": Gain, "layer_option": {"gian": 2}}, "did you mean gain?"),
        (SCRIPT, {"layer": Gain(2, 1)}, "Gain is not a class"),
        (SCRIPT, {"dry_run": True}, "a call trains"),
        ("two_digit_mnist", {"evaluate": "x.pth"}, "a call trains; look at a model by stab"),
        (SCRIPT, {"interpolation_range": 5}, "5 is not a list of numbers"),
        (SCRIPT, {"nmu_noise": 0}, "nmu_noise: 0 is not a value of a switch; write True or Fa"),
        (SCRIPT, {"seed": []}, "seed: an empty list holds no value"),
        (SCRIPT, {"layer": Gain, "layer_option": {"gain": []}}, "gain: an empty list"),
        (SCRIPT, {"seed": ["1", "--no-save"]}, "seed: '--no-save' is not a value; a flag is"),
        (SCRIPT, {"seed": "-h"}, "seed: '-h' is not a value"),
        (SCRIPT, {"layer": Gain, "layer_type": NMU}, "layer: layer_type names a layer, too"),
        (SCRIPT, {"layer": "--help"}, "layer: '--help' is not a value"),
        (SCRIPT, {"layer_option": {"--no-save": 1}}, "'--no-save=1' is not a value"),
        (None, {}, "there is no training script None"),
        (SCRIPT, {"seed": range(10**7)}, "^seed: more than 100000 values are too many"),
        (SCRIPT, {"layer": itertools.repeat("NAC")}, "^layer: more than 100000 values"),
        (SCRIPT, {"seed": range(999), "learning_rate": [1 / k for k in range(1, 999)]}, "too many"),
        (SCRIPT, {"seed": 10**5000}, "^seed: .* digits"),
        (SCRIPT, {"layer": int}, "^layer: int is not a class of torch.nn.Module"),
        (SCRIPT, {"loss": 3}, "^loss: 3 is neither a name nor a function"),
        (SCRIPT, {"network": Gain, "layer": NMU}, "^network: a layer is given, too"),
        (SCRIPT, {"network": torch.nn.Linear(3, 1)}, "^network: Network fails on an input of"),
        (SCRIPT, {"out": "/dev/null"}, "^out: cannot write .*; name another folder"),
        (SCRIPT, {"name_prefix": "a\nb"}, "^name_prefix: the run name .* has a line break"),
    ],
)
def test_errors_are_exceptions_of_one_line(script, flags, says):
    with pytest.raises(UsageError, match=says) as raised:
        sn.train(script, **flags)
    assert "\n" not in str(raised.value)


def test_a_call_again_returns_what_is_trained_or_goes_on_and_nothing_is_printed(capsys):
    runs = sn.train(SCRIPT, layer=NMU, **SHORT)
    again = sn.train(SCRIPT, layer=NMU, **SHORT)
    pd.testing.assert_frame_equal(again.table, runs.table)
    longer = sn.train(SCRIPT, layer=NMU, **SHORT | {"max_iterations": 100})
    assert list(longer["step"]) == [0, 20, 40, 60, 80, 100]
    assert list(longer["wall.time"][:4]) == list(runs["wall.time"])
    anew = sn.train(SCRIPT, layer=NMU, remove_existing_data=True, **SHORT)
    assert anew["wall.time"].min() > runs["wall.time"].max()
    assert capsys.readouterr().out == ""
    with pytest.raises(UsageError, match="already holds data of a run: use remove_existing_data "):
        sn.train(SCRIPT, layer=NMU, resume=False, **SHORT)


def test_short_names_are_those_of_folders_and_models_and_tables_have_the_long_ones(tmp_path):
    how = SHORT | {"seed": [0, 1], "learning_rate": [0.1, 0.01]}
    named = sn.train(SCRIPT, layer=NMU, short_names=True, out=tmp_path / "s", **how)
    assert named.names == ["NMU lr=0.1 s0", "NMU lr=0.1 s1", "NMU lr=0.01 s0", "NMU lr=0.01 s1"]
    assert sn.load(named[1]).config.seed == 1
    sn.train(SCRIPT, layer=NMU, out=tmp_path / "l", **how)
    for name in "sl":
        folder = str(tmp_path / name / "tensorboard" / "t")
        export_csv(folder, str(tmp_path / f"{name}.csv"), None, progress_bar=False)
    tables = [pd.read_csv(tmp_path / f"{name}.csv").drop(columns="wall.time") for name in "sl"]
    tables = [table.sort_values(["name", "step"], ignore_index=True) for table in tables]
    pd.testing.assert_frame_equal(*tables)
    how["max_iterations"] = 80
    again = sn.train(SCRIPT, layer=NMU, short_names=True, out=tmp_path / "s", **how)
    assert again.names == named.names
    assert again["step"].max() == 80
    how["operation"] = "add"
    says = 'NMU lr=0.1 s0: it holds a run of another configuration .*operation: "mul" / "add"'
    with pytest.raises(UsageError, match=says):
        sn.train(SCRIPT, layer=NMU, short_names=True, resume=False, out=tmp_path / "s", **how)


def test_default_names_are_short_and_the_same_in_every_call(tmp_path):
    how = {"layer": "NMU", "out": tmp_path, **SHORT}
    runs = sn.train(SCRIPT, seed=[0, 1], **how)
    assert runs.names == ["NMU mul s0", "NMU mul s1"]
    many = sn.train(SCRIPT, seed=[0, 1, 2], learning_rate=[0.1, 1e-3], **how)
    assert many.names[:3] == [f"NMU mul lr=0.1 s{seed}" for seed in range(3)]
    assert many.names[3:] == [*runs.names, "NMU mul s2"]
    again = many.at(run.folder for run in runs)
    pd.testing.assert_frame_equal(again.table[list(runs.table)], runs.table)


def test_runs_that_are_there_keep_their_published_names(tmp_path):
    how = {"layer": "NMU", "out": tmp_path, **SHORT}
    runs = sn.train(SCRIPT, short_names=False, **how)
    assert runs.names[0].startswith("reregualizedlinearmnac_op-mul_")
    assert sn.train(SCRIPT, **how).table.equals(runs.table)
    both = sn.train(SCRIPT, seed=[0, 1], **how)
    assert both.names == [*runs.names, "NMU mul s1"]


def test_every_combination_is_trained_in_the_order_of_the_call():
    how = SHORT | {"operation": ["mul", "add"], "learning_rate": [0.1, 0.01], "seed": [3, 1]}
    runs = sn.train(SCRIPT, layer=[Gain, "NAC"], **how)
    assert len(runs) == 16
    names = ("operation", "layer_type", "learning_rate", "seed")
    found = [tuple(run.config[name] for name in names) for run in runs]
    expected = itertools.product(("mul", "add"), ("Gain", "NAC"), (0.1, 0.01), (3, 1))
    assert found == list(expected)
    assert len(sn.summarize(runs)) == 8


def test_python_writes_below_the_current_folder_or_out(tmp_path, monkeypatch):
    elsewhere = sn.train(SCRIPT, layer=NMU, out=tmp_path / "mine", **SHORT)
    assert elsewhere[0].folder.is_relative_to(tmp_path / "mine" / "tensorboard" / "t")
    assert os.environ["SAVE_DIR"] == str(tmp_path / "save")
    for variable in ("TENSORBOARD_DIR", "SAVE_DIR"):
        monkeypatch.delenv(variable)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    here = sn.train(SCRIPT, layer=NMU, **SHORT)
    assert here[0].folder.is_relative_to(tmp_path / "here" / "tensorboard" / "t")
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"tensorboard", "save"}
    assert "SAVE_DIR" not in os.environ


def test_ctrl_c_saves_and_is_raised_again(monkeypatch):
    end_unit, sent = Training._end_unit, []

    def interrupted(self, units):
        if self.at and not sent:
            sent.append(self.at)
            os.kill(os.getpid(), signal.SIGINT)
        return end_unit(self, units)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(Training, "_end_unit", interrupted)
    with pytest.raises(KeyboardInterrupt, match="everything is saved; the same call goes on"):
        sn.train(SCRIPT, layer=NMU, seed=range(2), **SHORT)
    monkeypatch.setattr(Training, "_end_unit", end_unit)
    assert signal.getsignal(signal.SIGINT) == before
    resumed = sn.train(SCRIPT, layer=NMU, seed=range(2), **SHORT)
    whole = sn.train(SCRIPT, layer=NMU, seed=range(2), **{**SHORT, "name_prefix": "whole"})
    values = ["step", "metric.test.extrapolation", "metric.valid.interpolation"]
    assert resumed[values].equals(whole[values])


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
    command = (sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable)
    done = subprocess.run([*command, "-p", tmp_path], capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not start: {done.stderr[-200:]}")
    lines = path.read_text(encoding="utf-8").splitlines()
    found = json.loads(done.stdout)["generalDiagnostics"]
    flagged = {lines[one["range"]["start"]["line"]]: one["message"] for one in found}
    assert set(flagged) == {line for line in lines if line.endswith("# wrong")}, flagged
