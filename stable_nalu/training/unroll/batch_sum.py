"""Sums over a batch in torch's own order, written so that a compiler can fuse them.

Torch sums `(runs, batch, m)` over the batch either in groups: sixteen elements in turn, then the
groups; or in lanes: every fourth element in groups, then the four lanes. With four to seven columns
the first four are summed in groups, others in lanes. The choice depends on sizes, precision,
processor and version, so it is compared with a real sum before it is relied on.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

LANES = 4
GROUP = 16
MOST_GROUPS = 16
"""More groups are summed in groups again."""
FEWEST_SUMS = 200
"""So many equal sums are no accident: another order changes about every second one."""


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
    return _in_turn(lanes, 2)


def _in_groups(x: torch.Tensor) -> torch.Tensor:
    """Sum x `(runs, m, n, …)` over n."""
    groups = x.reshape(*x.shape[:2], -1, GROUP, *x.shape[3:])
    return _in_turn(_in_turn(groups, 3), 2)


def _in_turn(x: torch.Tensor, dim: int) -> torch.Tensor:
    first, *rest = x.unbind(dim)
    for part in rest:
        first = first + part
    return first


@cache
def is_known_order(runs: int, batch: int, m: int, dtype: torch.dtype) -> bool:
    """Whether torch sums `(runs, batch, m)` over the batch in the order of `batch_sum`."""
    if batch % (LANES * GROUP) or batch > LANES * GROUP * MOST_GROUPS:
        return False
    with disable_proxy_modes_tracing():
        random = torch.Generator().manual_seed(0)
        trials = math.ceil(FEWEST_SUMS / (runs * m))
        x = torch.randn(trials, runs, batch, m, dtype=dtype, generator=random)
        return all(torch.equal(batch_sum(part.mT), part.sum(1)) for part in x)
