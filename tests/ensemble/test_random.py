"""Noise of many runs: what each of them alone would draw from torch's global generator."""

import pytest
import torch

from stable_nalu.abstract import GLOBAL_RANDOM, PerRunRandomSource

RUNS = 3
SHAPE = (5, 7)
LIKE = torch.zeros(RUNS, *SHAPE)


def source():
    return PerRunRandomSource([torch.Generator().manual_seed(run) for run in range(RUNS)])


def alone(run, draw):
    """`draw(source)` of one run, from the global generator."""
    torch.manual_seed(run)
    return draw(GLOBAL_RANDOM)


DRAWS = {
    "uniform": lambda s, like: s.uniform(SHAPE, 1.0, 5.0, like=like),
    "normal": lambda s, like: s.normal(SHAPE, like=like),
    "exponential": lambda s, like: s.exponential(SHAPE, like=like),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DRAWS)
def test_draws(name, dtype):
    like = LIKE.to(dtype)
    together = DRAWS[name](source(), like)
    assert together.shape == (RUNS, *SHAPE)
    assert together.dtype == dtype
    for run in range(RUNS):
        assert torch.equal(together[run], alone(run, lambda s: DRAWS[name](s, like[0])))


def test_bounds_of_each_run():
    low, high = torch.tensor([0.0, 1.0, -5.0]), torch.tensor([1.0, 3.0, 5.0])
    together = source().uniform(SHAPE, low, high, like=LIKE)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.uniform(SHAPE, low[k], high[k], like=LIKE[0]))
        assert torch.equal(together[run], expected)
        assert (together[run] >= low[run]).all()
        assert (together[run] <= high[run]).all()


def test_categories():
    probabilities = torch.softmax(torch.arange(RUNS * 12.0).reshape(RUNS, 4, 3) % 5, dim=-1)
    together = source().multinomial((4, 3), probabilities)
    assert together.shape == (RUNS, 4)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.multinomial((4, 3), probabilities[k]))
        assert torch.equal(together[run], expected)


def test_successive_draws_go_on():
    together = source()
    first = together.normal(SHAPE, like=LIKE)
    second = together.uniform(SHAPE, 0.0, 1.0, like=LIKE)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    GLOBAL_RANDOM.normal(SHAPE, like=LIKE[0])
    assert torch.equal(second[1], GLOBAL_RANDOM.uniform(SHAPE, 0.0, 1.0, like=LIKE[0]))


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    source().normal(SHAPE, like=LIKE)
    assert torch.equal(torch.get_rng_state(), before)
