"""The mystery arithmetic problem: names, bad input, batches, what is measured, logged, exported."""

import numpy as np
import pandas as pd
import pytest
import torch

from stable_nalu.dataset.mystery import MysteryProblem
from stable_nalu.options import OptionError
from stable_nalu.result.exporters import any_runs
from stable_nalu.task import SCRIPTS
from stable_nalu.training.stack import Setup
from stable_nalu.training.tasks.mystery import MysteryTask
from tests.experiments.scripts import read, run, run_names
from tests.training.tasks.resuming import assert_an_interruption_changes_nothing

SCRIPT = "mystery_arithmetic"
SMALL = (
    *("--input-size", "8", "--output-size", "4", "--train-size", "70", "--test-size", "40"),
    *("--log-interval", "2", "--workers", "1"),
)
MSE = "metric/test/mse"


def plan(words: str):
    return SCRIPTS[SCRIPT].plan(words.split())


def task(words: str = "") -> MysteryTask:
    configs = plan(words).configs
    return MysteryTask(configs, torch.device("cpu"), stacked=len(configs) > 1)


@pytest.mark.parametrize(
    ("words", "leaf"),
    [
        ("--layer-type vanilla --seed 3", "vanilla_b32_s3_lr-adam-0.00100"),
        ("--nalu-variant two-nac", "nalu_v-two-nac_b32_s0_lr-adam-0.00100"),
        ("--input-size 9 --output-size 2", "nalu_n9_m2_b32_s0_lr-adam-0.00100"),
        ("--operations mul,add", "nalu_op-add-mul_b32_s0_lr-adam-0.00100"),
        ("--operations div,sub", "nalu_op-sub-div_b32_s0_lr-adam-0.00100"),
        ("--train-range [0,5] --test-range [-9,9]", "nalu_i-0-5_e--9-9_b32_s0_lr-adam-0.00100"),
        ("--train-size 500 --shuffle", "nalu_t500-1000_sh_b32_s0_lr-adam-0.00100"),
        ("--problem-seed 0 --batch-size 8", "nalu_p0_b8_s0_lr-adam-0.00100"),
        (
            "--nalu-variant custom --nalu-two-nac --nalu-gate independent",
            "nalu_v-custom_b32_s0_lr-adam-0.00100_nalu-2ni",
        ),
    ],
)  # fmt: skip
def test_names(words, leaf):
    (config,) = plan(words).configs
    assert SCRIPTS[SCRIPT].leaf(config) == leaf


@pytest.mark.parametrize(
    ("words", "flag", "problem"),
    [
        ("--input-size 1", "--input-size", "two different operands, there is 1 input; give 2"),
        ("--output-size 0", "--output-size", "smallest value is 1"),
        ("--train-size 0", "--train-size", "smallest value is 1"),
        ("--operations add,mull", "--operations", "did you mean mul"),
        ("--operations add,sub,add", "--operations", "add is given twice"),
        ("--operations add,", "--operations", "'' is not a choice; choose one of add, sub"),
        ("--train-range [10,-10]", "--train-range", "low end above"),
        ("--test-range [0,0]", "--test-range", "is empty"),
        ("--nalu-variant papers", "--nalu-variant", "not a choice"),
        ("--layer-type vanila", "--layer-type", "did you mean vanilla"),
        ("--layer-type NAC --nalu-variant shared", "--nalu-variant", "--layer-type is NAC"),
        ("--nalu-gate normal", "--nalu-gate", "what --nalu-variant article says; add --nalu-var"),
        ("--layer-type vanilla --nalu-gate linear", "--nalu-gate", "vanilla is no NALU"),
        ("--problem-seed -1", "--problem-seed", "smallest value is 0"),
    ],
)
def test_bad_input(words, flag, problem):
    with pytest.raises(OptionError, match=problem) as refused:
        plan(words)
    assert refused.value.flag == flag


def test_batches_of_an_epoch_are_31_full_ones_and_one_of_8_in_order():
    batches = list(task().batches(0))
    assert [len(x) for x, _ in batches] == [32] * 31 + [8]
    x, t = MysteryProblem(100, 10, ("add", "sub", "mul"), 0).training_rows(-10, 10, 1000)
    assert torch.equal(torch.cat([x for x, _ in batches]), x.float())
    assert torch.equal(torch.cat([t for _, t in batches]), t.float())


def test_shuffled_batches_hold_the_same_rows_in_an_order_of_the_epoch():
    words = "--input-size 3 --train-size 50 --shuffle"
    plain = torch.cat([x for x, _ in task(words.removesuffix("--shuffle")).batches(0)])
    first, again, second = (
        torch.cat([x for x, _ in shuffled.batches(epoch)])
        for shuffled, epoch in ((task(words), 0), (task(words), 0), (task(words), 1))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, plain)
    assert not torch.equal(first, second)
    for rows in (first, second):
        assert torch.equal(rows.sort(0).values, plain.sort(0).values)


@pytest.mark.parametrize("more", ["", "--shuffle", "--problem-seed 4"])
def test_a_stack_has_the_data_of_its_runs(more):
    words = "--input-size 5 --output-size 3 --train-size 40 --test-size 9 --seed "
    together = task(f"{words} 0-2 {more}")
    for seed in range(3):
        alone = task(f"{words} {seed} {more}")
        for (x, t), (own_x, own_t) in zip(together.batches(2), alone.batches(2), strict=True):
            assert torch.equal(x[seed], own_x)
            assert torch.equal(t[seed], own_t)
        text = together.texts(torch.nn.Module(), first=True, last=False)["problem"][seed]
        assert text == alone.texts(torch.nn.Module(), first=True, last=False)["problem"][0]


def test_a_fixed_problem_leaves_start_weights_to_the_seed():
    spec = SCRIPTS[SCRIPT]
    configs = plan("--input-size 4 --problem-seed 9 --seed 0-1").configs
    setup = Setup(configs, ["a", "b"], [spec.layer_options(c) for c in configs],
                  torch.device("cpu"), stacked=True)  # fmt: skip
    from stable_nalu.task.run import kind_of

    training = kind_of(SCRIPT).build(setup)
    assert training.task.problems[0].outputs == training.task.problems[1].outputs
    assert all(not torch.equal(*parameter) for parameter in training.model.parameters())


def test_measures_by_hand():
    """Of a model that answers zero, the errors are mean squares of the outputs."""
    own = task("--seed 0-1")
    found = own.measures(lambda x: x.new_zeros((*x.shape[:-1], 10)))
    for run_, problem in enumerate(own.problems):
        _, t = problem.test_rows(-10, 10, 1000)
        assert found[MSE][run_].item() == pytest.approx((t**2).mean().item(), rel=1e-5)
        for name in ("add", "sub", "mul"):
            of = [k for k, output in enumerate(problem.outputs) if output.operation == name]
            expected = (t[:, of] ** 2).mean().item() if of else np.nan
            error = found[f"{MSE}/{name}"][run_].item()
            assert error == pytest.approx(expected, rel=1e-5, nan_ok=True)


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


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (("--seed", "0-1", "--shuffle"), 5),
        (("--seed", "0-1", "--layer-type", "MultiWeightNAU"), 4),
        (("--layer-type", "MultiWeightNAU"), 7),
    ],
    ids=["shuffled", "weights that take turns", "the last unit"],
)
def test_an_interrupted_run_ends_as_if_nothing_had_happened(words, at, monkeypatch):
    words = (*SMALL, *words, "--max-epochs", "7")
    assert_an_interruption_changes_nothing(monkeypatch, SCRIPT, words, at)


ARTICLE = {"vanilla": ("--layer-type", "vanilla"), "NAC": ("--layer-type", "NAC"), "article": ()}
GATED = {name: ("--nalu-variant", name) for name in ("two-nac", "shared")}


@pytest.mark.slow
def test_the_articles_claims():
    """Two problems, trained as long as the article does; squashed gates only half as long."""
    logs = {}
    for epochs, models in ((250, ARTICLE), (125, GATED)):
        for name, words in models.items():
            words = (*words, "--seed", "0-1", "--workers", "1", "--no-save", "--log-interval")
            words = (*words, "125", "--max-epochs", str(epochs))
            assert run(SCRIPT, *words) == 0
            logs[name] = [read(one) for one in run_names(SCRIPT, *words)]

    def errors(name: str, epoch: int = 250, of: str = "test") -> np.ndarray:
        tag = f"metric/{of.replace('/', '/mse/', 1)}" if "/" in of else f"metric/{of}/mse"
        return np.array([log.series(tag)[epoch] for log in logs[name]])

    for of in ("train", "test"):
        assert (errors("article", of=of) < errors("vanilla", of=of) / 2).all()
        for gated in GATED:
            assert (errors(gated, 125, of) > errors("article", 125, of)).all()
    assert (errors("NAC", of="train") < errors("vanilla", of="train")).all()
    # They swap places on test rows: on average, a problem of few products may keep them.
    assert errors("NAC").mean() > errors("vanilla").mean()
    assert max(*errors("NAC", of="test/add"), *errors("NAC", of="test/sub")) < 1
