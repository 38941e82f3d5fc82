"""Counting and adding digits: names, bad input, batches, measures, logs, resume, real MNIST."""

import urllib.request

import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import mse
from stable_nalu.task.mnist_counting import CountingNetwork, CountingTask, training_places
from tests.digit_images import MNIST, needs_mnist
from tests.experiments.scripts import exported, read, run, run_names
from tests.training.configurations import built

SCRIPT = "mnist_counting"
SMALL = (
    *("--cnn", "mlp8", "--extrapolation-lengths", "[1,20]", "--test-repeats", "1"),
    *("--interpolation-length", "5", "--workers", "1"),
)


def task(*words: str) -> CountingTask:
    return built(SCRIPT, " ".join((*SMALL, *words)))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--cnn mlp8 --interpolation-length 201", "200 images make no sequence of 201"),
        (
            "--cnn mlp8 --extrapolation-lengths [401] --test-repeats 1",
            "400 images make no sequence of 401",
        ),
        ("--digit-source mnist --data-dir {tmp}", "MNIST is not in"),
    ],
)
def test_images_that_are_not_there(words, problem, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://localhost:9")
    monkeypatch.setenv("https_proxy", "http://localhost:9")
    monkeypatch.setattr(urllib.request, "_opener", None)  # which remembers proxies
    assert run(SCRIPT, *words.replace("{tmp}", str(tmp_path / "none")).split()) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1
    assert not (tmp_path / "tensorboard").exists()


def test_batches_hold_all_images_with_what_they_add_up_to():
    one = task("--batch-size", "100")
    (x, t), *rest = one.batches()
    assert (x.shape, t.shape) == ((100, 5, 1, 8, 8), (100, 5, 10))
    assert sum(len(x) for x, _ in rest) == 1197 // 5 - 100
    assert (float(x.min()), float(x.max())) == (0, 1)
    assert torch.equal(t.sum(-1), torch.arange(1.0, 6).expand(100, 5))
    labels = one._labels["train"][one._places(training_places(1197, 5, 0, 0))[:100]]
    for step in range(5):
        seen = [[row[: step + 1].count(digit) for digit in range(10)] for row in labels.tolist()]
        assert t[:, step].tolist() == seen
    (_, sums), *_ = task("--batch-size", "100", "--task", "sum").batches()
    assert sums[..., 0].tolist() == labels.cumsum(1).tolist()
    other = task("--batch-size", "100", "--seed", "1")
    assert not torch.equal(next(other.batches())[0], x)
    one.at = 1
    assert not torch.equal(next(one.batches())[0], x)


class Reads(ExtendedTorchModule):
    """An image network that knows every digit, by its pixels; `off` is added to what it tells."""

    is_as_published = False

    def __init__(self, one: CountingTask, outputs: int, off: float = 0.0):
        super().__init__("reads")
        self.known = {}
        for name, subset in one._subsets.items():
            seen = one._seen(name, torch.arange(len(subset)))
            self.known |= {
                image.numpy().tobytes(): int(d)
                for image, d in zip(seen, subset.labels, strict=True)
            }
        self.outputs, self.off = outputs, off

    def forward(self, x):
        digits = torch.tensor([self.known[image.numpy().tobytes()] for image in x])
        if self.outputs == 1:
            return digits.float().unsqueeze(-1) + self.off
        return torch.nn.functional.one_hot(digits, 10).float() + self.off


@pytest.mark.parametrize(("name", "outputs"), [("count", 10), ("sum", 1)])
@torch.no_grad()
def test_measures_of_networks_that_are_right_and_nearly_right(name, outputs):
    one = task("--task", name)
    model = CountingNetwork(one.config)
    # A NAC that adds all of its inputs to its state.
    added = torch.cat((torch.eye(outputs), torch.eye(outputs)), -1)
    model.cell.cell.op.W_hat.copy_(30 * added)
    model.cell.cell.op.M_hat.copy_(200 * added - 100)
    model.reader = Reads(one, outputs)
    right = {tag: float(value) for tag, value in one.measures(model).items()}
    for length in (1, 5, 20):
        assert right[f"metric/test/extrapolation/{length}/mae"] == 0
        assert right[f"metric/test/extrapolation/{length}/acc"] == 1
    assert right["metric/train/mse"] == right["metric/valid/mse"] == 0
    model.reader = Reads(one, outputs, off=0.2)
    near = {tag: float(value) for tag, value in one.measures(model).items()}
    for length, accuracy in ((1, 1), (5, 0), (20, 0)):
        tag = f"metric/test/extrapolation/{length}"
        assert near[f"{tag}/mae"] == pytest.approx(0.2 * length, rel=1e-5)
        assert near[f"{tag}/mse"] == pytest.approx((0.2 * length) ** 2, rel=1e-5)
        assert near[f"{tag}/acc"] == accuracy
    # Of one digit the largest count tells which it is; a sum has to round to it.
    model.reader = Reads(one, outputs, off=0.6)
    accuracy = float(one.measures(model)["metric/test/extrapolation/1/acc"])
    assert accuracy == (1 if name == "count" else 0)


def test_what_is_logged_and_exported():
    words = (*SMALL, "--max-epochs", "3", "--log-interval", "2", "--seed", "0-1")
    assert run(SCRIPT, *words) == 0
    for name in run_names(SCRIPT, *words):
        log = read(name)
        assert set(log.series("metric/test/shown/1/digit").values()) <= set(range(10))
    table = exported()
    wanted = [f"metric.test.extrapolation.{n}.{m}" for n in (1, 5, 20) for m in ("mse", "mae")]
    assert {*wanted, "task", "sequence.loss", "digit.source", "metric.train.mse"} <= set(table)
    assert len(table) == 6


@needs_mnist
def test_real_images_are_read_and_trained_on():
    one = built(SCRIPT, f"--digit-source mnist --data-dir {MNIST} --max-epochs 0")
    counts = {name: len(subset) for name, subset in one._subsets.items()}
    assert counts == {"train": 55000, "valid": 5000, "test": 10000}
    assert {length: len(places) for length, places in one._tested.items()} == {
        **{1: 100_000, 10: 10_000},
        **{100: 1000, 1000: 100},
    }
    model = CountingNetwork(one.config)
    x, t = next(one.batches())
    before = one.loss(model, x, t, mse)
    (gradient,) = torch.autograd.grad(before, [model.reader.output.bias])
    with torch.no_grad():
        model.reader.output.bias -= 0.01 * gradient
        assert one.loss(model, x, t, mse) < before
