import pytest
import torch

from stable_nalu.layer import GeneralizedCell
from stable_nalu.network import NumberTranslationNetwork
from stable_nalu.network.number_translation import NumberReaderNetwork
from tests.runs import indices

IDS = torch.tensor([[10, 29, 1, 28, 10], [8, 0, 0, 0, 0], [23, 3, 0, 0, 0]])


@pytest.mark.parametrize("unit_name", ["NAC", "NALU", "ReRegualizedLinearMNAC", "LSTM", "GRU"])
def test_padding_changes_nothing(unit_name):
    network = NumberTranslationNetwork(unit_name)
    y = network(IDS)
    assert y.shape == (3, 1)
    for row, words in enumerate((5, 1, 2)):
        assert torch.equal(network(IDS[row : row + 1, :words]), y[row : row + 1])
    assert not torch.equal(network(IDS[:, :1]), y)


def test_two_words_by_hand():
    network = NumberTranslationNetwork("NAC")
    lstm = torch.nn.LSTMCell(2, 2)
    lstm.load_state_dict({n: p.detach() for n, p in network.lstm_cell.cell.named_parameters()})
    layer = network.output_cell.cell.op
    W = torch.tanh(layer.W_hat) * torch.sigmoid(layer.M_hat)
    h = c = torch.zeros(1, 2)
    y = torch.zeros(1, 1)
    for word in (23, 3):
        h, c = lstm(network.embedding[word : word + 1], (h, c))
        y = torch.cat((h, y), dim=-1) @ W.T
    torch.testing.assert_close(network(IDS[2:]), y)


def test_order_of_random_numbers():
    torch.manual_seed(3)
    network = NumberTranslationNetwork("NAC")
    torch.manual_seed(3)
    torch.nn.Embedding(30, 2)
    torch.nn.LSTMCell(2, 2)
    embedding, lstm = torch.nn.Embedding(30, 2), torch.nn.LSTMCell(2, 2)
    assert torch.equal(network.embedding, embedding.weight)
    assert torch.equal(network.lstm_cell.cell.weight_hh, lstm.weight_hh)
    cell = GeneralizedCell(2, 1, "NAC")
    assert torch.equal(network.output_cell.cell.op.W_hat, cell.cell.op.W_hat)


@pytest.mark.parametrize("unit_name", ["NALU", "LSTM"])
def test_runs_do_not_see_each_other(unit_name):
    networks = [NumberTranslationNetwork(unit_name) for _ in range(3)]
    states = [network.state_dict() for network in networks]
    stacked = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    ids = torch.stack([IDS.roll(run, 0) for run in range(3)])
    y = torch.func.functional_call(networks[0], stacked, (ids,))
    for (run,) in indices((3,)):
        assert torch.equal(y[run], networks[run](ids[run]))


SENTENCES = torch.tensor(
    [
        [10, 29, 1, 28, 10],
        [8, 0, 0, 0, 0],
        [10, 29, 1, 28, 0],
        [10, 29, 1, 23, 3],
        [23, 3, 0, 0, 0],
        [10, 29, 1, 28, 10],
    ]
)


def read_by_torch(network, ids):
    """Let torch's own LSTM read each sentence by itself."""
    cell = network.lstm_cell.cell
    lstm = torch.nn.LSTM(cell.input_size, cell.hidden_size, batch_first=True)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    for name in names:
        delattr(lstm, f"{name}_l0")
        setattr(lstm, f"{name}_l0", getattr(cell, name))
    last = [lstm(network.embedding[row[row != 0]].unsqueeze(0))[0][0, -1] for row in ids]
    return network.head(torch.stack(last))


@pytest.mark.parametrize("unit_name", ["linear", "NAC", "NALU"])
def test_a_reader_by_hand(unit_name):
    network = NumberReaderNetwork(unit_name, 3, 4).double()
    network.reset_parameters()
    y = network(SENTENCES)
    wanted = read_by_torch(network, SENTENCES)
    torch.testing.assert_close(y, wanted)
    weight = torch.randn_like(y)
    parameters = list(network.parameters())
    ours, theirs = (torch.autograd.grad((v * weight).sum(), parameters) for v in (y, wanted))
    torch.testing.assert_close(ours, theirs)


def test_a_plain_head_has_a_bias():
    network = NumberReaderNetwork("linear", 3, 4)
    assert network.head.bias.shape == (1,)
    assert network.embedding.shape == (31, 3)
