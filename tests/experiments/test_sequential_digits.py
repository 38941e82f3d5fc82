"""The scripts of digit sequences from their command lines, on few images."""

import signal

import numpy as np
import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import images as sources
from stable_nalu.dataset.images import ImageCorpus, SequentialMnistDataset
from stable_nalu.network import RegressionMnistNetwork, SequentialMnistNetwork
from stable_nalu.task import sequences
from stable_nalu.task.sequences import SequentialTask
from stable_nalu.training.loop import Training
from tests.digit_images import digit_sequences, first_seed, images, labels_of
from tests.experiments.scripts import assert_same_run, read, run, run_names, saved, script_main

NMU = "--operation cumprod --layer-type ReRegualizedLinearNAC --nac-mul mnac"
SHORT = (
    "--interpolation-length 2 --extrapolation-lengths [1,3] --batch-size 8 "
    "--regualizer-scaling-start 5 --regualizer-scaling-end 30 --regualizer-z 1"
)
UPDATES = 4
"""Of an epoch: 60 images in pairs make 30 sequences, in batches of 8."""


@pytest.fixture(autouse=True)
def few_images(monkeypatch):
    """60 images for training, 20 for validation, 30 for tests."""
    monkeypatch.setenv("LSB_DJOB_NUMPROC", "1")
    monkeypatch.setattr(sources, "VALIDATION_IMAGES", {"mnist": 20, "svhn": 20, "digits": 20})
    shapes = {"mnist": (28, 28), "svhn": (32, 32, 3)}

    def load_corpus(family, source, split, folder):
        count = {"train": 80, "test": 30}[split]
        return ImageCorpus(images(count, *shapes[family], seed=count), labels_of(count, 3, 1))

    monkeypatch.setattr(sources, "load_corpus", load_corpus)
    use(monkeypatch, Pixels)


def use(monkeypatch, network):
    monkeypatch.setattr(SequentialTask, "image_network", lambda _, outputs: network(outputs))


class Pixels(ExtendedTorchModule):
    """A linear map in place of the image network, for what does not depend on it."""

    is_as_published = False

    def __init__(self, outputs):
        super().__init__("pixels")
        self.map = torch.nn.Linear(784, outputs)

    def reset_parameters(self):
        self.map.reset_parameters()

    def forward(self, x):
        return self.map(x.flatten(1))


@pytest.fixture
def published_network(monkeypatch):
    use(monkeypatch, lambda outputs: RegressionMnistNetwork(mnist_outputs=outputs))


def mnist(*words, prefix="t"):
    return run("sequential_mnist", "--name-prefix", prefix, NMU, SHORT, *words)


def name(*words, prefix="t"):
    return run_names("sequential_mnist", "--name-prefix", prefix, NMU, SHORT, *words)[0]


ALWAYS = {
    "epoch",
    *(f"loss/train/{x}" for x in ("accuracy/all", "accuracy/last", "critation", "regualizer")),
    "loss/train/total",
}
METRICS = [
    f"metric/{part}/{what}"
    for part in ("train", "valid", "test/extrapolation/1", "test/extrapolation/3")
    for what in ("mse", "acc/all", "acc/last")
]
NAC = "network/cell/recurrent/nac"


def test_tags_and_when_they_are_logged():
    assert mnist("--max-epochs 5") == 0
    record = read(name())
    assert record.tags == ALWAYS | set(METRICS) | {
        f"{NAC}/W/sparsity_error",
        "/MNIST/train/text_summary",
    }
    updates = list(range(1, 6 * UPDATES + 1))
    for tag in ALWAYS:
        assert list(record.series(tag)) == updates, tag
    evaluated = [1, 5 * UPDATES + 1]
    for tag in (*METRICS, f"{NAC}/W/sparsity_error", "/MNIST/train/text_summary"):
        assert list(record.series(tag)) == evaluated, tag
    epochs = [float(epoch) for epoch in range(6) for _ in range(UPDATES)]
    assert list(record.series("epoch").values()) == epochs
    (result,) = record.series("hparam/valid").values()
    assert result == record.series("metric/valid/mse")[evaluated[-1]]
    # Once for every time step of a sequence.
    assert len(record.values[1, f"{NAC}/W/sparsity_error"]) == 2
    order = [tag for step, tag in record.values if step == 1]
    assert order[: 1 + len(METRICS)] == ["epoch", *METRICS]


def test_verbose_tags(monkeypatch):
    monkeypatch.setattr(sequences, "LOG_UPDATES", 3)
    assert mnist("--max-epochs 1 --verbose") == 0
    record = read(name())
    # Histograms are written too; the reader passes over them.
    tags = {f"{NAC}/W/grad/{what}" for what in ("mean", "var", "norm")} | {f"/{NAC}/W/text_summary"}
    penalties = {f"{NAC}/regualizer/{key}" for key in ("W", "z", "W-OOB")}
    plain = ALWAYS | set(METRICS) | {f"{NAC}/W/sparsity_error", "/MNIST/train/text_summary"}
    assert record.tags == plain | tags | penalties
    for tag in tags:
        assert {step for step, t in record.values if t == tag} == {1, 3, 6}, tag
    for tag in penalties:
        assert list(record.series(tag)) == [3, 6], tag


def fresh_network(seed):
    """The network as a run with this seed starts from it."""
    torch.manual_seed(seed)
    network = SequentialMnistNetwork(
        "ReRegualizedLinearNAC",
        nac_mul="mnac",
        nac_oob="clip",
        regualizer_shape="linear",
        regualizer_z=1,
    )
    network.reset_parameters()
    return network


def test_two_updates_by_hand(published_network):
    assert mnist("--max-epochs 0 --seed 3") == 0
    record = read(name("--seed 3"))
    data = SequentialMnistDataset("cumprod", seed=3)
    train, test = data.fork(2), data.fork(3, "test", seed=88253339)
    network = fresh_network(3)
    loader = train.dataloader(8)
    order = loader.begin()
    with torch.no_grad(), network.no_random():
        x, t = test[:]
        y = network(x)[1]
    right = (y.round() == t).double()
    metric = "metric/test/extrapolation/3"
    assert record.series(f"{metric}/mse")[1] == pytest.approx(((y - t) ** 2).mean().item(), 1e-5)
    assert record.series(f"{metric}/acc/all")[1] == pytest.approx(right.mean().item())
    assert record.series(f"{metric}/acc/last")[1] == pytest.approx(right[:, -1].mean().item())
    optimizer = torch.optim.Adam(network.parameters())
    for update, (x, t) in zip((1, 2), loader.batches(order), strict=False):
        y = network(x)[1]
        criterion = ((y - t) ** 2).mean()
        total = criterion + network.regualizer()["z"]
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        network.optimize(criterion.detach())
        logged = {tag: record.series(f"loss/train/{tag}")[update] for tag in ("critation", "total")}
        assert logged["critation"] == pytest.approx(criterion.item(), rel=1e-4)
        assert logged["total"] == pytest.approx(total.item(), rel=1e-4)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--train-criterion mape", lambda y, t: ((t - y) / t).abs().mean()),
        (
            "--train-criterion pcc",
            lambda y, t: 1 - torch.corrcoef(torch.stack([y.ravel(), t.ravel()]))[0, 1],
        ),
    ],
)
def test_criteria_are_over_all_steps(words, expected, published_network):
    words = f"{words} --mnist-digits 123456789"
    assert mnist(words, "--max-epochs 0") == 0
    network = fresh_network(0)
    train = digit_sequences("mnist", "cumprod", 2, first_seed(0), digits=range(1, 10))
    loader = train.dataloader(8)
    x, t = next(loader.batches(loader.begin()))
    logged = read(name(words)).series("loss/train/critation")[1]
    assert logged == pytest.approx(expected(network(x)[1].detach(), t).item(), rel=1e-4)


CASES = {
    "NMU": NMU,
    "batch sNMU, verbose": f"{NMU} --nmu-noise --noise-range [1,0] --verbose",
    "NALU": "--operation cumprod --layer-type NALU",
}


def train_as(prefix, case, *words):
    return run("sequential_mnist", "--name-prefix", prefix, CASES[case], SHORT, *words)


def named_as(prefix, case):
    return run_names("sequential_mnist", "--name-prefix", prefix, CASES[case], SHORT)[0]


def assert_goes_on(case, words, more="--resume"):
    """What was begun as `parts` ends as the run that is trained at once."""
    assert train_as("parts", case, words, more) == 0
    assert train_as("whole", case, words) == 0
    assert_same_run(named_as("parts", case), named_as("whole", case))


def at_update(monkeypatch, number, act):
    """Let `act` happen before an update."""
    update = Training._update

    def watched(self, batch, *, at_log_point):
        if self.updates + 1 == number:
            act()
        return update(self, batch, at_log_point=at_log_point)

    monkeypatch.setattr(Training, "_update", watched)


def terminate():
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("case", CASES)
def test_a_run_stopped_within_an_epoch(case, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        at_update(patch, UPDATES + 2, terminate)
        assert train_as("parts", case, "--max-epochs 5") == 75
    assert "stopped before epoch 1; the same command with --resume" in capsys.readouterr().out
    progress = saved(named_as("parts", case))["progress"]
    assert (progress["batch"], progress["updates"], len(progress["order"])) == (2, UPDATES + 2, 30)
    assert_goes_on(case, "--max-epochs 5")


@pytest.mark.parametrize("number", [1, 5, 9])
def test_a_run_stopped_within_an_evaluation(number, monkeypatch):
    case = "batch sNMU, verbose"
    with monkeypatch.context() as patch:
        measure, calls = sequences._metrics, iter(range(1, 100))

        def measured(y, t):
            if next(calls) == number:
                terminate()
            return measure(y, t)

        patch.setattr(sequences, "_metrics", measured)
        assert train_as("parts", case, "--max-epochs 2") == 75
    assert_goes_on(case, "--max-epochs 2")


def test_house_numbers(monkeypatch):
    monkeypatch.setattr(
        sources,
        "torchvision",
        lambda: type("Package", (), {"models": type("Models", (), {"resnet18": small_resnet})}),
    )
    words = f"--operation sum --layer-type ReRegualizedLinearNAC {SHORT} --resume"
    for more in ("t --max-epochs 1", "t --max-epochs 3", "whole --max-epochs 3"):
        assert run("sequential_svhn", words, "--name-prefix", more) == 0
    (found,) = run_names("sequential_svhn", words)
    record = read(found)
    plain = {f"{NAC}/W/sparsity_error", "/SVHN/train/text_summary"}
    assert record.tags == ALWAYS | set(METRICS) | plain
    assert "_net-18_" in found
    assert_same_run(found, f"whole/{found.removeprefix('t/')}")


def small_resnet(num_classes):
    """Few parameters, and batch statistics as a residual network has them."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 5, stride=4),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, num_classes),
    )


def test_weights_that_are_no_numbers_end_the_run(monkeypatch, capsys):
    update = Training._update

    def break_weights(self, batch, *, at_log_point):
        result = update(self, batch, at_log_point=at_log_point)
        if self.updates + 1 == 5 * UPDATES:
            self.model.image2label.map.bias.data.fill_(np.nan)
        return result

    monkeypatch.setattr(Training, "_update", break_weights)
    assert mnist("--max-epochs 9") == 3
    assert "diverged: a weight is not a number at update 21" in capsys.readouterr().out
    record = read(name())
    assert max(step for step, _ in record.values) == 21
    assert "/diverged/text_summary" in record.tags
    assert mnist("--max-epochs 9 --resume") == 3


TWO = "the image network needs two images of a step"


@pytest.mark.parametrize(
    ("data", "flag", "value", "message"),
    [
        ("mnist", "--extrapolation-lengths", "[31]", "30 images of these digits for tests make no"),
        ("svhn", "--extrapolation-lengths", "[3,16]", f"a single sequence of 16, and {TWO}"),
        ("svhn", "--interpolation-length", "20", "20 images of these digits for validation make a"),
        ("svhn", "--batch-size", "1", f"{TWO}; use 2 or more\n"),
    ],
)
def test_too_few_sequences_are_refused(data, flag, value, message, capsys):
    given = {"--interpolation-length": "2", "--extrapolation-lengths": "[3]", flag: value}
    words = [word for pair in given.items() for word in pair]
    assert run(f"sequential_{data}", *words) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"sequential_{data}.py: error: argument {flag}: the ")
    assert message in error
    remedy = f"; give a shorter length, or more digits by --{data}-digits\n"
    assert error.endswith(remedy) == (flag != "--batch-size")


@pytest.mark.gpu
def test_a_gpu_gives_the_same_losses(published_network):
    words = f"{NMU} {SHORT} --max-epochs 1 --nmu-noise --name-prefix"
    main = script_main("sequential_mnist")
    assert main(f"{words} cpu --no-cuda".split()) == main(f"{words} gpu".split()) == 0
    for tag in ("loss/train/total", "metric/valid/mse"):
        cpu, gpu = (read(name("--nmu-noise", prefix=p)).series(tag) for p in ("cpu", "gpu"))
        assert list(gpu.values()) == pytest.approx(list(cpu.values()), rel=1e-2)
