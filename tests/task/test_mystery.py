"""The mystery arithmetic problem: what is drawn, batches, what is measured, logged, exported."""

import numpy as np
import pytest
import torch

from stable_nalu.task.mystery_arithmetic import OPERATIONS, TEST, TRAIN, MysteryProblem, MysteryTask
from stable_nalu.task.table import SCRIPTS
from tests.experiments.scripts import exported, read, run, run_names, saved
from tests.training.configurations import built

SCRIPT = "mystery_arithmetic"
SMALL = (
    *("--input-size", "8", "--output-size", "4", "--train-size", "70", "--test-size", "40"),
    *("--log-interval", "2", "--workers", "1"),
)
MSE = "metric/test/mse"
PROBLEM = "problem/text_summary"


def task(words: str = "") -> MysteryTask:
    return built(SCRIPT, words)


SIGNED = ("add", "sub", "mul")


def problem(seed=0, inputs=100, outputs=10, operations=SIGNED):
    return MysteryProblem(inputs, outputs, operations, seed)


def test_outputs_by_hand():
    asked = problem(inputs=3, outputs=4)
    asked.outputs = [
        asked.outputs[0]._replace(i=i, j=j, operation=name)
        for i, j, name in ((0, 1, "add"), (2, 0, "sub"), (1, 2, "mul"), (1, 0, "div"))
    ]
    x = np.array([[2.0, -3.0, 0.5], [4.0, 0.0, -1.0]])
    assert asked.solve(x).tolist() == [[-1, -1.5, -1.5, -1.5], [4, -5, 0, 0]]


def test_rows_are_uniform_on_their_range_and_solved():
    asked = problem(7)
    for stream, low, high in ((TRAIN, -10, 10), (TEST, 5, 50)):
        x, t = asked.rows(stream, 1000, low, high)
        assert x.shape == (1000, 100)
        assert t.shape == (1000, 10)
        assert low <= x.min() < x.max() < high
        assert x.mean().item() == pytest.approx((low + high) / 2, abs=(high - low) / 100)
        for k, (i, j, name) in enumerate(asked.outputs):
            assert torch.equal(t[:, k], OPERATIONS[name](x[:, i], x[:, j]))


def test_shuffled_batches_hold_the_same_rows_in_an_order_of_the_epoch():
    words = "--input-size 3 --train-size 50 --shuffle"
    plain = torch.cat([x for x, _ in task(words.removesuffix("--shuffle")).batches()])
    shuffled, other = task(words), task(words)
    first, again = (torch.cat([x for x, _ in one.batches()]) for one in (shuffled, other))
    shuffled.at = 1
    second = torch.cat([x for x, _ in shuffled.batches()])
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
    _, t = own.problem.rows(TEST, 1000, -10, 10)
    assert found[MSE].item() == pytest.approx((t**2).mean().item(), rel=1e-5)
    for name in ("add", "sub", "mul"):
        of = [k for k, output in enumerate(own.problem.outputs) if output.operation == name]
        expected = (t[:, of] ** 2).mean().item() if of else np.nan
        assert found[f"{MSE}/{name}"].item() == pytest.approx(expected, rel=1e-5, nan_ok=True)


def test_what_is_logged_and_exported():
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
    table = exported()
    measured = [name for name in table if name.startswith(("metric.", "loss."))]
    assert sorted(measured) == [
        "loss.train.epoch",
        "metric.test.extrapolation",
        "metric.test.mse",
        "metric.test.mse.add",
        "metric.test.mse.div",
        "metric.test.mse.mul",
        "metric.train.mse",
        "metric.valid.interpolation",
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
        losses = [((model(x) - t) ** 2).mean().item() for x, t in own.batches()]
    assert len(losses) == 3
    assert log.series("loss/train/epoch")[0] == pytest.approx(sum(losses) / 3, rel=1e-5)
