"""The batch scripts below `lfs_batch_jobs/` that are made of the experiments."""

import shlex
from collections.abc import Callable
from pathlib import Path

from jinja2 import Template

from stable_nalu.result.jobs import FOLDER, JOB_SCRIPTS, JobScript, Site, headers
from stable_nalu.result.shard import shards

TEMPLATE = Path(__file__).parent / "templates" / "batch.sh"
"""It finds the project: a batch system runs a copy of the file, from where it was submitted."""
_BY_HAND = (
    *("run.sh", "execute_all.sh"),
    *("function_task_static_csv_metrics.sh", "sequential_mnist_csv_metrics.sh"),
)


def render_published(script: JobScript) -> str:
    """Return the file of a batch script, for any site, with all models and the published seeds."""
    count = len(shards(script.named_models(), None))
    template = Template(
        TEMPLATE.read_text(encoding="utf-8"), trim_blocks=True, keep_trailing_newline=True
    )
    return template.render(
        script=script,
        file=f"lfs_batch_jobs/{script.name}.sh",
        places=lambda e: ", ".join(f"{n} of {e.paper.reference}" for n in e.numbers),
        headers=headers(script.name, script.resources(), Site(), range(count), None),
        depth="/".join([".."] * (script.name.count("/") + 1)),
        name=shlex.quote(script.name),
    )


def batch_files() -> dict[Path, Callable[[str], str]]:
    """Return every generated file with a function from its present text to what it should be."""
    return {s.path: lambda _, script=s: render_published(script) for s in JOB_SCRIPTS.values()}


def left_over() -> list[Path]:
    """Return the scripts that nothing makes any more."""
    known = {*batch_files(), *(FOLDER / name for name in _BY_HAND)}
    return sorted(path for path in FOLDER.rglob("*.sh") if path not in known)
