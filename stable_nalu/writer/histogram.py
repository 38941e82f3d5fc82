"""Histograms over the bins that TensorBoard shows by default."""

import functools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Histogram:
    """Statistics of n values; `counts[i]` values lie below `limits[i]` and not below the last."""

    minimum: float
    maximum: float
    n: int
    total: float
    sum_of_squares: float
    limits: np.ndarray
    counts: np.ndarray


@functools.cache
def bin_edges() -> np.ndarray:
    """0 and +-1e-12 * 1.1^k below 1e20, built by repeated multiplication; 1549 edges."""
    positive = []
    edge = 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return np.array([-edge for edge in reversed(positive)] + [0.0] + positive)


def histogram(values: np.ndarray) -> Histogram | None:
    """Histogram of the finite elements of `values`; None when there is none.

    The limits span the occupied bins only, after one empty bin that gives the lowest limit.
    Values beyond the outermost edges count in the outermost bins.
    """
    values = np.asarray(values, dtype=np.float64).reshape(-1)
    values = values[np.isfinite(values)]
    if values.size == 0:
        return None
    edges = bin_edges()
    bins = np.searchsorted(edges, values, side="right") - 1
    bins = bins.clip(0, len(edges) - 2)
    first, last = int(bins.min()), int(bins.max())
    counts = np.bincount(bins - first + 1, minlength=last - first + 2)
    with np.errstate(over="ignore"):
        total, sum_of_squares = float(values.sum()), float(values @ values)
    return Histogram(
        minimum=float(values.min()),
        maximum=float(values.max()),
        n=values.size,
        total=total,
        sum_of_squares=sum_of_squares,
        limits=edges[first : last + 2],
        counts=counts,
    )
