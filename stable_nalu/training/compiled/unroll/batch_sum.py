"""Sums over a batch in torch's own order, written so that a compiler can fuse them.

Torch sums `(runs, batch, m)` over the batch in one of two ways. In groups, it sums sixteen elements
one after another, and then the groups. In lanes, it sums every fourth element in groups, and then
the four lanes. With four to seven columns the first four are summed in groups and the others in
lanes. The choice depends on sizes, precision, processor and version of torch, so it is compared
with a real sum before it is relied on.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache, reduce

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

Random = Callable[..., torch.Tensor]

LANES = 4
GROUP = 16
MOST_GROUPS = 16
"""The most groups that are summed one after another; more are summed in groups again."""
FEWEST_SUMS = 200
"""Equal sums that rule out an accident: another order changes about every second sum."""


def batch_sum(rows: torch.Tensor) -> torch.Tensor:
    """Sum rows `(runs, m, batch)` over the batch."""
    m = rows.shape[1]
    if m == LANES:
        return _in_groups(rows)
    if LANES < m < 2 * LANES:
        return torch.cat([_in_groups(rows[:, :LANES]), _in_lanes(rows[:, LANES:])], 1)
    return _in_lanes(rows)


def _in_lanes(rows: torch.Tensor) -> torch.Tensor:
    lanes = _in_groups(rows.reshape(*rows.shape[:2], -1, LANES))
    return sum_in_turn(lanes.unbind(2))


def _in_groups(x: torch.Tensor) -> torch.Tensor:
    """Sum x `(runs, m, n, …)` over n."""
    groups = x.reshape(*x.shape[:2], -1, GROUP, *x.shape[3:])
    return sum_in_turn(sum_in_turn(groups.unbind(3)).unbind(2))


def sum_in_turn(terms: Sequence[torch.Tensor]) -> torch.Tensor:
    """Sum the terms one after another."""
    return reduce(operator.add, terms)


@cache
def is_known_order(runs: int, batch: int, m: int, dtype: torch.dtype) -> bool:
    """Return whether torch sums `(runs, batch, m)` over the batch in the order of `batch_sum`."""
    if batch % (LANES * GROUP) or batch > LANES * GROUP * MOST_GROUPS:
        return False

    def same(random: Random) -> bool:
        x = random(batch, m)
        return torch.equal(batch_sum(x.mT), x.sum(1))

    return randomly(same, runs, dtype, math.ceil(FEWEST_SUMS / (runs * m)))


def randomly(same: Callable[[Random], bool], runs: int, dtype: torch.dtype, trials: int) -> bool:
    """Return whether `same`, given a source of random `(runs, *shape)`, holds in all trials."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(runs, *shape, dtype=dtype, generator=generator)

    with disable_proxy_modes_tracing():
        return all(same(random) for _ in range(trials))
