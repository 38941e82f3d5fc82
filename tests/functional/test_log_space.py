import math

import pytest
import torch

from stable_nalu.functional import LOG_SPACE_MODES, in_log_space
from tests.runs import RUNS, normal

EPS = 1e-7
PHI = (1 + math.sqrt(5)) / 2
LOGARITHMS = {
    "normal": lambda x: math.log(abs(x) + EPS),
    "safe": lambda x: math.log(abs(x - 1) + 1),
    "max-safe": lambda x: math.log(max(x - 1, 0) + 1),
    "trig": lambda x: math.log(x + math.sqrt(x * x + 1) + EPS),
    "golden-ratio": lambda x: math.log(abs(x) + EPS),
}
POWERS = dict.fromkeys(LOGARITHMS, math.exp) | {
    "trig": math.sinh,
    "golden-ratio": lambda s: PHI ** (s / math.log(PHI)),
}


def weighted_sum(W):
    return lambda logs: logs @ W.mT


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("mode", LOG_SPACE_MODES)
def test_against_loops(mode, runs):
    x, W = normal(*runs, 4, 3), normal(*runs, 2, 3, seed=1)
    y = in_log_space(weighted_sum(W), x, mode, EPS)
    assert y.shape == (*runs, 4, 2)
    rows, weights = x.reshape(-1, 4, 3).tolist(), W.reshape(-1, 2, 3).tolist()
    for run, outputs in enumerate(y.reshape(-1, 4, 2).tolist()):
        for b in range(4):
            for o in range(2):
                total = sum(
                    w * LOGARITHMS[mode](v)
                    for w, v in zip(weights[run][o], rows[run][b], strict=True)
                )
                assert outputs[b][o] == pytest.approx(POWERS[mode](total), rel=1e-10)


@pytest.mark.parametrize("mode", LOG_SPACE_MODES)
def test_gradient(mode):
    x, W = normal(4, 3).requires_grad_(), normal(2, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, W: in_log_space(weighted_sum(W), x, mode, EPS), (x, W)
    )


@pytest.mark.parametrize("mode", ["normal", "golden-ratio"])
def test_weights_of_one_multiply_magnitudes(mode):
    x = torch.tensor([[1.5, -2.0], [0.5, 3.0]], dtype=torch.float64)
    y = in_log_space(weighted_sum(torch.ones(1, 2, dtype=torch.float64)), x, mode, EPS)
    assert y.flatten().tolist() == pytest.approx([3.0, 1.5], rel=1e-6)


def test_unknown_mode():
    with pytest.raises(ValueError, match="log space mode 'mnac' is not one of normal, safe"):
        in_log_space(weighted_sum(normal(1, 1)), normal(1, 1), "mnac", EPS)
