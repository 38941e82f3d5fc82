import pytest

from stable_nalu.abstract.observation import weight_observations
from tests.runs import RUNS, normal


def summary(observations):
    return [(o.kind, o.name, o.verbose_only) for o in observations]


def test_the_usual_gates():
    assert summary(weight_observations("W", lambda: normal(2, 3))) == [
        ("histogram", "W", True),
        ("tensor", "W", True),
        ("scalar", "W/sparsity_error", False),
    ]


def test_text_always_swaps_text_and_sparsity_error():
    assert summary(weight_observations("W", lambda: normal(2, 3), text_always=True)) == [
        ("histogram", "W", True),
        ("tensor", "W", False),
        ("scalar", "W/sparsity_error", True),
    ]


def test_without_sparsity_error():
    kinds = [o.kind for o in weight_observations("W", lambda: normal(2, 3), sparsity=False)]
    assert kinds == ["histogram", "tensor"]


@pytest.mark.parametrize("runs", RUNS)
def test_sparsity_error_of_every_run(runs):
    W = normal(*runs, 5)
    scalar = weight_observations("g", lambda: W, ndim=1)[-1].value()
    assert scalar.shape == runs
    magnitude = W.abs()
    expected = magnitude.where(magnitude < 0.5, (1 - magnitude).abs()).amax(-1)
    assert scalar.equal(expected)


def test_values_are_computed_when_asked_for():
    calls = []
    observed = weight_observations("W", lambda: calls.append(1) or normal(2, 3))
    assert calls == []
    observed[0].value()
    assert calls == [1]
