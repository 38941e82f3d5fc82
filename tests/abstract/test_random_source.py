import pytest
import torch

from stable_nalu.abstract import GLOBAL_RANDOM, PerRunRandomSource

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


RUNS = 3
SHAPE = (5, 7)
OF_RUNS = torch.zeros(RUNS, *SHAPE)


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
def test_draws_of_many_runs(name, dtype):
    like = OF_RUNS.to(dtype)
    together = DRAWS[name](source(), like)
    assert together.shape == (RUNS, *SHAPE)
    assert together.dtype == dtype
    for run in range(RUNS):
        assert torch.equal(together[run], alone(run, lambda s: DRAWS[name](s, like[0])))


def test_bounds_of_each_run():
    low, high = torch.tensor([0.0, 1.0, -5.0]), torch.tensor([1.0, 3.0, 5.0])
    together = source().uniform(SHAPE, low, high, like=OF_RUNS)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.uniform(SHAPE, low[k], high[k], like=OF_RUNS[0]))
        assert torch.equal(together[run], expected)
        assert (together[run] >= low[run]).all()
        assert (together[run] <= high[run]).all()


def test_categories_of_many_runs():
    probabilities = torch.softmax(torch.arange(RUNS * 12.0).reshape(RUNS, 4, 3) % 5, dim=-1)
    together = source().multinomial((4, 3), probabilities)
    assert together.shape == (RUNS, 4)
    for run in range(RUNS):
        expected = alone(run, lambda s, k=run: s.multinomial((4, 3), probabilities[k]))
        assert torch.equal(together[run], expected)


def test_successive_draws_go_on():
    together = source()
    first = together.normal(SHAPE, like=OF_RUNS)
    second = together.uniform(SHAPE, 0.0, 1.0, like=OF_RUNS)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    GLOBAL_RANDOM.normal(SHAPE, like=OF_RUNS[0])
    assert torch.equal(second[1], GLOBAL_RANDOM.uniform(SHAPE, 0.0, 1.0, like=OF_RUNS[0]))


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    source().normal(SHAPE, like=OF_RUNS)
    assert torch.equal(torch.get_rng_state(), before)
