"""Published functions that save and load models below `SAVE_DIR`; no code is ever unpickled."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import save_root

_PARTS = "epoch", "model_state_dict", "optimizer_state_dict", "torch_rng_state", "numpy_rng_state"


def _file(name: str, suffix: str = ".pth") -> Path:
    path = save_root() / f"{name}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def save_model(name: str, model: torch.nn.Module) -> None:
    """Write the state dictionary of a model; published code pickles the model as a whole."""
    torch.save(model.state_dict(), _file(name))


def save_model_checkpoint(
    name: str,
    epoch: int,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    rng_states: dict[str, Any],
    args: Any = None,
) -> None:
    """Write what a loop is resumed from; `rng_states` has the states of `torch` and `numpy`."""
    kind, words, *rest = rng_states["numpy"]
    states = model.state_dict(), optimizer.state_dict(), rng_states["torch"]
    values = epoch, *states, (kind, torch.from_numpy(words.astype(np.int64)), *rest)
    torch.save(dict(zip(_PARTS, values, strict=True)) | {"args": args}, _file(name))


def load_model(
    name: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> int:
    """Take over a model, an optimiser and the random states from a checkpoint; return its epoch.

    A file of `save_model`, or of weights alone, gives the model and epoch 0.
    """
    saved = read_saved(_file(name))
    if "model_state_dict" not in saved:
        model.load_state_dict(saved)
        return 0
    model.load_state_dict(saved["model_state_dict"])
    if optimizer is not None:
        optimizer.load_state_dict(saved["optimizer_state_dict"])
    torch.set_rng_state(saved["torch_rng_state"])
    kind, words, *rest = saved["numpy_rng_state"]
    np.random.set_state((kind, np.asarray(words, np.uint32), *rest))  # noqa: NPY002
    return saved["epoch"]


def read_saved(path: Path) -> Any:
    """Return the numbers in a file of torch; refuse one that would run code when it is read."""
    if not path.is_file():
        raise UsageError(f"there is no saved model {path}")
    arrays = [np.ndarray, np.dtype, np.dtypes.UInt32DType, np._core.multiarray._reconstruct]
    try:
        with torch.serialization.safe_globals(arrays):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        raise UsageError(
            f"{path} is damaged, or holds more than numbers and would run code when read; if "
            "it is a model that you trust, write its weights where its code is: "
            "torch.save(model.state_dict(), path)"
        ) from None


def save_model_params(name: str, model: torch.nn.Module) -> None:
    """Write the names and values of all parameters as text."""
    named = model.named_parameters()
    text = "".join(f"{name}: {parameter.tolist()}\n" for name, parameter in named)
    _file(name, ".txt").write_text(text, encoding="utf-8")
