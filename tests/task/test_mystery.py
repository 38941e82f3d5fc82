"""The mystery arithmetic problem: names, bad input, batches, what is measured, logged, exported."""

import numpy as np
import pandas as pd
import pytest
import torch

from stable_nalu.result.exporters import any_runs
from stable_nalu.task import SCRIPTS
from stable_nalu.task.mystery_arithmetic import MysteryProblem, MysteryTask
from tests.experiments.scripts import read, run, run_names, saved

SCRIPT = "mystery_arithmetic"
SMALL = (
    *("--input-size", "8", "--output-size", "4", "--train-size", "70", "--test-size", "40"),
    *("--log-interval", "2", "--workers", "1"),
)
MSE = "metric/test/mse"
PROBLEM = "problem/text_summary"


def plan(words: str):
    return SCRIPTS[SCRIPT].plan(words.split())


def task(words: str = "") -> MysteryTask:
    (config,) = plan(words).configs
    return MysteryTask(config, torch.device("cpu"))


def test_batches_of_an_epoch_are_31_full_ones_and_one_of_8_in_order():
    batches = list(task().batches(0))
    assert [len(x) for x, _ in batches] == [32] * 31 + [8]
    x, t = MysteryProblem(100, 10, ("add", "sub", "mul"), 0).training_rows(-10, 10, 1000)
    assert torch.equal(torch.cat([x for x, _ in batches]), x.float())
    assert torch.equal(torch.cat([t for _, t in batches]), t.float())


def test_shuffled_batches_hold_the_same_rows_in_an_order_of_the_epoch():
    words = "--input-size 3 --train-size 50 --shuffle"
    plain = torch.cat([x for x, _ in task(words.removesuffix("--shuffle")).batches(0)])
    shuffled, other = task(words), task(words)
    first, again = (torch.cat([x for x, _ in one.batches(0)]) for one in (shuffled, other))
    shuffled.at = 1
    second = torch.cat([x for x, _ in shuffled.batches(0)])
    assert torch.equal(first, again)
    assert not torch.equal(first, plain)
    assert not torch.equal(first, second)
    for rows in (first, second):
        assert torch.equal(rows.sort(0).values, plain.sort(0).values)


def test_a_fixed_problem_leaves_start_weights_to_the_seed():
    words = ("--input-size", "4", "--problem-seed", "9", "--seed", "0-1", "--workers", "1")
    assert run(SCRIPT, *words, "--max-epochs", "0", "--learning-rate", "0") == 0
    one, other = run_names(SCRIPT, *words, "--learning-rate", "0")
    assert read(one).values[0, PROBLEM] == read(other).values[0, PROBLEM]
    states = [saved(name)["model_state_dict"].values() for name in (one, other)]
    assert all(not torch.equal(*parameter) for parameter in zip(*states, strict=True))


def test_measures_by_hand():
    """Of a model that answers zero, the errors are mean squares of the outputs."""
    own = task("--output-size 3")
    found = own.measures(lambda x: x.new_zeros((len(x), 3)))
    _, t = own.problem.test_rows(-10, 10, 1000)
    assert found[MSE].item() == pytest.approx((t**2).mean().item(), rel=1e-5)
    for name in ("add", "sub", "mul"):
        of = [k for k, output in enumerate(own.problem.outputs) if output.operation == name]
        expected = (t[:, of] ** 2).mean().item() if of else np.nan
        assert found[f"{MSE}/{name}"].item() == pytest.approx(expected, rel=1e-5, nan_ok=True)


def test_what_is_logged_and_exported(tmp_path, capsys):
    words = (*SMALL, "--max-epochs", "3", "--seed", "0-1", "--operations", "add,mul,div")
    assert run(SCRIPT, *words) == 0
    first, _ = run_names(SCRIPT, *words)
    log = read(first)
    assert sorted(log.series(MSE)) == [0, 2, 3]
    assert log.series("loss/train/epoch") == log.series("loss/train/critation")
    (text,) = log.values[0, "problem/text_summary"]
    asked = MysteryProblem(8, 4, ("add", "mul", "div"), 0).outputs
    rows = [f"| {k} | {o.i} | {o.operation} | {o.j} |" for k, o in enumerate(asked)]
    assert text.decode().splitlines()[2:] == rows
    out = tmp_path / "runs.csv"
    folder = ("--tensorboard-dir", str(tmp_path / "tensorboard" / "t"))
    assert any_runs((*folder, "--csv-out", str(out))) == 0
    capsys.readouterr()
    table = pd.read_csv(out)
    measured = [name for name in table if name.startswith(("metric.", "loss."))]
    assert sorted(measured) == [
        "loss.train.epoch",
        "metric.test.mse",
        "metric.test.mse.add",
        "metric.test.mse.div",
        "metric.test.mse.mul",
        "metric.train.mse",
    ]
    assert len(table) == 6
    assert set(table["operations"]) == {"add,mul,div"}
    end = table[(table["step"] == 3) & (table["seed"] == 0)].iloc[0]
    assert end["metric.test.mse"] == pytest.approx(log.series(MSE)[3], rel=1e-6)


def test_the_loss_of_an_epoch_is_the_mean_of_its_batches():
    """A learning rate of zero leaves the weights: batches of 32, 32 and 6 count the same."""
    words = (*SMALL, "--max-epochs", "0", "--learning-rate", "0", "--layer-type", "NAC")
    assert run(SCRIPT, *words, "--id", "1") == 0
    log = read(*run_names(SCRIPT, *words, "--id", "1"))
    own = task(" ".join(words))
    torch.manual_seed(0)
    model = own.network(own.config, SCRIPTS[SCRIPT].layer_options(own.config))
    model.reset_parameters()
    with torch.no_grad():
        losses = [((model(x) - t) ** 2).mean().item() for x, t in own.batches(0)]
    assert len(losses) == 3
    assert log.series("loss/train/epoch")[0] == pytest.approx(sum(losses) / 3, rel=1e-5)
