"""Draws of one run from torch's generator, and of many runs from a generator each."""

import pytest
import torch

from stable_nalu.abstract import GLOBAL_RANDOM, PerRunRandomSource

RUNS, SHAPE = 3, (5, 7)
OF_RUNS = torch.zeros(RUNS, *SHAPE)
DRAWS = {
    "uniform": (lambda s, x: s.uniform(SHAPE, 1.0, 5.0, like=x), lambda x: x.uniform_(1.0, 5.0)),
    "normal": (lambda s, x: s.normal(SHAPE, like=x), lambda x: x.normal_()),
    "exponential": (lambda s, x: s.exponential(SHAPE, like=x), lambda x: x.exponential_()),
}


def source():
    return PerRunRandomSource([torch.Generator().manual_seed(run) for run in range(RUNS)])


def alone(run, draw):
    """`draw(source)` of one run, from the global generator."""
    torch.manual_seed(run)
    return draw(GLOBAL_RANDOM)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_torch_for_one_run_and_for_many(name, dtype):
    draw, by_torch = DRAWS[name]
    like = OF_RUNS.to(dtype)
    before = torch.get_rng_state()
    together = draw(source(), like)
    assert torch.equal(torch.get_rng_state(), before)
    assert together.shape == (RUNS, *SHAPE)
    for run in range(RUNS):
        one = alone(run, lambda s: draw(s, like[0]))
        following = torch.rand(())
        torch.manual_seed(run)
        assert torch.equal(one, by_torch(torch.empty(SHAPE, dtype=dtype)))
        assert torch.equal(following, torch.rand(()))
        assert torch.equal(together[run], one)
        assert one.dtype == together.dtype == dtype


def test_bounds_may_be_tensors_and_of_each_run():
    torch.manual_seed(5)
    drawn = GLOBAL_RANDOM.uniform((100,), 1.0, torch.tensor(1.5), torch.zeros(()))
    assert 1.0 <= drawn.min() < 1.1
    assert 1.4 < drawn.max() <= 1.5
    low, high = torch.tensor([0.0, 1.0, -5.0]), torch.tensor([1.0, 3.0, 5.0])
    together = source().uniform(SHAPE, low, high, like=OF_RUNS)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.uniform(SHAPE, low[k], high[k], like=OF_RUNS[0]))
        assert torch.equal(together[run], expected)
        assert (together[run] >= low[run]).all()
        assert (together[run] <= high[run]).all()


def test_categories_are_those_of_torch():
    probabilities = torch.softmax(torch.arange(RUNS * 12.0).reshape(RUNS, 4, 3) % 5, dim=-1)
    together = source().multinomial((4, 3), probabilities)
    assert together.shape == (RUNS, 4)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.multinomial((4, 3), probabilities[k]))
        torch.manual_seed(run)
        assert torch.equal(expected, torch.multinomial(probabilities[run], 1).squeeze(-1))
        assert torch.equal(together[run], expected)
    never = torch.tensor([0.0, 1.0, 0.0]).expand(200, 3)
    assert GLOBAL_RANDOM.multinomial((200, 3), never).unique().tolist() == [1]


def test_successive_draws_go_on():
    together = source()
    first = together.normal(SHAPE, like=OF_RUNS)
    second = together.uniform(SHAPE, 0.0, 1.0, like=OF_RUNS)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    GLOBAL_RANDOM.normal(SHAPE, like=OF_RUNS[0])
    assert torch.equal(second[1], GLOBAL_RANDOM.uniform(SHAPE, 0.0, 1.0, like=OF_RUNS[0]))
