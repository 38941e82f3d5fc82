"""Event files out: the file, the folder of a run with its record, and the values per step.

The messages are those of tensorboardX, so that every reader of event files understands them.
"""

import contextlib
import fcntl
import functools
import json
import os
import platform
import resource
import socket
import subprocess
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from stable_nalu.base import files
from stable_nalu.base.errors import UsageError
from torchlanes.kept import NO_LOCKS_HERE

from .event_file import (
    FILE_PREFIX,
    LOCK_NAME,
    RECORD_NAME,
    EventFile,
    RunWriter,
    require_events,
    scalar_events,
)
from .save_model import load_model, save_model, save_model_checkpoint, save_model_params
from .summary_writer import DummySummaryWriter, SummaryWriter

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

NOT_RECORDED = "(not recorded)"


@dataclass(frozen=True)
class RunRecord:
    """The script, configuration and versions of a run, and the command that repeats it.

    `config` maps the name of each flag to its effective value, however it was given; values are
    what JSON knows (a tuple equals a list). `resumed_with` are the commands of later resumes.
    `layer_files` are path, digest and text of what defines layers that are not of this package.
    `engine` is what trains an arithmetic run: `lanes` and its version, or `torch` and the reason.
    `log_started` is the wall time of the first event of the log, by which another's is told.
    """

    script: str
    config: Mapping[str, object]
    command: str
    versions: Mapping[str, str | None]
    git_revision: str | None
    resumed_with: tuple[str, ...] = ()
    layer_files: Sequence[Mapping[str, str]] = ()
    log_started: float | None = None
    engine: str | None = None

    @classmethod
    def create(cls, script: str, config: Mapping[str, object], command: str) -> "RunRecord":
        """Make the record of a run that starts now, with the installed versions."""
        return cls(script, dict(config), command, _versions(), _git_revision())

    @classmethod
    def read(cls, folder: Path) -> "RunRecord | None":
        """Return the record in `folder`; None where there is none or it is not readable as one."""
        try:
            written = files.json_of(folder / RECORD_NAME)
            content = {"log_started": None, "layer_files": (), "engine": None, **written}
            known = {field.name: content[field.name] for field in fields(cls)}
            record = cls(**{**known, "resumed_with": tuple(known["resumed_with"])})
            record._identity()  # which fails for parts of another make
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record

    def write(self, folder: Path) -> None:
        with files.atomic_text_file(folder / RECORD_NAME) as file:
            json.dump(vars(self), file, indent=1)
            file.write("\n")

    def resumed(self, earlier: "RunRecord | None") -> "RunRecord":
        """Return this record for a run resumed from `earlier`, whose command comes first."""
        if earlier is None:
            return self
        later = (*earlier.resumed_with, self.command)
        first = {"command": earlier.command, "log_started": earlier.log_started}
        return replace(self, **first, resumed_with=later)

    def differences(self, other: "RunRecord", ignored: Collection[str] = ()) -> list[str]:
        """Return `flag: own value / other value` for whatever tells two configurations apart.

        `ignored` are names in `config` that control a run without being part of what it computes.
        """
        mine, theirs = self._identity(), other._identity()
        names = [name for name in {**mine, **theirs} if name not in ignored]
        pairs = [(name, _shown(mine, name), _shown(theirs, name)) for name in names]
        return [f"{name}: {one} / {two}" for name, one, two in pairs if not _same(one, two)]

    def _identity(self) -> dict[str, object]:
        """Return what tells this run from others: script, configuration, digests of layers."""
        digests = [file["sha256"][:12] for file in self.layer_files]
        own = {"layer file (SHA-256)": digests} if digests else {}
        return {"script": self.script, **self.config, **own}


def _same(one: str, other: str) -> bool:
    # By value, as 10 and 10.0 are one setting; by text too, as NaN does not equal itself.
    recorded = NOT_RECORDED not in (one, other)
    return one == other or (recorded and json.loads(one) == json.loads(other))


def _shown(config: Mapping[str, object], name: str) -> str:
    return json.dumps(config[name], sort_keys=True) if name in config else NOT_RECORDED


@functools.cache
def _versions() -> dict[str, str]:
    packages = {name: metadata.version(name) for name in ("torch", "numpy", "scipy")}
    return {"python": platform.python_version(), **packages, "stable_nalu": files.VERSION}


@functools.cache
def _git_revision() -> str | None:
    """Return the commit of the checkout that holds the package; local changes add `-dirty`."""
    if not (files.CHECKOUT / ".git").exists():
        return None
    describe = ["describe", "--always", "--abbrev=40", "--dirty", "--match="]
    command = ["git", "--no-optional-locks", "-C", str(files.CHECKOUT), *describe]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        how: Any = {"stderr": subprocess.DEVNULL, "text": True, "timeout": 10}
        return subprocess.check_output(command, **how).strip()
    return None


WAYS_OUT = (
    "--remove-existing-data to start anew",
    "--load-checkpoint to continue it",
    "another --name-prefix or --id",
)


@dataclass(frozen=True)
class ResumePoint:
    """The event file of a checkpoint, and how many bytes it had when the checkpoint was taken.

    `flag` is the one that asked for the checkpoint, which errors name.
    """

    event_file: str
    position: int
    flag: str = "--load-checkpoint"


@contextlib.contextmanager
def claimed(
    path: Path, record: RunRecord, *, resume: ResumePoint | None = None, **rules: Any
) -> Iterator[EventFile]:
    """Take a run folder for this process while the block runs, and yield its event file.

    Existing data is continued (`resume`, which has precedence over removal), removed, or a reason
    to refuse, by the `rules` of `check_claim`. When an exception ends the block before anything
    was logged, the claim is taken back.
    """
    with contextlib.ExitStack() as held:
        with _writable(path):
            path.mkdir(parents=True, exist_ok=True)
            held.callback(os.close, _lock(path))
            check_claim(path, record, resume=resume, is_ours=True, **rules)
            files.remove_temporaries([path / RECORD_NAME])
            if resume is not None:
                events = EventFile(path / resume.event_file, position=resume.position)
                record.resumed(RunRecord.read(path)).write(path)
            else:
                for entry in files.visible_entries(path):
                    entry.unlink()
                started = time.time()
                replace(record, log_started=started).write(path)
                events = EventFile.create_in(path, started)
        held.callback(events.close)
        try:
            yield events
        except BaseException:
            if events.is_new and events.is_bare:
                # So that a corrected command is not refused.
                for entry in (events.path, path / RECORD_NAME, path / LOCK_NAME):
                    entry.unlink(missing_ok=True)
                # What else is there, such as a file of the user, keeps the folder.
                with contextlib.suppress(OSError):
                    path.rmdir()
            raise


def check_claim(
    path: Path,
    record: RunRecord,
    resume: ResumePoint | None = None,
    *,
    run_control: Collection[str] = (),
    remove_existing_data: bool = False,
    ways_out: Sequence[str] = WAYS_OUT,
    is_ours: bool = False,
) -> None:
    """Raise what `claimed` would raise because of what is there, and change nothing.

    run_control: names in which the configuration of data that is continued or removed may
    differ. remove_existing_data: whether it may be removed. ways_out: what a refusal suggests;
    the last of them is another folder. is_ours: whether this process has locked it.
    """
    with _writable(path):
        if not path.is_dir():
            return
        if not is_ours:
            refuse_in_use(path)
        existing = files.visible_entries(path)
        if resume is None and not existing:
            return
        earlier, names = RunRecord.read(path), [entry.name for entry in existing]
        verb = "continue" if resume else "remove" if remove_existing_data else "write into"
        if earlier is not None:
            both = (earlier.config, record.config)
            one, other = (f"{c.get('name_prefix')} {c.get('id')}" for c in both)
            problem = ""
            if one != other and one.casefold() == other.casefold():
                problem = f"{path} is the folder of a run whose name differs in small and "
                problem += "capital letters alone, which this file system takes for the same"
            elif differences := earlier.differences(record, run_control):
                problem = f"will not {verb} {path}: it holds a run of another configuration "
                problem += f"(recorded / asked for: {'; '.join(differences)})"
            if problem:
                raise UsageError(f"{problem}; use {ways_out[-1]}")
        if resume is not None:
            if names != [resume.event_file]:
                raise UsageError(
                    f"cannot continue {path}: the checkpoint belongs to {resume.event_file}, "
                    f"the folder holds {', '.join(names) or 'no event file'}; "
                    f"start anew with --remove-existing-data instead of {resume.flag}"
                )
            started = earlier.log_started if earlier else None
            require_events(path / resume.event_file, resume.position, started)
            return
    if not remove_existing_data:
        ways = f"{', '.join(ways_out[:-1])}, or {ways_out[-1]}"
        raise UsageError(f"{path} already holds data of a run: use {ways}")
    foreign = [e.name for e in existing if not (e.name.startswith(FILE_PREFIX) and e.is_file())]
    if foreign:
        problem = f"besides event files it holds {', '.join(foreign)}"
        raise UsageError(f"will not remove {path}: {problem}")


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        root = os.environ.get("TENSORBOARD_DIR")
        hint = f"TENSORBOARD_DIR is {root}" if root else "set TENSORBOARD_DIR to a writable folder"
        reason = error.strerror or error
        raise UsageError(f"cannot write the run folder {path}: {reason}; {hint}") from error


def refuse_in_use(path: Path) -> None:
    """Refuse a folder that another process writes into; it need not be there."""
    if files.is_locked(path / LOCK_NAME):
        raise _in_use(path)


def _lock(path: Path) -> int:
    """Take the lock of a folder, and return the descriptor that holds it."""
    descriptor = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    # An ensemble holds one lock per run. The soft limit of open files is often 1024, far below
    # the hard one; raise it while there is still room for all else that opens files.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptor > soft // 2 > 0:
        raised = 4 * soft if hard == resource.RLIM_INFINITY else min(4 * soft, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        if error.errno in NO_LOCKS_HERE:
            warnings.warn(f"no file locks on {path}: do not start a run twice", stacklevel=2)
            return descriptor
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise _in_use(path) from error
        raise
    return descriptor


def _in_use(path: Path) -> UsageError:
    """Return the refusal of a locked folder, which names the process that wrote into the lock."""
    holder = ""
    with contextlib.suppress(OSError):
        holder = (path / LOCK_NAME).read_text(encoding="utf-8", errors="replace").strip()
    return UsageError(f"{path} is in use by {holder or 'another process'}")
