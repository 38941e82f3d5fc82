"""A site: what differs between the clusters that jobs are sent to, from a small file or flags."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from stable_nalu.errors import UsageError
from stable_nalu.machine import CHECKOUT

from .job_script import FOLDER

SITE_FILE = FOLDER / "site.toml"


@dataclass(frozen=True)
class Site:
    """All of it optional.

    scheduler: used when the command names none. partition, queue: of SLURM, of LSF.
    account: SLURM's account, LSF's project. modules: loaded in a job. setup: lines of shell run
    behind that. log_dir: folder of the jobs' output. python: interpreter of the jobs.
    options: further words for `sbatch` or `bsub`, one option each.
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

    @property
    def logs(self) -> Path:
        """The folder of the jobs' output."""
        return Path(self.log_dir).expanduser() if self.log_dir else CHECKOUT / "logs"


def read_site(path: Path | None) -> Site:
    """The site of a file; of `lfs_batch_jobs/site.toml`, if it is there, when None."""
    named = path or (
        Path(os.environ["STABLE_NALU_SITE"]) if "STABLE_NALU_SITE" in os.environ else None
    )
    if named is None and not SITE_FILE.exists():
        return Site()
    chosen = named or SITE_FILE
    try:
        content = tomllib.loads(chosen.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"argument --site: cannot read {chosen}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"argument --site: {chosen}: {error}") from None
    return replace(Site(), **_checked(content, chosen))


def _checked(content: dict[str, Any], path: Path) -> dict[str, Any]:
    known = {field.name: field.default for field in fields(Site)}
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name not in known:
            raise UsageError(f"{path}: unknown entry {name!r}; known are {', '.join(known)}")
        if isinstance(known[name], tuple):
            listed = [value] if isinstance(value, str) else value
            if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
                raise UsageError(f"{path}: {name} is a list of texts")
            values[name] = tuple(listed)
        elif not isinstance(value, str):
            raise UsageError(f"{path}: {name} is a text")
        else:
            values[name] = value
    return values
