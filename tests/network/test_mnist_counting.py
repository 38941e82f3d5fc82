"""Networks that count or add up digits: image networks, cells, dropout."""

import pytest
import torch

from stable_nalu.network.mnist_counting import (
    CountingNetwork,
    FlatReader,
    LargeReader,
    SmallReader,
)

CELLS = ("LSTM", "GRU", "RNN-tanh", "RNN-ReLU", "NAC", "NALU")


@pytest.mark.parametrize(
    ("reader", "filters", "flat", "hidden"),
    [(SmallReader, (10, 20), 320, 50), (LargeReader, (20, 50), 800, 500)],
)
def test_image_networks_are_those_of_torch(reader, filters, flat, hidden):
    ours, (first, second) = reader(4), filters
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, first, 5), torch.nn.MaxPool2d(2), torch.nn.ReLU(),
        torch.nn.Conv2d(first, second, 5), torch.nn.MaxPool2d(2), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(flat, hidden), torch.nn.ReLU(),
        torch.nn.Linear(hidden, 4),
    )  # fmt: skip
    net.load_state_dict(dict(zip(net.state_dict(), ours.state_dict().values(), strict=True)))
    x = torch.randn(6, 1, 28, 28)
    torch.testing.assert_close(ours(x), net(x))


def test_the_flat_image_network_has_one_hidden_layer():
    shapes = [tuple(p.shape) for p in FlatReader(10).parameters()]
    assert shapes == [(64, 64), (64,), (10, 64), (10,)]


def test_dropout_leaves_out_whole_channels_and_keeps_the_mean():
    reader = SmallReader(4, dropout=0.25)
    x = torch.ones(2000, 3, 2, 2)
    dropped = reader._dropped(x, 2)
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert torch.equal(dropped, dropped[..., :1, :1].expand_as(x))
    assert float(dropped.mean()) == pytest.approx(1, abs=0.05)
    image = torch.randn(5, 1, 28, 28)
    assert not torch.equal(reader(image), reader(image))
    with reader.no_random():
        assert torch.equal(reader(image), reader(image))


@pytest.mark.parametrize("unit", CELLS)
def test_a_sequence_is_a_loop_over_its_images(unit):
    torch.set_default_dtype(torch.float64)
    model = CountingNetwork(unit, 3, 2, "mlp8")
    x = torch.randn(2, 4, 1, 8, 8)
    for row in range(2):
        state = torch.zeros(1, 3)
        state = (state, state) if unit == "LSTM" else state
        for step in range(4):
            state = model.cell(model.reader(x[row, step : step + 1]), state)
            h = state[0] if unit == "LSTM" else state
            out = model.read_out
            assert (out is None) == (unit in ("NAC", "NALU"))
            y = h if out is None else h @ out.W.mT + out.bias
            torch.testing.assert_close(model(x, every=True)[row, step], y[0])
        torch.testing.assert_close(model(x)[row, 0], y[0])
