import math
from dataclasses import replace

import pytest
import torch

from stable_nalu.dataset.simple_function import SimpleFunctionRecurrentDataset
from stable_nalu.functional import mse
from stable_nalu.network import SimpleFunctionRecurrentNetwork
from stable_nalu.result import run_script as run_whole
from stable_nalu.task import simple_function_recurrent as sums
from stable_nalu.task.table import SCRIPTS, TASKS
from tests.sequence_runs import logged, results

SCRIPT = "simple_function_recurrent"
LOSSES = ("loss/train/critation", "loss/train/regualizer", "loss/train/total")
VALID = ("loss/valid/interpolation", "loss/valid/extrapolation")

# Two hidden products square each other at every step: a sequence of ten overflows at once.
OVERFLOWS = {"MNAC", "ReRegualizedLinearMNAC", "GumbelMNAC"}


def values(log, tag):
    return [value for _, value in log[tag]]


@pytest.fixture
def short(monkeypatch):
    """Evaluation on fewer sequences, at every second iteration."""
    monkeypatch.setattr(sums, "EVALUATION_ROWS", 64)
    monkeypatch.setattr(sums, "EVALUATION_BLOCK", 16)
    every = replace(sums.SumsTask.logging, interval=2)
    monkeypatch.setattr(sums.SumsTask, "logging", every)


def run_script(script, argv):
    """Train with shorter test sequences."""
    return run_whole(SCRIPTS[script], TASKS[script], [*argv, "--extrapolation-length", "15"])


def test_one_update_by_hand(capsys, monkeypatch):
    dataset = SimpleFunctionRecurrentDataset("sub", seed=4)
    train, inter, extra = dataset.fork(10), dataset.fork(10), dataset.fork(1000)
    torch.manual_seed(4)
    network = SimpleFunctionRecurrentNetwork("GRU")
    network.reset_parameters()
    optimizer = torch.optim.Adam(network.parameters())

    def errors():
        with torch.no_grad():
            return [mse(network(x), t).item() for x, t in (inter[0:2048], extra[0:2048])]

    before = errors()
    x, t = train[0:128]
    loss = mse(network(x), t)
    loss.backward()
    optimizer.step()
    after = errors()

    argv = [
        "--layer-type",
        "GRU",
        "--operation",
        "sub",
        "--seed",
        "4",
        "--max-iterations",
        "0",
        "--verbose",
    ]
    monkeypatch.setenv("STABLE_NALU_ENGINE", "torch")
    assert run_whole(SCRIPTS[SCRIPT], TASKS[SCRIPT], argv) == 0
    log = logged(f"{SCRIPT}/gru_sub_4")
    assert [values(log, tag) for tag in VALID] == [[pytest.approx(e, rel=1e-5)] for e in before]
    assert values(log, "loss/train/critation") == [pytest.approx(loss.item(), rel=1e-5)]
    (record,) = results(SCRIPT)
    assert list(record) == [
        "seed",
        "operation",
        "layer_type",
        "simple",
        "cuda",
        "verbose",
        "max_iterations",
        "loss_train",
        "loss_valid_inter",
        "loss_valid_extra",
    ]
    assert record["loss_train"] == pytest.approx(loss.item(), rel=1e-5)
    final = [record["loss_valid_inter"], record["loss_valid_extra"]]
    assert final == [pytest.approx(e, rel=1e-5) for e in after]

    printed = capsys.readouterr().out.splitlines()
    begin = printed.index("running")
    assert printed[begin + 1 : begin + 8] == [
        "  - seed: 4",
        "  - operation: sub",
        "  - layer_type: GRU",
        "  - simple: False",
        f"  - cuda: {torch.cuda.is_available()}",
        "  - verbose: True",
        "  - max_iterations: 0",
    ]
    end = printed.index("finished:")
    assert printed[end - 1 : end + 4] == [
        f"train 0: {record['loss_train']}",
        "finished:",
        f"  - loss_train: {record['loss_train']}",
        f"  - loss_valid_inter: {record['loss_valid_inter']}",
        f"  - loss_valid_extra: {record['loss_valid_extra']}",
    ]


def test_penalties_are_summed_and_ramped(short, monkeypatch):
    weights = []
    loss = sums.SumsTask.loss

    def spy(self, model, *args):
        weights.append([p.detach().clone() for n, p in model.named_parameters() if "W" in n])
        return loss(self, model, *args)

    monkeypatch.setattr(sums.SumsTask, "loss", spy)
    argv = ["--layer-type", "ReRegualizedLinearNAC", "--max-iterations", "3", "--engine", "torch"]
    assert run_script(SCRIPT, argv) == 0
    assert len(weights) == 4
    log = logged(f"{SCRIPT}/reregualizedlinearnac_add_0_e-15")
    for step, matrices in enumerate(weights):
        assert [tuple(W.shape) for W in matrices] == [(2, 12), (1, 2)]
        penalty = sum(
            (W**2 * (1 - W.abs()) ** 2).mean() + (torch.relu(W.abs() - 1) ** 2).mean()
            for W in matrices
        ).item()
        scale = 0.1 * (1 - math.exp(-1e-5 * step))
        assert log["loss/train/regualizer"][step][1] == pytest.approx(scale * penalty, rel=1e-4)
    total, criterion, penalty = (
        torch.tensor(values(log, f"loss/train/{name}"))
        for name in ("total", "critation", "regualizer")
    )
    torch.testing.assert_close(total, criterion + penalty)


@pytest.mark.parametrize("unit_name", ["MNAC", "LSTM", "GumbelNALU"])
def test_cells_of_each_kind(short, unit_name):
    argv = ["--layer-type", unit_name, "--max-iterations", "2", "--verbose", "--engine", "torch"]
    assert run_script(SCRIPT, argv) == (3 if unit_name in OVERFLOWS else 0)
    log = logged(f"{SCRIPT}/{unit_name.lower()}_add_0_e-15")
    recorded = [0, 1] if unit_name in OVERFLOWS else [0, 1, 2]
    assert all([step for step, _ in log[tag]] == recorded for tag in LOSSES)


def test_a_diverged_run_ends_at_the_log_point_and_others_go_on(short, capsys, monkeypatch):
    build = sums.SumsTask.network

    def broken(config, layer_options):
        network = build(config, layer_options)
        if config.seed == 0:
            network.reset_parameters = lambda: torch.nn.init.constant_(network.zero_state, 1e38)
        return network

    monkeypatch.setattr(sums.SumsTask, "network", staticmethod(broken))
    argv = ["--layer-type", "RNN-linear", "--seed", "0-1", "--max-iterations", "5"]
    assert run_script(SCRIPT, argv) == 3
    log = logged(f"{SCRIPT}/rnn-linear_add_0_e-15")
    assert log["/diverged/text_summary"] == [
        (2, b"diverged: a weight is not a number at iteration 2")
    ]
    assert [step for step, _ in log["loss/train/total"]] == [0, 1]
    assert "diverged: a weight is not a number at iteration 2\n" in capsys.readouterr().out
    assert [step for step, _ in logged(f"{SCRIPT}/rnn-linear_add_1_e-15")["loss/train/total"]] == [
        *range(6)
    ]
    diverged, other = results(SCRIPT)
    assert [diverged[f"loss_{name}"] for name in ("train", "valid_inter", "valid_extra")] == [
        None
    ] * 3
    assert math.isfinite(other["loss_train"])


def test_simple_task_in_float64(short):
    argv = ["--simple", "--layer-type", "LSTM", "--max-iterations", "1", "--engine", "torch"]
    assert run_script(SCRIPT, [*argv, "--pytorch-precision", "64"]) == 0
    (record,) = results(SCRIPT)
    assert record["simple"] is True
    assert record["pytorch_precision"] == 64
    assert record["loss_train"] != float(torch.tensor(record["loss_train"], dtype=torch.float32))
    assert torch.get_default_dtype() == torch.float32
