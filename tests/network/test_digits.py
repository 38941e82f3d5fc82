"""Networks of digits: published values and draws, and what is read, counted and accumulated."""

import pytest
import torch
from torch import nn

from stable_nalu.network import RegressionMnistNetwork
from stable_nalu.network.sequences import SequentialDigitNetwork
from stable_nalu.task.even_digit_count import HEADS, EvenDigitNetwork
from stable_nalu.task.mnist_counting import CountingNetwork, DigitReader
from tests.layer_values import drawn_alike, uniform
from tests.training.configurations import configuration

NMU = "ReRegualizedLinearNAC"


def images_to(outputs):
    return RegressionMnistNetwork(mnist_outputs=outputs)


def build(unit=NMU, outputs=1, nac_mul="mnac", **options):
    return SequentialDigitNetwork(images_to, unit, outputs, nac_mul, **options)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_numbers_of_parameters():
    assert count(RegressionMnistNetwork()) == 426_571
    assert count(build()) == 426_573
    assert count(build(model_simplification="solved-accumulator")) == 426_571
    assert count(DigitReader(10, "mlp8")) == 64 * 64 + 64 + 10 * 64 + 10


def cell_of(unit):
    if unit == "LSTM":
        return [uniform(-1, 1, *shape) for shape in ((4, 1), (4, 1), (4,), (4,))]
    return [uniform(0.25, 0.75, 1, 2)]


@pytest.mark.parametrize(("unit", "cell_draws"), [(NMU, 2), ("LSTM", 3)])
def test_runs_start_from_the_third_draw_of_images_and_the_second_of_cells(unit, cell_draws):
    """Alone, a torch cell would draw in its constructor and again when it is complete."""

    def run():
        network = build(unit, nac_mul="none" if unit == "LSTM" else "mnac")
        network.reset_parameters()
        return network

    def by_hand():
        for draw in range(3):
            images = [nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)]
            images += [nn.Linear(800, 500), nn.Linear(500, 1)]
            cell = cell_of(unit) if draw > 0 or cell_draws == 3 else []
        return [*nn.ModuleList(images).parameters(), *cell]

    network, expected = drawn_alike(run, by_hand)
    own = [*network.image2label.parameters(), *network.recurent_cell.parameters()]
    assert all(torch.equal(*pair) for pair in zip(own, expected, strict=True))


@pytest.mark.parametrize(("nac_mul", "expected"), [("mnac", [2, 6, 24]), ("none", [2, 5, 9])])
def test_weights_of_one_and_references_are_exact(nac_mul, expected):
    labels = torch.tensor([[[2.0], [3.0], [4.0]]])
    network = build(nac_mul=nac_mul)
    network.recurent_cell.cell.op.W.data.fill_(1)
    solved = build(nac_mul=nac_mul, model_simplification="solved-accumulator")
    for one in (network, solved):
        assert one.accumulate(labels).ravel().tolist() == expected
    assert torch.equal(build(model_simplification="pass-through").accumulate(labels), labels)


@pytest.mark.parametrize("nac_mul", ["none", "mnac", "normal"])
def test_the_recurrence_against_a_loop(nac_mul):
    torch.manual_seed(1)
    network = build("NAC", 2, nac_mul).double()
    labels = torch.rand(3, 4, 2).double() + 1
    h = torch.full((3, 1), 0.0 if nac_mul == "none" else 1.0).double()
    expected = []
    for t in range(4):
        if nac_mul == "normal":
            logs = (torch.log(v.abs() + 1e-7) for v in (labels[:, t], h))
            h = torch.exp(network.recurent_cell(*logs))
        else:
            h = network.recurent_cell(labels[:, t], h)
        expected.append(h)
    assert torch.equal(network.accumulate(labels), torch.stack(expected, 1))


CELLS = ("LSTM", "GRU", "RNN-tanh", "RNN-ReLU", "NAC", "NALU")


@pytest.mark.parametrize(
    ("ours", "filters", "flat", "hidden"),
    [
        (lambda: DigitReader(4, "small"), (10, 20), 320, 50),
        (lambda: DigitReader(4, "large"), (20, 50), 800, 500),
        (lambda: RegressionMnistNetwork(mnist_outputs=4), (20, 50), 800, 500),
    ],
)
def test_image_networks_are_those_of_torch(ours, filters, flat, hidden):
    ours, (first, second) = ours(), filters
    net = nn.Sequential(
        nn.Conv2d(1, first, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(first, second, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(flat, hidden),
        nn.ReLU(),
        nn.Linear(hidden, 4),
    )
    net.load_state_dict(dict(zip(net.state_dict(), ours.state_dict().values(), strict=True)))
    x = torch.randn(6, 1, 28, 28)
    torch.testing.assert_close(ours(x), net(x))


@pytest.mark.parametrize("unit", CELLS)
def test_a_sequence_is_a_loop_over_its_images(unit):
    torch.set_default_dtype(torch.float64)
    words = f"--layer-type {unit} --cnn mlp8 --cnn-outputs 2".split()
    model = CountingNetwork(configuration("mnist_counting", *words))
    x = torch.randn(2, 4, 1, 8, 8)
    for row in range(2):
        state = torch.zeros(1, 10)
        state = (state, state) if unit == "LSTM" else state
        for step in range(4):
            state = model.cell(model.reader(x[row, step : step + 1]), state)
            h = state[0] if unit == "LSTM" else state
            out = model.read_out
            assert (out is None) == (unit in ("NAC", "NALU"))
            y = h if out is None else h @ out.W.mT + out.bias
            torch.testing.assert_close(model(x, every=True)[row, step], y[0])
        torch.testing.assert_close(model(x)[row, 0], y[0])


UNITS = (*HEADS, "NAC", "NALU")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("bias", [True, False])
def test_heads(unit, bias):
    words = f"--layer-type {unit} --image-size 40 --max-digits 1".split()
    config = configuration("even_digit_count", *words, *([] if bias else ["--no-head-bias"]))
    model = EvenDigitNetwork(config)
    torch.nn.init.normal_(model.head.bias) if bias else None
    x = torch.randn(5, 40, 40)
    h = model.features(x)
    squashed = {"linear": lambda W: W, "sigmoid": torch.sigmoid, "tanh": torch.tanh}
    wanted = h @ squashed[unit](model.head.W_hat).T if unit in HEADS else model.head.layer(h)
    wanted = wanted + model.head.bias if bias else wanted
    torch.testing.assert_close(model(x), wanted)
    assert (model.head.bias is not None) == bias
