"""Every generated file below `lfs_batch_jobs/`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .helper_scripts import COLLECTIONS
from .job_script import FOLDER, JOB_SCRIPTS, JobScript
from .render import render_published

BY_HAND = frozenset({"run.sh"})


def batch_files() -> dict[Path, Callable[[str], str]]:
    """Path -> function from the file's present text to what it should be."""

    def published(script: JobScript) -> Callable[[str], str]:
        return lambda _: render_published(script)

    def helper(make: Callable[[], str]) -> Callable[[str], str]:
        return lambda _: make()

    return {
        **{script.path: published(script) for script in JOB_SCRIPTS.values()},
        **{path: helper(make) for path, make in COLLECTIONS.items()},
    }


def left_over() -> list[Path]:
    """Scripts that nothing makes any more."""
    known = {*batch_files(), *(FOLDER / name for name in BY_HAND)}
    return sorted(path for path in FOLDER.rglob("*.sh") if path not in known)
