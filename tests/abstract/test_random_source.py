import pytest
import torch

from stable_nalu.abstract import GLOBAL_RANDOM

LIKE = torch.zeros((), dtype=torch.float64)


@pytest.mark.parametrize(
    ("ours", "torchs"),
    [
        (
            lambda: GLOBAL_RANDOM.uniform((3, 4), 1.0, 5.0, LIKE),
            lambda: torch.empty(3, 4, dtype=torch.float64).uniform_(1.0, 5.0),
        ),
        (
            lambda: GLOBAL_RANDOM.normal((3, 4), LIKE),
            lambda: torch.empty(3, 4, dtype=torch.float64).normal_(),
        ),
        (
            lambda: GLOBAL_RANDOM.exponential((3, 4), LIKE),
            lambda: torch.empty(3, 4, dtype=torch.float64).exponential_(),
        ),
    ],
    ids=["uniform", "normal", "exponential"],
)
def test_draws_are_those_of_the_global_generator(ours, torchs):
    torch.manual_seed(5)
    drawn = ours()
    following = torch.rand(())
    torch.manual_seed(5)
    assert torch.equal(drawn, torchs())
    assert torch.equal(following, torch.rand(()))


def test_bounds_may_be_tensors():
    torch.manual_seed(5)
    drawn = GLOBAL_RANDOM.uniform((100,), 1.0, torch.tensor(1.5), LIKE)
    assert 1.0 <= drawn.min() < 1.1
    assert 1.4 < drawn.max() <= 1.5


def test_dtype_follows_the_example():
    assert GLOBAL_RANDOM.uniform((2,), 0, 1, torch.zeros(1)).dtype == torch.float32
    assert GLOBAL_RANDOM.uniform((2,), 0, 1, LIKE).dtype == torch.float64


def test_multinomial_equals_torchs():
    probabilities = torch.softmax(torch.randn(50, 3), -1)
    torch.manual_seed(5)
    drawn = GLOBAL_RANDOM.multinomial((50, 3), probabilities)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.multinomial(probabilities, 1).squeeze(-1))


def test_multinomial_never_draws_the_impossible():
    probabilities = torch.tensor([0.0, 1.0, 0.0]).expand(200, 3)
    assert GLOBAL_RANDOM.multinomial((200, 3), probabilities).unique().tolist() == [1]
