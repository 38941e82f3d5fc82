"""The adding problem: its data, its first update by hand, its tests, what it refuses."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset.adding_problem import TESTS, sequences
from stable_nalu.task import marked_addition as adding
from stable_nalu.task.marked_addition import AddingNetwork
from stable_nalu.task.table import SCRIPTS
from tests.experiments.scripts import read, run, run_names

SCRIPT = "marked_addition"
SMALL = "--train-size 6 --batch-size 6 --hidden-size 3"


def test_a_sequence_is_drawn_from_its_own_generator():
    x, t = sequences(TESTS["reference"], 2**32 - 3, 5)
    random = np.random.RandomState(1)  # of the fifth, behind the largest seed
    numbers = (0.5 * random.random_sample(100)).astype(np.float32)
    first, second = random.permutation(99)[:2]
    marks = np.zeros(100)
    marks[[first, second]], marks[99] = 1, -1
    assert np.array_equal(x[4, :, 0], numbers)
    assert np.array_equal(x[4, :, 1], marks)
    assert t[4, 0] == numbers[first] + numbers[second]


@pytest.mark.parametrize("name", TESTS)
def test_settings_differ_in_length_range_and_marks(name):
    length, largest, fewest, most = TESTS[name]
    x, t = sequences(TESTS[name], 7, 40)
    assert x.shape == (40, length, 2)
    assert 0.9 * largest < x[..., 0].max() < largest
    counts = (x[..., 1] == 1).sum(-1)
    assert fewest <= counts.min() <= counts.max() <= most
    assert len(set(counts)) == 1 if fewest == most else len(set(counts)) > 3
    np.testing.assert_allclose(t[:, 0], (x[..., 0] * (x[..., 1] == 1)).sum(-1), rtol=1e-5)


def test_one_epoch_of_a_single_batch_by_hand(monkeypatch):
    monkeypatch.setattr(adding, "TESTED", 3)
    words = (
        *SMALL.split(),
        "--max-iterations",
        "1",
        "--learning-rate",
        "0.01",
        "--log-interval",
        "1",
    )
    assert run(SCRIPT, *words, "--seed", "5") == 0
    (name,) = run_names(SCRIPT, *words, "--seed", "5")
    assert name.endswith("mc-lstm_h3_n6_b6_s5_lr-adam-0.01000")
    record = read(name)
    torch.manual_seed(5)
    network = AddingNetwork(SCRIPTS[SCRIPT].plan([*words]).configs[0])
    network.reset_parameters()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)

    def error(seed, setting="reference", rows=6):
        x, t = map(torch.from_numpy, sequences(TESTS[setting], seed, rows))
        return ((network(x) - t) ** 2).mean()

    first, second = record.series("metric/valid/interpolation").values()
    assert first == pytest.approx(error(11806).item(), rel=1e-4)
    error(1806).backward()  # all sequences are in one batch, whatever their order
    optimizer.step()
    assert second == pytest.approx(error(11806).item(), rel=1e-4)
    for setting in TESTS:
        (tested,) = record.series(f"metric/test/extrapolation/{setting}").values()
        assert tested == pytest.approx(error(1302, setting, 3).item(), rel=1e-4)


def test_an_lstm_starts_with_identities_and_its_forget_bias():
    words = ["--layer-type", "LSTM", "--forget-bias", "3", "--hidden-size", "4"]
    network = AddingNetwork(SCRIPTS[SCRIPT].plan(words).configs[0])
    network.reset_parameters()
    cell = network.cell.cell
    assert torch.equal(cell.weight_hh, torch.eye(4).repeat(4, 1))
    assert (cell.bias_ih + cell.bias_hh)[4:8].tolist() == [3.0] * 4
    x = torch.from_numpy(sequences(TESTS["reference"], 3, 2)[0])
    zeros = torch.zeros(2, 4)
    torch.testing.assert_close(network(x), network.read_out(cell.unroll(x, (zeros, zeros))))


def test_a_forget_bias_needs_a_forget_gate(capsys):
    assert run(SCRIPT, "--forget-bias", "1") == 2
    assert "argument --forget-bias: MC-LSTM has no forget gate" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--layer-type LSTM", "--layer-type MC-LSTM"])
def test_a_run_has_the_bits_of_a_run_alone_with_clipped_gradients_and_swept_rates(words):
    """Of many runs each has its own norm of gradients; those of another rate are apart."""
    words += f" {SMALL} --max-iterations 4 --log-interval 2 --clip-grad-norm 0.02"
    own = f"{words} --seed 2 --learning-rate 0.1"
    assert run(SCRIPT, f"{words} --seed 0-2 --learning-rate 0.1 0.01") == 0
    (name,) = run_names(SCRIPT, own)
    tags = "loss/train/total", "metric/valid/interpolation"
    together = [read(name).series(tag) for tag in tags]
    assert run(SCRIPT, f"{own} --remove-existing-data") == 0
    assert [read(name).series(tag) for tag in tags] == together
    assert all(len(series) > 1 for series in together)
