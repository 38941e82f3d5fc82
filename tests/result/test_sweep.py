"""Runs of one's own in tasks: a file of flags, an array job, processes of this machine."""

import pandas as pd
import pytest
import torch

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import tensorboard_root
from tests.experiments.scripts import run

SWEEP = """
operation = "mul"
layer-type = ["NMU", "NAU"]
seed = "0-1"
max_iterations = 20
interpolation-range = [[1, 2], [-2, -1]]

[[also]]
operation = "add"
"""
TYPED = "--seed 0-1 --max-iterations 20 --interpolation-range [1,2] [-2,-1]"


@pytest.fixture
def sweep(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return f"--sweep {tmp_path / 'sweep.toml'}"


def main(words, capsys):
    """Run `single_layer` and return what it says."""
    capsys.readouterr()
    assert run("single_layer", words) == 0
    return capsys.readouterr().out


def test_a_sweep_file_equals_typed_flags(sweep, capsys):
    names = main(f"{sweep} --dry-run --learning-rate 0.1", capsys)
    every = (f"--operation {o} --layer-type {u}" for o in ("mul", "add") for u in ("NMU", "NAU"))
    typed = [main(f"{one} {TYPED} --learning-rate 0.1 --dry-run", capsys) for one in every]
    assert names == "".join(typed)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("learnin-rate = 1", "no argument 'learnin_rate'; did you mean learning_rate?"),
        ("learning-rate = 'x'", "learning_rate: 'x' is not a number"),
        ("no-save = 1", "no_save: 1 is not a value of a switch"),
        ("also = 1", "write [[also]]"),
        ("seed = [0", "Unclosed array"),
        ("[[also]]\nverbose = true", "two blocks have a run of the name"),
    ],
)
def test_a_wrong_sweep_file_is_refused(text, says, tmp_path, capsys):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    assert run("single_layer", f"--sweep {path}") == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert "two blocks" in says or str(path) in err


def test_an_array_job_has_the_words_of_its_script(record, tmp_path, sweep, capsys):
    words = f"{sweep} --tasks 3 --log-dir {tmp_path}/logs --partition own --scheduler"
    printed = main(f"{words} slurm --dry-run", capsys)
    assert not (tmp_path / "sbatch.json").exists()
    main(f"{words} slurm", capsys)
    path = tmp_path / "logs" / "t" / "slurm.sh"
    assert record("sbatch")[0] == [str(path)]
    assert printed.startswith(path.read_text())
    for line in ("#SBATCH --array=0-2", "#SBATCH --partition=own"):
        assert line in path.read_text().splitlines()
    assert f'run.sh" t --no-cuda --name-prefix t {sweep} --tasks 3' in path.read_text()
    main(f"{words} lsf", capsys)
    assert f"export TENSORBOARD_DIR={tensorboard_root()}" in record("bsub")[1]


def test_tasks_train_the_runs_of_the_command(tmp_path, sweep, capsys, monkeypatch):
    for number in range(3):
        main(f"{sweep} --tasks 3 --shard {number}", capsys)
    assert main(f"{sweep} --scheduler local --tasks 3", capsys) == "nothing left to train\n"
    found = sn.read_runs(tensorboard_root())
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / "alone"))
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "saved"))
    main(sweep, capsys)
    alone = sn.read_runs(tmp_path / "alone")
    tables = [runs.table.drop(columns="wall.time") for runs in (found, alone)]
    assert len(alone) == 16
    pd.testing.assert_frame_equal(*tables)
    differ = {n for n, v in found[0].config.items() if alone[0].config[n] != v}
    assert differ == {"resume", "workers", "checkpoint_interval"}


@pytest.mark.slow
def test_a_program_submits_a_task_of_its_own(tmp_path):
    task = sn.task("x1 * x2", train=(1, 2), test=(2, 6))
    how = {"layer": ["NMU", "NAU"], "seed": range(2), "max_iterations": 20, "out": tmp_path}
    done = sn.submit(task, scheduler="local", tasks=2, **how)
    assert "4 runs in 2 tasks" in done.said
    runs = sn.train(task, **how)
    assert list(runs.table["name"].unique()) == [r.name for r in sn.read_runs(tmp_path)]


def test_a_program_learns_the_number_of_its_job(record, tmp_path):
    done = sn.submit("single_layer", scheduler="lsf", layer="NMU", seed=range(9), out=tmp_path)
    assert done.job == "7"
    assert "experiments/single_layer.py --sweep " in done.command


OBJECTS = {
    "layer": type("Own", (torch.nn.Linear,), {}),
    "network": torch.nn.Linear(2, 1),
    "loss": lambda y, t: (y - t).abs().mean(),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_a_program_are_not_submitted(name, tmp_path):
    with pytest.raises(UsageError, match=f"^{name}: other processes cannot know"):
        sn.submit("single_layer", scheduler="slurm", out=tmp_path, **{name: OBJECTS[name]})
    assert not list(tmp_path.iterdir())
