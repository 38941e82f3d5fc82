import math

import pytest
import torch
from scipy.optimize import bisect

from stable_nalu.functional.initialization import (
    MNAC_BOUND,
    NMU_BOUND,
    kaiming_bound,
    nac_bound,
    nau_bound,
    xavier_bound,
)


@pytest.mark.parametrize("fan", [(2, 1), (100, 2), (2, 7), (10, 1), (64, 64)])
def test_bounds_draw_what_torch_draws(fan):
    xavier, kaiming = torch.nn.init.xavier_uniform_, torch.nn.init.kaiming_uniform_
    for bound, initializer, options in (
        (xavier_bound(*fan), xavier, {}),
        (xavier_bound(*fan, gain=5.0 / 3.0), xavier, {"gain": 5.0 / 3.0}),
        (kaiming_bound(*fan), kaiming, {"nonlinearity": "relu"}),
    ):
        ours, theirs = torch.empty(2, *fan[::-1], dtype=torch.float64)
        torch.manual_seed(1)
        ours.uniform_(-bound, bound)
        torch.manual_seed(1)
        assert torch.equal(ours, initializer(theirs, **options))
    assert nau_bound(*fan) == pytest.approx(min(0.5, math.sqrt(6 / sum(fan))), rel=1e-15)


def test_constant_bounds():
    assert MNAC_BOUND == math.sqrt(3) / 2
    assert NMU_BOUND == 0.25


@pytest.mark.parametrize(
    ("fan", "published"),
    [
        ((1, 1), 9.47140638591577),
        ((2, 1), 9.47140638591577),
        ((4, 1), 9.47140638591577),
        ((4, 2), 5.425507820881421),
        ((10, 1), 2.26046806105046),
        ((10, 2), 2.0742480588262424),
        ((100, 1), 0.5065927462612763),
        ((100, 2), 0.5039089041167699),
    ],
)
def test_nac_bound_is_the_published_one_to_the_last_digit(fan, published):
    assert nac_bound(*fan) == published


@pytest.mark.parametrize("total", [*range(2, 40), 77, 512, 2048])
def test_nac_bound_stops_where_scipys_bisection_stops(total):
    def excess(r):
        variance = (1 - math.tanh(r) / r) * (r - math.tanh(r / 2)) / (2 * r) if r else 0
        return max(total, 5) * variance - 2

    assert nac_bound(total - 1, 1) == bisect(excess, 0, 10)
