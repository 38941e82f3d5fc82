"""Sums over time against untrained networks: fixed sequences, the task of table 1, overflows."""

import math
from dataclasses import replace

import pytest
import torch

from stable_nalu.dataset.distribution import ExtrapolationRange
from stable_nalu.dataset.simple_function import SimpleFunctionRecurrentDataset
from stable_nalu.functional import mse
from stable_nalu.network import SimpleFunctionRecurrentNetwork
from stable_nalu.statistics.thresholds import ArithmeticTask, closed_form
from stable_nalu.task import simple_function_recurrent as sums
from stable_nalu.task.table import SCRIPTS
from tests.ensemble.plans import furthest, train, trained
from tests.experiments.scripts import read, run, run_names

SCRIPT = "simple_function_recurrent"
SHORT = ("--interpolation-length", "3", "--extrapolation-length", "7", "--batch-size", "8")
TABLE = ("--input-range", "[0,1]", "--subset-ratio", "0.25", "--learning-rate", "1e-2")
WORDS = (*SHORT, *TABLE, "--clip-grad-norm", "1", "--random-models", "2")
ERRORS = "metric/valid/interpolation", "metric/test/extrapolation"
UNTRAINED = "metric/random/interpolation", "metric/random/extrapolation"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Errors on fewer sequences, at every second iteration."""
    monkeypatch.setattr(sums, "SCORED_ROWS", (64, 32))
    monkeypatch.setattr(sums, "EVALUATION_BLOCK", 16)
    every = replace(sums.SumsTask.logging, interval=2)
    monkeypatch.setattr(sums.SumsTask, "logging", every)


def test_one_update_by_hand():
    words = (*WORDS, "--layer-type", "LSTM", "--operation", "mul", "--seed", "4")
    assert run(SCRIPT, *words, "--max-iterations", "0") == 0
    (name,) = run_names(SCRIPT, *words)
    assert name.endswith("lstm_mul_4_i-3_e-7_u-0-1_z-10-0.25-0.5_b8_lr-adam-0.01000-0.0_gn-1.0_rm2")
    record = read(name)

    dataset = SimpleFunctionRecurrentDataset("mul", seed=4, subset_ratio=0.25)
    assert [end - start for start, end in dataset.subset_ranges] == [2, 2]
    assert dataset.subset_ranges[1][0] - dataset.subset_ranges[0][0] == 1
    training = dataset.fork(3, [0, 1])
    torch.manual_seed(4)
    network = SimpleFunctionRecurrentNetwork("LSTM")
    network.reset_parameters()
    torch.manual_seed(1)
    untrained = [sums.UntrainedLSTM(10, 2) for _ in range(2)]
    for length, seed, rows, error, base in (
        (3, 43953907, 64, ERRORS[0], UNTRAINED[0]),
        (7, 8689336, 32, ERRORS[1], UNTRAINED[1]),
    ):
        x, t = dataset.fork(length, [0, 1], seed)[0:rows]
        a, b = (x[..., i:j].sum((1, 2)) for i, j in dataset.subset_ranges)
        torch.testing.assert_close(t[:, 0], a * b)
        with torch.no_grad():
            assert record.series(error)[0] == pytest.approx(mse(network(x), t).item(), rel=1e-5)
            errors = [mse(model(x), t) for model in untrained]
            absolute = (network(x) - t).abs().mean()
        assert record.series(base)[0] == pytest.approx(sum(errors).item() / 2, rel=1e-5)
        roots = sum(error.sqrt() for error in errors).item() / 2
        assert record.series(f"{base}/rmse")[0] == pytest.approx(roots, rel=1e-5)
        assert record.series(f"{error}/mae")[0] == pytest.approx(absolute.item(), rel=1e-5)
    x, t = training[0:8]
    loss = mse(network(x), t).item()
    assert record.series("loss/train/critation")[0] == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("unit", ["LSTM", "RNN-ReLU", "NAC", "NALU", "MC-LSTM"])
def test_the_units_of_the_table_alone_together_and_in_torch(unit, tmp_path):
    words = (*WORDS, "--layer-type", unit, "--max-iterations", "6")
    assert train(tmp_path / "together", SCRIPT, *words, "--seed", "0-2") == 0
    assert train(tmp_path / "alone", SCRIPT, *words, "--seed", "2") == 0
    assert train(tmp_path / "torch", SCRIPT, *words, "--seed", "0-2", "--engine", "torch") == 0
    together, torchs = trained(tmp_path / "together"), trained(tmp_path / "torch")
    assert together.keys() == torchs.keys()
    for name, one in trained(tmp_path / "alone").items():
        assert max(furthest(one, together[name]).values()) == 0
    for name, one in torchs.items():
        worst = furthest(one, together[name])
        # The exponentials of a NALU make more of the last bits of its sigmoids.
        limit = 1e-2 if unit == "NALU" else 1e-4
        assert {tag for tag, value in worst.items() if value > limit} == set()


def test_a_length_of_validation_fixes_sequences_and_a_threshold(monkeypatch):
    monkeypatch.setattr(sums, "FIXED_ROWS", (16, 16))
    ramp = "--regualizer 10 --regualizer-scaling linear --regualizer-scaling-start 0"
    words = (
        "--layer-type",
        "MC-LSTM",
        *SHORT,
        "--validation-length",
        "5",
        "--subset-ratio",
        "0.25",
    )
    words = (*words, *ramp.split(), "--regualizer-scaling-end", "4", "--readout-l2", "0.5")
    assert run(SCRIPT, *words, "--max-iterations", "4") == 0
    (name,) = run_names(SCRIPT, *words)
    assert name.endswith("_v-5_l2-0.5_rr-linear-10.0-0-4")
    record = read(name)
    x, t = SimpleFunctionRecurrentDataset("add", seed=0, subset_ratio=0.25).fork(
        5, [1, 2], 43953907
    )[0:16]
    torch.manual_seed(0)
    network = SimpleFunctionRecurrentNetwork("MC-LSTM", readout_l2=0.5)
    network.reset_parameters()
    with torch.no_grad():
        assert record.series(ERRORS[0])[0] == pytest.approx(mse(network(x), t).item(), rel=1e-5)
        penalty = network.regualizer_terms()["L2"]().item()
    assert record.series("loss/train/regualizer")[0] == pytest.approx(penalty, rel=1e-5)
    assert list(record.series(ERRORS[1])) == [0, 2, 4]
    config = SCRIPTS[SCRIPT].plan([*words]).configs[0]
    assert sums.solved_below(config) == closed_form(
        ArithmeticTask("add", ExtrapolationRange(1, 2), 10, 0.25, 0.5, steps=7)
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--layer-type NAC --readout-l2 1", "argument --readout-l2: weighs a linear read-out"),
        ("--regualizer-scaling linear --regualizer-scaling-start 9", "--regualizer-scaling-end"),
    ],
)
def test_penalties_that_cannot_be_are_refused(words, problem, capsys):
    assert run(SCRIPT, *words.split()) == 2
    assert problem in capsys.readouterr().err


def test_an_overflow_is_logged_and_ends_nothing():
    words = ("--interpolation-length", "2", "--extrapolation-length", "300", "--batch-size", "8")
    words = (*words, "--random-models", "2", "--operation", "mul", "--layer-type", "MNAC")
    assert run(SCRIPT, *words, "--max-iterations", "4") == 0
    record = read(run_names(SCRIPT, *words)[0])
    errors = record.series(ERRORS[1])
    assert list(errors) == [0, 2, 4]
    assert not all(math.isfinite(error) for error in errors.values())
    assert all(math.isfinite(base) for base in record.series(UNTRAINED[1]).values())
