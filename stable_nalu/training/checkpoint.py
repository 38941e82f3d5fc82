"""Files of one run: checkpoints to resume from, the best model; written atomically."""

import errno
import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_path, model_file, remove_temporaries, save_root

BEST_MODELS, BEST_PARAMETERS = "lowest_interp_model", "lowest_interp_params"
"""Folders of the best models below the save root, and of their parameters as text."""

PROGRESS = {
    "task": dict,
    "random": list,
    "errors": dict,
    "updates": int,
    "batch": (int, type(None)),
    "order": (torch.Tensor, type(None)),
    "engine": str,
    "diverged_at": (int, type(None)),
    "event_file": str,
    "event_position": int,
}
"""Names and types of what a checkpoint holds of the progress of a run."""


def write_atomically(
    path: Path, write: Callable[[Path], object], shown: Path | None = None
) -> None:
    """Let `write` fill a temporary file that then takes the place of `path`.

    shown: the file that errors name, if that is another.
    """
    try:
        with atomic_path(path, durable=True) as temporary:
            write(temporary)
    except OSError as error:
        problem = f"cannot write {shown or path}: {error.strerror}"
        raise UsageError(f"{problem}; set SAVE_DIR elsewhere") from None


def is_there(path: Path) -> bool:
    """Return whether a file exists; one whose name no disk holds does not."""
    try:
        return path.exists()
    except OSError:
        return False


def require_writable(path: Path, probed: set[Path] | None = None) -> None:
    """Refuse a file that could not be written later, before any work is done for it.

    Nothing is left behind: a folder that is missing is made when the file is.

    probed: missing folders that were found to be such as can be made, which is not tried again.
    """
    try:
        folder = _nearest(path.parent)
        if folder != path.parent and (probed is None or path.parent not in probed):
            # Only making them tells on every file system whether folders can be made.
            with tempfile.TemporaryDirectory(prefix=".", dir=folder) as probe:
                Path(probe, path.parent.relative_to(folder)).mkdir(parents=True)
            if probed is not None:
                probed.add(path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; set SAVE_DIR elsewhere") from None
    if path.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {path}; set SAVE_DIR to a writable folder")


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists; raise OSError for other files."""
    try:
        folder.lstat()
    except FileNotFoundError:
        return _nearest(folder.parent)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    return folder


def save_torch(path: Path, content: dict, shown: Path | None = None) -> None:
    """Write a file by `torch.save`, whole or not at all; errors name `shown`, if it is given."""
    # In memory first, as torch reports a full disk as an error of its own.
    saved = io.BytesIO()
    torch.save(content, saved)
    write_atomically(path, lambda temporary: temporary.write_bytes(saved.getbuffer()), shown)


def save_best(name: str, state: dict[str, torch.Tensor], text: str) -> None:
    """Write the best weights of a run, for programs and for readers."""
    save_torch(model_file(save_root() / BEST_MODELS, name), state)
    path = model_file(save_root() / BEST_PARAMETERS, name, ".txt")
    write_atomically(path, lambda temporary: temporary.write_text(text))


def pending_file(path: Path) -> Path:
    """Return where a new checkpoint waits until those of all runs of its stack are written."""
    digest = hashlib.sha256(path.name.encode()).hexdigest()[:32]
    return path.with_name(f".{digest}.pending{path.suffix}")


def save_together(contents: Iterable[tuple[Path, dict]]) -> None:
    """Save the states of several runs at one moment.

    Whenever the process dies, every file still holds the old states, or the new one of every run
    is there: in place or pending.
    """
    paths: list[Path] = []
    try:
        for path, content in contents:
            save_torch(pending_file(path), content, path)
            paths.append(path)
    except UsageError:
        for path in paths:
            pending_file(path).unlink(missing_ok=True)
        raise
    for path in paths:
        try:
            pending_file(path).replace(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None


def sweep(names: Iterable[str]) -> None:
    """Remove what a process left behind that was killed while it saved these runs.

    Nobody else may save them meanwhile, which the locks of their folders make sure.
    """
    root, files = save_root(), list[Path]()
    for name in names:
        path = model_file(root, name)
        files += (path, pending_file(path), model_file(root / BEST_MODELS, name))
        files.append(model_file(root / BEST_PARAMETERS, name, ".txt"))
    remove_temporaries(files)


def asked_by(config) -> str:
    """Return the flag that asked for a saved state, which errors name."""
    return "--resume" if config.resume else "--load-checkpoint"


def load_torch(path: Path, flag: str = "--load-checkpoint") -> dict:
    """Load a file of tensors and plain values; refuse anything else in it.

    flag: the one that asked for it, which errors name.
    """
    if not is_there(path):
        raise UsageError(f"argument {flag}: there is no checkpoint {path}")
    if not path.is_file() and not path.is_dir():  # A pipe would be waited for.
        raise UsageError(f"argument {flag}: the checkpoint {path} is not a file")
    try:
        with warnings.catch_warnings(action="ignore"):  # about the protocols of pickled files
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # The texts of torch are long, and about its own history.
        # Where the bytes can be read, it is what they say that is wrong.
        readable = path.is_file() and os.access(path, os.R_OK)
        reason = error.strerror if isinstance(error, OSError) and not readable else None
        raise UsageError(
            f"argument {flag}: cannot read the checkpoint {path}: "
            f"{reason or 'damaged, or not made of tensors and plain values alone'}"
        ) from None


_DAMAGED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What goes wrong where a checkpoint holds something else than was saved."""


def plain(values: dict) -> dict:
    """Return values of only those types that a checkpoint can hold without pickled code."""
    allowed = (bool, int, float, str, list, tuple, dict, type(None))
    return {name: v if isinstance(v, allowed) else str(v) for name, v in values.items()}


@contextmanager
def damage_as_usage_error(path: Path, flag: str) -> Iterator[None]:
    """Say in one line that a checkpoint does not hold what it should."""
    try:
        yield
    except UsageError:
        raise
    except _DAMAGED:
        raise UsageError(
            f"argument {flag}: {path} is damaged or of another version; "
            "--remove-existing-data starts anew"
        ) from None


def restore_parameters(
    targets: Mapping[str, torch.Tensor],
    saved: Mapping[str, torch.Tensor],
    path: Path,
    flag: str = "--load-checkpoint",
) -> None:
    """Copy saved values into parameters and buffers of the same names and shapes."""
    own, theirs = (
        {name: (tuple(value.shape), value.is_complex()) for name, value in values.items()}
        for values in (targets, saved)
    )
    if own != theirs:
        raise UsageError(
            f"argument {flag}: the parameters saved in {path} do not fit this configuration"
        )
    with torch.no_grad():
        for name, target in targets.items():
            target.copy_(saved[name])
