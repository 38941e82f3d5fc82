"""Files of one run: checkpoints to resume from, the best model; written atomically."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_path

_LONGEST_NAME = 255


def model_file(root: Path, name: str, suffix: str = ".pth") -> Path:
    """File of a run below `root`; of a name too long for a file, the end becomes a digest."""
    path = root / f"{name}{suffix}"
    if len(path.name.encode()) <= _LONGEST_NAME:
        return path
    digest = hashlib.sha256(path.name.encode()).hexdigest()[:16]
    return path.with_name(f"{path.name[: _LONGEST_NAME - 32]}~{digest}{suffix}")


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file that then takes the place of `path`."""
    try:
        with atomic_path(path, durable=True) as temporary:
            write(temporary)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; set SAVE_DIR elsewhere") from None


def require_writable(path: Path) -> None:
    """Refuse a file that could not be written later, before any work is done for it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; set SAVE_DIR elsewhere") from None
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {path}; set SAVE_DIR to a writable folder")


def save_torch(path: Path, content: dict) -> None:
    """`torch.save`, atomically."""

    def write(temporary: Path) -> None:
        # Through a file of ours: torch's own reports a full disk as an internal error.
        with temporary.open("wb") as file:
            torch.save(content, file)

    write_atomically(path, write)


def pending_file(path: Path) -> Path:
    """Where a new checkpoint waits until those of all runs of its stack are written."""
    digest = hashlib.sha256(path.name.encode()).hexdigest()[:32]
    return path.with_name(f".{digest}.pending{path.suffix}")


def save_together(contents: Iterable[tuple[Path, dict]]) -> None:
    """Save the states of several runs at one moment.

    Whenever the process dies, every file still holds the old states, or the new one of every run
    is there: in place or pending.
    """
    paths = []
    for path, content in contents:
        save_torch(pending_file(path), content)
        paths.append(path)
    for path in paths:
        try:
            pending_file(path).replace(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None


def load_torch(path: Path, flag: str = "--load-checkpoint") -> dict:
    """Load a file of tensors and plain values; anything else in it is refused.

    flag: the one that asked for it, named in errors.
    """
    if not path.exists():
        raise UsageError(f"argument {flag}: there is no checkpoint {path}")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # The texts of torch are long, and about its own history.
        reason = error.strerror if isinstance(error, OSError) and not _is_broken(path) else None
        raise UsageError(
            f"argument {flag}: cannot read the checkpoint {path}: "
            f"{reason or 'damaged, or not made of tensors and plain values alone'}"
        ) from None


def _is_broken(path: Path) -> bool:
    """Whether the bytes can be read, so that it is what they say that is wrong."""
    return path.is_file() and os.access(path, os.R_OK)


def numpy_rng_state() -> dict:
    """State of numpy's global generator as plain values (kept for the published file layout)."""
    own = np.random.get_state(legacy=False)
    return {
        "name": own["bit_generator"],
        "keys": torch.from_numpy(own["state"]["key"].astype(np.int64)),
        "position": own["state"]["pos"],
        "has_gauss": own["has_gauss"],
        "gauss": own["gauss"],
    }


def set_numpy_rng_state(state: dict) -> None:
    """Put the state of numpy's global generator back."""
    keys = state["keys"].numpy().astype(np.uint32)
    np.random.set_state(
        (state["name"], keys, state["position"], state["has_gauss"], state["gauss"])
    )


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
