"""What the checkpoint of a run holds, whichever loop has trained it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch

from stable_nalu.errors import UsageError

from .checkpoint import numpy_rng_state

_DAMAGED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What goes wrong where a checkpoint holds something else than was saved."""


def run_content(
    epoch: int,
    config,
    model: Mapping[str, torch.Tensor],
    optimizer: dict,
    generator: torch.Tensor,
    progress: dict,
) -> dict:
    """The published keys, and what a resumed run needs besides; `epoch` is the first one left."""
    return {
        "epoch": epoch,
        "model_state_dict": model,
        "optimizer_state_dict": optimizer,
        "torch_rng_state": generator,
        "numpy_rng_state": numpy_rng_state(),
        "args": None,
        "config": plain(config.as_dict()),
        "progress": progress,
    }


def plain(values: dict) -> dict:
    """Only types that a checkpoint can hold without pickled code."""
    allowed = (bool, int, float, str, list, tuple, dict, type(None))
    return {name: v if isinstance(v, allowed) else str(v) for name, v in values.items()}


@contextmanager
def damage_as_usage_error(path: Path) -> Iterator[None]:
    """Say in one line that a checkpoint does not hold what it should."""
    try:
        yield
    except UsageError:
        raise
    except _DAMAGED:
        raise UsageError(
            f"argument --load-checkpoint: {path} is damaged or of "
            "another version; --remove-existing-data starts anew"
        ) from None


def restore_parameters(
    targets: Mapping[str, torch.Tensor], saved: Mapping[str, torch.Tensor], path: Path
) -> None:
    """Copy saved values into parameters and buffers of the same names and shapes."""
    shapes = {name: tuple(value.shape) for name, value in targets.items()}
    if shapes != {name: tuple(value.shape) for name, value in saved.items()}:
        raise UsageError(
            f"argument --load-checkpoint: the parameters saved in {path} do not fit this "
            "configuration"
        )
    with torch.no_grad():
        for name, target in targets.items():
            target.copy_(saved[name])
