import pytest
import torch

from stable_nalu.functional.three_way import chosen_sign, expected_sign
from tests.runs import RUNS, normal


@pytest.mark.parametrize("runs", RUNS)
def test_expected_sign(runs):
    probabilities = torch.softmax(normal(*runs, 2, 4, 3), -1)
    plus, minus, _ = probabilities.unbind(-1)
    assert torch.equal(expected_sign(probabilities), plus - minus)


def test_chosen_sign():
    signs = chosen_sign(torch.tensor([[0, 1], [2, 0]]), torch.float64)
    assert signs.dtype == torch.float64
    assert signs.tolist() == [[1.0, -1.0], [0.0, 1.0]]


def test_the_mean_of_choices_is_the_expected_sign():
    probabilities = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    signs = chosen_sign(torch.arange(3), torch.float64)
    assert (probabilities * signs).sum().item() == pytest.approx(
        expected_sign(probabilities).item(), rel=1e-15
    )
