"""Image networks and accumulators against loops written from their formulas."""

import pytest
import torch

from stable_nalu.layer import GeneralizedCell
from stable_nalu.network import RegressionMnistNetwork, SequentialDigitNetwork

NMU = "ReRegualizedLinearNAC"


def build(unit=NMU, outputs=1, nac_mul="mnac", **options):
    return SequentialDigitNetwork(RegressionMnistNetwork, unit, outputs, nac_mul, **options)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_numbers_of_parameters():
    assert count(RegressionMnistNetwork()) == 426_571
    assert count(build()) == 426_573
    assert count(build(model_simplification="solved-accumulator")) == 426_571


def torch_default_draw():
    """The image network's parameters as torch's own modules draw them."""
    layers = (
        torch.nn.Conv2d(1, 20, 5),
        torch.nn.Conv2d(20, 50, 5),
        torch.nn.Linear(800, 500),
        torch.nn.Linear(500, 1),
    )
    return [parameter for layer in layers for parameter in layer.parameters()]


@pytest.mark.parametrize(("unit", "cell_draws"), [(NMU, 2), ("LSTM", 3)])
def test_runs_start_from_the_third_draw_of_images_and_the_second_of_cells(unit, cell_draws):
    nac_mul = "none" if unit == "LSTM" else "mnac"
    torch.manual_seed(7)
    network = build(unit, nac_mul=nac_mul)
    network.reset_parameters()
    torch.manual_seed(7)
    image_draws = []
    for draw in range(3):
        image_draws.append(torch_default_draw())
        if draw > 0 or cell_draws == 3:
            name = "ReRegualizedLinearMNAC" if nac_mul == "mnac" else unit
            # Alone, a torch cell would draw in its constructor and again when it is complete.
            cell = _drawn_once(name)
    for own, expected in zip(network.image2label.parameters(), image_draws[-1], strict=True):
        assert torch.equal(own, expected)
    for own, expected in zip(network.recurent_cell.parameters(), cell, strict=True):
        assert torch.equal(own, expected)


def _drawn_once(name):
    if name == "LSTM":
        shapes = ((4, 1), (4, 1), (4,), (4,))
        return [torch.empty(shape).uniform_(-1, 1) for shape in shapes]
    return [torch.empty(1, 2).uniform_(0.25, 0.75)]


def test_the_image_network_layer_by_layer():
    torch.manual_seed(0)
    network, x = RegressionMnistNetwork(3).double(), torch.randn(2, 1, 28, 28).double()
    functional = torch.nn.functional
    a = functional.max_pool2d(functional.relu(network.conv1(x)), 2, 2)
    b = functional.max_pool2d(functional.relu(network.conv2(a)), 2, 2)
    assert b.shape == (2, 50, 4, 4)
    expected = network.fc2(functional.relu(network.fc1(b.reshape(2, 800))))
    assert torch.equal(network(x), expected)


def test_shapes():
    labels, y = build(outputs=3)(torch.randn(5, 4, 1, 28, 28))
    assert labels.shape == (5, 4, 3)
    assert y.shape == (5, 4, 1)


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


def test_an_lstm_shows_h_and_keeps_both_states():
    network = build("LSTM", nac_mul="none")
    assert {n for n, _ in network.named_buffers()} == {"zero_state_h", "zero_state_c"}
    labels = torch.randn(2, 3, 1)
    state = (torch.zeros(2, 1), torch.zeros(2, 1))
    for t in range(3):
        state = network.recurent_cell(labels[:, t], state)
    assert torch.equal(network.accumulate(labels)[:, -1], state[0])


@pytest.mark.parametrize("nac_mul", ["none", "normal"])
@pytest.mark.parametrize("unit", GeneralizedCell.unit_names())
def test_every_cell_accumulates(unit, nac_mul):
    if (unit, nac_mul) == ("LSTM", "normal"):
        pytest.skip("refused at the command line")
    network = build(unit, nac_mul=nac_mul)
    labels = (torch.rand(4, 2, 1) + 1).requires_grad_()
    y = network.accumulate(labels)
    assert y.shape == (4, 2, 1)
    y.sum().backward()
    assert labels.grad is not None


def test_a_network_that_looks_at_its_batch_reads_one_step_at_a_time():
    class Mean(torch.nn.Module):
        def forward(self, x):
            return x - x.mean(0)

    network = SequentialDigitNetwork(lambda outputs: Mean(), NMU, nac_mul="mnac")
    x = torch.randn(4, 3, 1)
    assert not network.reads_images_alone
    assert torch.allclose(network.labels(x), x - x.mean(0))
    assert build().reads_images_alone
