"""A site: what differs between clusters, the jobs that are made for it, and how they get there.

The text of a job serves both batch systems: each reads its own header lines.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from stable_nalu.errors import OptionError, UsageError, did_you_mean
from stable_nalu.machine import at_home, working_root
from stable_nalu.options.kinds import seeds_text
from stable_nalu.paper.experiment import Resources
from stable_nalu.script import EXIT_REQUEUE, unknown_choice

from .job_script import FOLDER

SITE_FILE = FOLDER / "site.toml"
_WARNING_MINUTES = 2
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
    known = [field.name for field in fields(Site)]
    for name, value in content.items():
        if name not in known:
            remedy = did_you_mean(name, known, f"known are {', '.join(known)}")
            raise ValueError(f"unknown entry {name!r}; {remedy}")
        if name in _LISTS and isinstance(value, str):
            content[name] = value = [value]
        what, example, fits = _FORMS.get(name, ("a text", "…", _is_text))
        if not fits(value):
            written = json.dumps(example, ensure_ascii=False)
            raise ValueError(f"{name} is {what}; write {name} = {written}")
        if name != "setup" and _breaks_a_line(value):
            raise ValueError(f"{name}: {value!r} holds a line break; write one line")
    scheduler = content.get("scheduler", "local")
    if scheduler not in SCHEDULERS:
        raise ValueError(f"scheduler {unknown_choice(scheduler, SCHEDULERS)}")
    for option in content.get("options", ()):
        if not option.startswith("-"):
            problem = f"options: {option!r} is not an option of sbatch or bsub"
            raise ValueError(f'{problem}; write such as ["--qos=long"]')
    if "time" in content:
        content["time"] = time_limit(content["time"])
    return {name: tuple(v) if isinstance(v, list) else v for name, v in content.items()}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_LISTS = ("modules", "setup", "options")
_FORMS: dict[str, tuple[str, object, Callable[[Any], bool]]] = {
    "time": ("a text", "12:00", _is_text),
    "memory": ("a whole number of GB from 1 on", 8, lambda v: type(v) is int and v >= 1),
    "gpus": ("0 or 1", 1, lambda v: type(v) is int and v in (0, 1)),
    **{name: ("a list of texts", ["…"], _is_list) for name in _LISTS},
}
"""What an entry is, an example, and whether a value is one; of a text when it is not here."""


def _breaks_a_line(value: object) -> bool:
    texts = value if isinstance(value, (tuple, list)) else (value,)
    return any(isinstance(text, str) and "".join(text.splitlines()) != text for text in texts)


def render_job(
    name: str,
    resources: Resources,
    site: Site,
    root: str,
    words: Sequence[str],
    indices: Sequence[int],
) -> str:
    """Return the job of a submission; `words` follow the name, as for the batch script."""
    logs = str(site.logs) if site.log_dir else ""
    variables = {"STABLE_NALU_ROOT": root, "STABLE_NALU_LOGS": logs, "PYTHON": site.python}
    lines = [
        "#!/usr/bin/env bash",
        *headers(name, resources, site, indices, site.logs / name),
        "",
        "set -e",
        *(f"export {key}={shlex.quote(text)}" for key, text in variables.items() if text),
        *(["type module >/dev/null 2>&1 || source /etc/profile"] if site.modules else []),
        *(f"module load {shlex.quote(module)}" for module in site.modules),
        *site.setup,
        "",
        f'exec bash "$STABLE_NALU_ROOT/lfs_batch_jobs/run.sh" {shlex.join([name, *words])}',
    ]
    return "\n".join(lines) + "\n"


def headers(
    name: str, resources: Resources, site: Site, indices: Sequence[int], logs: Path | None = None
) -> list[str]:
    """Return header lines for SLURM, which counts elements from 0, and for LSF, from 1.

    logs: folder of what a job says before the wrapper opens its own files, such as a module that
    is missing, and of the batch system's words; it has to be there. None: where it is submitted.
    In a folder of logs SLURM's output is the file that the wrapper appends to as well; the
    wrapper's number of an element of LSF is one less. `--ignore-pbs`: `sbatch` would read the lines
    for LSF too, and stop at those it does not know.
    """
    job, gpu = job_name(name), resources.gpu
    hours, minutes = divmod(resources.minutes, 60)
    slurm = [
        f"--job-name={job}",
        f"--array={seeds_text(indices)}",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={resources.cores}",
        f"--mem={resources.memory_gb}G",
        f"--time={hours:02}:{minutes:02}:00",
        "--ignore-pbs",
        "--requeue",
        f"--signal=B:TERM@{60 * _WARNING_MINUTES}",
        "--open-mode=append",
        f"--output={_header_path(logs, '%A_%a.out') if logs else '%x_%A_%a.out'}",
        *(["--gres=gpu:1"] if gpu else []),
        *_named("--partition=", "partition", site.partition),
        *_named("--account=", "account", site.account),
    ]
    lsf = [
        f'-J "{job}[{seeds_text([index + 1 for index in indices])}]"',
        f"-n {resources.cores}",
        '-R "span[hosts=1]"',
        f'-R "rusage[mem={resources.memory_gb}GB]"',
        f"-W {hours}:{minutes:02}",
        "-r",
        f'-Q "{EXIT_REQUEUE}"',
        f'-wa "TERM" -wt "{_WARNING_MINUTES}"',
        f"-o {_header_path(logs, '%J_%I.lsf.out') if logs else f'{job}_%J_%I.lsf.out'}",
        *(['-gpu "num=1:mode=exclusive_process"'] if gpu else []),
        *_named("-q ", "queue", site.queue),
        *_named("-P ", "account", site.account),
    ]
    slurm += site.options if site.scheduler == "slurm" else ()
    lsf += site.options if site.scheduler == "lsf" else ()
    return [*(f"#SBATCH {option}" for option in slurm), *(f"#BSUB {option}" for option in lsf)]


def job_name(name: str) -> str:
    """Return the last part of a name, in characters that batch systems take."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name.rsplit("/", 1)[-1])


def _header_path(folder: Path, name: str) -> str:
    """Return an output file's path for a header line, in quotes where it needs some."""
    text = str(folder)
    if re.fullmatch(r"[\w.,:/+@~=-]+", text):
        return f"{text}/{name}"
    escaped = re.sub(r'(["\\])', r"\\\1", text.replace("%", "%%"))
    return f'"{escaped}/{name}"'


def _named(option: str, entry: str, text: str) -> list[str]:
    """Return an option with a value of the site, if it has one; quotes would be part of it."""
    if text and not re.fullmatch(r"[\w.,:/+@-]+", text):
        raise OptionError(f"--{entry}", f"{text!r} is not the name of one", "write one word")
    return [option + text] if text else []


def submit(scheduler: str, text: str, path: Path) -> str:
    """Keep the job file at `path`, submit it and return what the batch system says."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the job file {path}: {error.strerror}") from None
    # LSF reads the header lines of a job only from its standard input.
    command, given = (["sbatch", str(path)], "") if scheduler == "slurm" else (["bsub"], text)
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        remedy = "use --scheduler local, or print to see what would be submitted"
        raise OptionError("--scheduler", f"there is no {command[0]} here", remedy) from None
    if done.returncode != 0:
        raise UsageError(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()
