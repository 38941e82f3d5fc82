"""How well a network of two digits does: errors and shares of exact predictions, and classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

QUANTITIES = ("output", "label1", "label2")
DECIMALS = (4, 5)
CLASSES = 10


def pair_metrics(
    predicted: torch.Tensor, true: torch.Tensor, *, loss: str, decimals: bool
) -> Iterator[tuple[str, float]]:
    """(name, value) of predictions (n, 3) and true values (n, 3): answer, left and right digit.

    loss: name of the mean squared error. decimals: also compare answers cut to four and five
    decimals. Shares are percentages; halves are rounded to even numbers.
    """
    for name, squares in zip(QUANTITIES, _columns((predicted - true) ** 2), strict=True):
        yield f"{name}/{loss}", squares
    for name, share in zip(QUANTITIES, _percent(predicted == true), strict=True):
        yield f"{name}/acc", share
    for name, share in zip(QUANTITIES, _percent(predicted.round() == true.round()), strict=True):
        yield f"{name}_rounded/acc", share
    for places in DECIMALS if decimals else ():
        equal = at_decimals(predicted[:, :1], places) == at_decimals(true[:, :1], places)
        yield f"output_rounded_{places}dp/acc", _percent(equal)[0]


def at_decimals(values: torch.Tensor, places: int) -> torch.Tensor:
    """Values rounded to decimal places, in their own precision."""
    return (values * 10**places).round() / 10**places


def _columns(values: torch.Tensor) -> list[float]:
    return values.double().mean(0).tolist()


def _percent(equal: torch.Tensor) -> list[float]:
    return [100 * share for share in _columns(equal)]


def class_counts(digits: np.ndarray, true: np.ndarray, *, rounded: bool) -> np.ndarray:
    """Rows: true digit; columns: predicted digit, rounded or cut off towards zero.

    Cut off, 2.9999 counts as a 2.
    """
    classes = (np.rint(digits) if rounded else np.trunc(digits)).astype(int)
    counts = np.zeros((CLASSES, CLASSES), dtype=int)
    np.add.at(counts, (true.astype(int).ravel(), classes.ravel()), 1)
    return counts
