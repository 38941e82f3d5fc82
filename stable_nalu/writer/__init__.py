"""The published writers, which a loop of one's own logs with, and what saves its models.

They write by tensorboardX. A value is written in iterations that its writer's interval divides, and
those marked as `verbose_only` by verbose writers alone. A writer is silent while one that it was
made from is. Models are saved below `SAVE_DIR`; no code is ever unpickled.

`event_file` writes and reads the logs of the scripts.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from stable_nalu.base import publish
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import save_root, tensorboard_root

from .event_file import (
    FILE_PREFIX,
    LOCK_NAME,
    RECORD_NAME,
    EventFile,
    RunRecord,
    RunWriter,
    scalar_events,
)

__all__ = [
    "DummySummaryWriter",
    "EventFile",
    "RunRecord",
    "RunWriter",
    "SummaryWriter",
    "load_model",
    "save_model",
    "save_model_checkpoint",
    "save_model_params",
    "scalar_events",
]


def _array(value: Any) -> np.ndarray:
    return np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value)


class SummaryWriterNamespace:
    """Writes values below a prefix, at every so many iterations."""

    def __init__(
        self,
        parent: "SummaryWriterNamespace | None" = None,
        prefix: str = "",
        interval: int = 1,
        is_verbose: bool = True,
    ):
        self._root: Any = self if parent is None else parent._root
        self.parent = parent or self
        self.name = prefix
        self.interval = interval
        self.is_verbose = is_verbose
        self.is_enabled = True

    def namespace(self, name: str) -> "SummaryWriterNamespace":
        """Return a writer below the prefix `name`."""
        return SummaryWriterNamespace(
            self, f"{self._prefix}/{name}", self.interval, self.is_verbose
        )

    def every(self, interval: int) -> "SummaryWriterNamespace":
        """Return a writer that writes in each iteration that `interval` divides."""
        return SummaryWriterNamespace(self, self._prefix, interval, self.is_verbose)

    def verbose(self, is_verbose: bool) -> "SummaryWriterNamespace":
        """Return a writer that also writes what is `verbose_only`, or does not."""
        return SummaryWriterNamespace(self, self._prefix, self.interval, is_verbose)

    @property
    def _prefix(self) -> str:
        return "" if self is self._root else self.name

    def get_iteration(self) -> int:
        return self._root.iteration

    @contextmanager
    def no_logging(self) -> Iterator[None]:
        """Write nothing, here and in writers made from this one; afterwards all write again."""
        self.is_enabled = False
        try:
            yield
        finally:
            self.is_enabled = True

    def writes(self, verbose_only: bool = True) -> bool:
        """Return whether a value would be written now."""
        root = self._root
        if verbose_only and not self.is_verbose:
            return False
        if root.iteration % self.interval and not root.is_forced:
            return False
        writer: SummaryWriterNamespace = self
        while writer is not root and writer.is_enabled:
            writer = writer.parent
        return writer.is_enabled

    def add_scalar(self, name: str, value: Any, verbose_only: bool = True) -> None:
        if self.writes(verbose_only):
            self._scalar(name, value)

    def _scalar(self, name: str, value: Any) -> None:
        self._root.writer.add_scalar(f"{self._prefix}/{name}", value, self._root.iteration)

    def add_summary(self, name: str, tensor: torch.Tensor, verbose_only: bool = True) -> None:
        """Write mean, variance (unbiased) and Euclidean norm."""
        if self.writes(verbose_only):
            tensor = tensor.detach()
            self._scalar(f"{name}/mean", tensor.mean())
            self._scalar(f"{name}/var", tensor.var() if tensor.numel() > 1 else float("nan"))
            self._scalar(f"{name}/norm", torch.linalg.vector_norm(tensor))

    def add_tensor(self, name: str, matrix: torch.Tensor, verbose_only: bool = True) -> None:
        """Write all elements as text."""
        if self.writes(verbose_only):
            text = np.array2string(_array(matrix), max_line_width=60, threshold=sys.maxsize)
            tag = f"{self._prefix}/{name}"
            self._root.writer.add_text(tag, f"<pre>{text}</pre>", self._root.iteration)

    def add_histogram(self, name: str, tensor: torch.Tensor, verbose_only: bool = True) -> None:
        """Write a distribution; raise ValueError for one with NaN, also where none is written."""
        if torch.isnan(tensor).any():
            print(f"nan detected in {self._prefix}/{name}:", tensor, sep="\n")  # noqa: T201
            raise ValueError("nan detected")
        if self.writes(verbose_only):
            tag = f"{self._prefix}/{name}"
            self._root.writer.add_histogram(tag, _array(tensor), self._root.iteration)

    def print(self, name: str, tensor: Any, verbose_only: bool = True) -> None:
        """Print a value on the console."""
        if self.writes(verbose_only):
            print(f"{self._prefix}/{name}:", tensor, sep="\n")  # noqa: T201

    def add_grad_summary(self, name: str, tensor: torch.Tensor) -> None:
        """Write each element under its number, in every iteration."""
        for place, value in enumerate(tensor.detach().flatten().tolist()):
            self._scalar(f"{name}/W_{place}", value)

    def add_mse_grad_summary(self, name: str, tensor: torch.Tensor) -> None:
        """Write the sum of magnitudes, in every iteration."""
        self._scalar(f"{name}/mse-norm", tensor.detach().abs().sum())


class SummaryWriter(SummaryWriterNamespace):
    """The writer of a run, into the folder `TENSORBOARD_DIR/name`; keywords are tensorboardX's.

    With `remove_existing_data` the folder is emptied first; without, one more file is added.
    `writer` is tensorboardX's own.

    Examples:
        >>> log = sn.writer.SummaryWriter("runs/mine", remove_existing_data=True)
        >>> log.set_iteration(0)
        >>> log.every(100).namespace("metric").add_scalar("test", 0.5, verbose_only=False)
        >>> log.close()
    """

    def __init__(self, name: str, remove_existing_data: bool = False, **kwargs: Any):
        super().__init__()
        from tensorboardX import SummaryWriter as EventWriter

        self.name = name
        self.iteration = 0
        self.is_forced = False
        folder = tensorboard_root() / name
        if remove_existing_data and folder.exists():
            _refuse_foreign_files(folder)
            shutil.rmtree(folder)
        self.writer = EventWriter(logdir=str(folder), **kwargs)

    def set_iteration(self, iteration: int) -> None:
        self.iteration = iteration

    @contextmanager
    def force_logging(self, flag: bool) -> Iterator[None]:
        """Write in all iterations if `flag`; `verbose_only` values need a verbose writer still."""
        self.is_forced = flag
        try:
            yield
        finally:
            self.is_forced = False

    def close(self) -> None:
        self.writer.close()


def _refuse_foreign_files(folder: Path) -> None:
    own = FILE_PREFIX, RECORD_NAME, LOCK_NAME
    files = (path.name for path in folder.rglob("*") if path.is_file())
    foreign = [name for name in files if not name.startswith(own)]
    if foreign or folder.resolve() == tensorboard_root().resolve():
        held = f"besides event files it holds {foreign[0]}" if foreign else "it holds all runs"
        raise UsageError(f"will not remove {folder}: {held}")


class DummySummaryWriter:
    """A writer that writes nothing; writers made from it are itself."""

    name = ""

    def __init__(self, **kwargs: Any):
        pass

    def __reduce__(self) -> tuple[type, tuple]:
        return DummySummaryWriter, ()

    @property
    def parent(self) -> Self:
        return self

    def namespace(self, name: str) -> Self:
        return self

    every = verbose = namespace

    def get_iteration(self) -> int:
        return 0

    def writes(self, verbose_only: bool = True) -> bool:
        return False

    def set_iteration(self, iteration: int) -> None:
        pass

    def _ignore(self, *args: Any, **kwargs: Any) -> None:
        pass

    add_scalar = add_summary = add_tensor = add_histogram = print = _ignore
    add_grad_summary = add_mse_grad_summary = _ignore

    @contextmanager
    def no_logging(self, *flag: bool) -> Iterator[None]:
        yield

    force_logging = no_logging


NO_WRITER = DummySummaryWriter()

_PARTS = "epoch", "model_state_dict", "optimizer_state_dict", "torch_rng_state", "numpy_rng_state"


def _file(name: str, suffix: str = ".pth") -> Path:
    """Return the file to write, in a folder that is there."""
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
    saved = read_saved(save_root() / f"{name}.pth")
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
    made_by = np.empty(0).__reduce__()[0]
    # The name of this function in files of NumPy 1, and of NumPy 2.
    arrays = [(made_by, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals(
            [np.ndarray, np.dtype, np.dtypes.UInt32DType, *arrays]
        ):
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


publish(__name__, "summary_writer save_model")
