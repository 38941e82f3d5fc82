import pytest

from stable_nalu.functional import sparsity_error
from tests.runs import RUNS, indices, normal


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_against_loops(shape, runs):
    W = normal(*runs, *shape)
    value = sparsity_error(W, ndim=len(shape))
    assert value.shape == runs
    for index in indices(runs):
        expected = max(min(abs(w), abs(1 - abs(w))) for w in W[index].flatten().tolist())
        assert value[index].item() == expected


def test_worked_values():
    assert sparsity_error(normal(1, 2) * 0).item() == 0
    assert sparsity_error(normal(1, 2) * 0 - 1).item() == 0
    assert sparsity_error(normal(1, 2) * 0 + 2.5).item() == 1.5
