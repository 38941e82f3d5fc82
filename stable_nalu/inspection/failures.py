"""Why a run failed: one class, by rules over its last weights and its curve of validation errors.

The rules are asked in the order of `FAILURES`, and the first that holds is the class. All errors
are those of the training range, all scales those of the answers that are right there.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.layer.division import ConcatReciprocalNMUGatedSignRetrievalLayer
from stable_nalu.layer.gated import DMULayer, INALULayer
from stable_nalu.layer.mcfc import MulMCFCSignRealNPU
from stable_nalu.layer.nalu import AbstractNALULayer
from stable_nalu.layer.npu import NPUBase
from stable_nalu.training.task import Target
from stable_nalu.writer.event_file import FILE_PREFIX, METRIC_VALID, EventFileReader

from .formula import FARTHEST, Certificate

NAN, EXPLODED, VANISHED, GATE = "not a number", "exploded", "vanished", "gate stuck"
IMPRECISE, SLOW, CORNER, DENSE = "correct, not precise", "slow", "wrong corner", "not sparse"
FAILURES = {
    NAN: "a weight or an error of the end is not a finite number",
    EXPLODED: "the last error is over ten times the first, or answers spread a hundredfold",
    IMPRECISE: "weights are within 0.1 of the right whole numbers",
    SLOW: "the error still halves in the last tenth of the run",
    VANISHED: "the answers spread less than a hundredth of what is right",
    GATE: "a gate is more than 0.1 from where the task needs it",
    CORNER: "all weights are within 0.1 of whole numbers, which are not the right ones",
    DENSE: "a weight is farther than that from all whole numbers, and the error does not fall",
}
"""Class of failure -> its rule."""
UNCLASSIFIED = "unclassified"

_CHOOSES = AbstractNALULayer, INALULayer, DMULayer
_OPENS = NPUBase, MulMCFCSignRealNPU, ConcatReciprocalNMUGatedSignRetrievalLayer
"""Layers with gates between a sum (1) and a product (0), and with one that opens each input."""


def curve(folder: Path) -> np.ndarray:
    """Return the steps at which a run has logged its error in training range, and the errors."""
    files = sorted(p for p in folder.iterdir() if p.name.startswith(FILE_PREFIX))
    return np.array([point for file in files for point in _points(file)], float).reshape(-1, 2).T


def _points(file: Path) -> Iterator[tuple[int, float]]:
    for event in EventFileReader(file):
        for tag, value in zip(event.tags, event.values, strict=True):
            if tag == METRIC_VALID and not isinstance(value, bytes):
                yield event.step, value


def failure(
    network: torch.nn.Module,
    target: Target,
    errors: np.ndarray,
    found: Certificate | None,
    sparsity: float = math.nan,
) -> str:
    """Return the class of a run that has failed.

    target: what its task asks for. errors: those of its `curve`. found: what it
    computes; where that is not known, the largest distance of its weights from whole numbers that
    it logged, `sparsity`, stands for it.
    """
    state = network.state_dict().values()
    if not (len(errors) and np.isfinite(errors[-1]) and all(v.isfinite().all() for v in state)):
        return NAN if len(errors) else UNCLASSIFIED
    with torch.no_grad():
        spread = _spread(network(target.x)) / _spread(target.t)
    if errors[-1] > 10 * errors[0] or spread > 100:
        return EXPLODED
    change = sparsity if found is None else found.change
    is_right = found is not None and bool(found.proof)
    if is_right and change <= FARTHEST:
        return IMPRECISE
    if _still_falls(errors):
        return SLOW
    if spread < 0.01:
        return VANISHED
    if any(gap > FARTHEST for gap in _gate_gaps(network, target)):
        return GATE
    if change > FARTHEST:
        return DENSE
    return UNCLASSIFIED if found is None or math.isnan(change) else CORNER


def _spread(values: torch.Tensor) -> float:
    """Return the median distance from the median, which single huge values do not move."""
    return float((values - values.median()).abs().median())


def _still_falls(errors: Sequence[float] | np.ndarray) -> bool:
    """Return whether the errors of the last tenth are half of those of the tenth before, or less.

    Of both the median counts.
    """
    tenth = len(errors) // 10
    if not tenth:
        return False
    before, last = (np.median(errors[len(errors) - k * tenth :][:tenth]) for k in (2, 1))
    return bool(last <= before / 2)


def _gate_gaps(network: torch.nn.Module, target: Target) -> Iterator[float]:
    """Yield how far each gate is from where the task needs it, for inputs of the training range.

    Where a gate depends on the inputs, its mean counts. Layers before the last one are to add.
    """
    units = [m for m in network.modules() if isinstance(m, (*_CHOOSES, *_OPENS))]
    seen: dict[int, torch.Tensor] = {}
    for place, unit in enumerate(units):
        own: Any = unit.gate

        def kept(*args: Any, own: Any = own, place: int = place) -> torch.Tensor:
            gate = own(*args)
            seen.setdefault(place, gate.detach())
            return gate

        unit.gate = kept  # pyright: ignore[reportAttributeAccessIssue]
    try:
        with torch.no_grad():
            network(target.x)
    finally:
        for unit in units:
            del unit.gate
    name, inputs = target.targets.operation.name, target.x.shape[1]
    read = [list(range(*operand)) for operand in target.targets.operands]
    for place, gate in seen.items():
        if isinstance(units[place], _CHOOSES):
            adds = place < len(units) - 1 or name in ("add", "sub")
            yield float((gate.double().mean() - float(adds)).abs())
        elif gate.numel() in (inputs, 2 * inputs):
            if gate.numel() > inputs and name in ("div", "reciprocal"):  # 1 / x is behind all x
                read[-1] = [inputs + k for k in read[-1]]
            yield float((1 - gate.double().reshape(-1)[sum(read, [])]).abs().max())
