"""What has become of runs: done, running, failed or missing, told from their folders."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path

from stable_nalu.catalogue.expected import ExpectedRun
from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.machine import save_root
from stable_nalu.training.saved.checkpoint import load_torch, model_file
from stable_nalu.writer.run_folder import LOCK_NAME, visible_entries

MARKER = ".finished.json"


class State(Enum):
    """Of one run. FAILED: begun, not finished, and no process is at it."""

    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    MISSING = "missing"


def state_of(run: ExpectedRun, root: Path) -> State:
    """The state of a run below the log root."""
    folder = root / run.name
    files = [entry.name for entry in visible_entries(folder)] if folder.is_dir() else []
    if not files:
        return State.MISSING
    if _is_locked(folder / LOCK_NAME):
        return State.RUNNING
    return State.DONE if _finished(folder, files, run) else State.FAILED


def count(runs: Iterable[ExpectedRun], root: Path) -> Counter[State]:
    """How many runs are in each state."""
    return Counter(state_of(run, root) for run in runs)


def mark_finished(runs: Sequence[ExpectedRun], root: Path) -> None:
    """Record that these runs have come to their end, be it that they diverged."""
    for run in runs:
        folder = root / run.name
        files = [entry.name for entry in visible_entries(folder)]
        with atomic_text_file(folder / MARKER) as file:
            json.dump({"event_files": files, "iterations": _length(run)}, file)


def saved_state(run: ExpectedRun) -> tuple[str, int] | None:
    """Of a run's checkpoint: the event file that it belongs to, and the iteration it goes on at."""
    path = model_file(save_root(), run.name)
    if not path.exists():
        return None
    try:
        checkpoint = load_torch(path)
        return checkpoint["progress"]["event_file"], checkpoint["epoch"]
    except (UsageError, KeyError):
        return None


def has_stale_checkpoint(run: ExpectedRun, root: Path) -> bool:
    """Whether a run's checkpoint belongs to other events than those in its folder."""
    saved = saved_state(run)
    if saved is None:
        return False
    folder = root / run.name
    files = [entry.name for entry in visible_entries(folder)] if folder.is_dir() else []
    return files != [saved[0]]


def _length(run: ExpectedRun) -> int:
    """The last iteration, or epoch, of a run."""
    counted = [n for n in ("max_iterations", "max_epochs") if hasattr(run.config, n)]
    return int(getattr(run.config, counted[0])) if counted else 0


def _finished(folder: Path, files: list[str], run: ExpectedRun) -> bool:
    """A mark counts for the event file that it was made for: a run started anew has another."""
    try:
        mark = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        saved = saved_state(run)
        return saved is not None and [saved[0]] == files and saved[1] > _length(run)
    return mark["event_files"] == files and mark["iterations"] >= _length(run)


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
