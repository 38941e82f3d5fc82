"""A site: what differs between the clusters that jobs are sent to, and how jobs get there."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from stable_nalu.errors import OptionError, UsageError, did_you_mean
from stable_nalu.machine import at_home, working_root
from stable_nalu.paper.experiment import Resources
from stable_nalu.script import unknown_choice

from .job_script import FOLDER

SITE_FILE = FOLDER / "site.toml"
SCHEDULERS = ("local", "slurm", "lsf", "print")


@dataclass(frozen=True)
class Site:
    """The entries of a site file, all of them optional.

    scheduler: used when the command names none. partition, queue: of SLURM, of LSF.
    account: SLURM's account, LSF's project. modules: loaded in a job. setup: lines of shell run
    behind that. log_dir: folder of the jobs' output. python: interpreter of the jobs.
    options: further words for `sbatch` or `bsub`, one option each.
    time: minutes per job, memory: GB per job, gpus: 0 or 1 per job; of the experiment when None.
    """

    scheduler: str = "local"
    partition: str = ""
    queue: str = ""
    account: str = ""
    modules: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    log_dir: str = ""
    python: str = ""
    options: tuple[str, ...] = ()
    time: int | None = None
    memory: int | None = None
    gpus: int | None = None

    @property
    def logs(self) -> Path:
        """Return the folder of the jobs' output."""
        named = at_home(Path(self.log_dir)).absolute() if self.log_dir else None
        return named or working_root() / "logs"

    def resources(self, asked: Resources) -> Resources:
        """Return what an experiment asks for, with the site's time, memory and GPU in its place."""
        return replace(
            asked,
            minutes=self.time or asked.minutes,
            memory_gb=self.memory or asked.memory_gb,
            gpu=asked.gpu if self.gpus is None else bool(self.gpus),
        )

    def overlaid(self, given: Mapping[str, Any]) -> Site:
        """Return the site with the values of flags, by the name of the entry, in place of its own.

        A value that would begin a second line of a job file is refused.
        """
        for name, value in given.items():
            if name != "setup" and _breaks_a_line(value):
                flag = f"--{name.replace('_', '-')}"
                raise OptionError(flag, f"{value!r} holds a line break", "write one line")
        return replace(self, **given)


def time_limit(word: str) -> int:
    """Return the minutes of a time such as `12:00`, hours and minutes."""
    match = re.fullmatch(r"(\d+):([0-5]\d)", word)
    if match is None or not (minutes := 60 * int(match[1]) + int(match[2])):
        raise ValueError(f"{word!r} is not a time; write hours and minutes, such as 12:00")
    return minutes


def read_site(path: Path | None) -> Site:
    """Return the site of a file; for None of `lfs_batch_jobs/site.toml`, if that is there."""
    # As of other variables, an empty one counts as none.
    variable = os.environ.get("STABLE_NALU_SITE")
    named = path or (Path(variable) if variable else None)
    if named is None and not SITE_FILE.exists():
        return Site()
    chosen = named or SITE_FILE
    asked_by = "argument --site" if path or named is None else "STABLE_NALU_SITE"
    try:
        content = tomllib.loads(chosen.read_text(encoding="utf-8-sig"))
        return replace(Site(), **_checked(content))
    except OSError as error:
        raise UsageError(f"{asked_by}: cannot read {chosen}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{asked_by}: {chosen}: {error}") from None


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    known = {field.name: field.default for field in fields(Site)}
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name not in known:
            remedy = did_you_mean(name, known, f"known are {', '.join(known)}")
            raise ValueError(f"unknown entry {name!r}; {remedy}")
        if name in _NUMBERS:
            values[name] = _NUMBERS[name](value)
        elif isinstance(known[name], tuple):
            listed = [value] if isinstance(value, str) else value
            if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
                raise ValueError(f'{name} is a list of texts; write {name} = ["…"]')
            values[name] = tuple(listed)
        elif not isinstance(value, str):
            raise ValueError(f'{name} is a text; write {name} = "…"')
        else:
            values[name] = value
        if name != "setup" and _breaks_a_line(values[name]):
            raise ValueError(f"{name}: {value!r} holds a line break; write one line")
    if values.get("scheduler", "local") not in SCHEDULERS:
        raise ValueError(f"scheduler {unknown_choice(values['scheduler'], SCHEDULERS)}")
    for option in values.get("options", ()):
        if not option.startswith("-"):
            raise ValueError(
                f'options: {option!r} is no option of sbatch or bsub; write such as ["--qos=long"]'
            )
    return values


def _breaks_a_line(value: object) -> bool:
    texts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(text, str) and "".join(text.splitlines()) != text for text in texts)


def _time(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError('time is a text; write time = "12:00"')
    return time_limit(value)


def _memory(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("memory is a whole number of GB from 1 on; write memory = 8")
    return value


def _gpus(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in (0, 1):
        raise ValueError("gpus is 0 or 1; write gpus = 1")
    return value


_NUMBERS = {"time": _time, "memory": _memory, "gpus": _gpus}
"""Readers of the entries that are no texts."""


def submit(scheduler: str, text: str, path: Path) -> str:
    """Keep the job file at `path`, submit it and return what the batch system says."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the job file {path}: {error.strerror}") from None
    if scheduler == "slurm":
        return _call(["sbatch", str(path)], "")
    # LSF reads the header lines of a job only from its standard input.
    return _call(["bsub"], text)


def _call(command: Sequence[str], text: str) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError(
            f"argument --scheduler: there is no {command[0]} here; "
            "use --scheduler local, or print to see what would be submitted"
        ) from None
    if done.returncode != 0:
        raise UsageError(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()
