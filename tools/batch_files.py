"""The batch scripts below `lfs_batch_jobs/` that are made of the experiments."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from stable_nalu.cluster.job_script import FOLDER, JOB_SCRIPTS, JobScript
from stable_nalu.cluster.shard import shards
from stable_nalu.cluster.site import Site, headers

_BY_HAND = (
    *("run.sh", "execute_all.sh"),
    *("function_task_static_csv_metrics.sh", "sequential_mnist_csv_metrics.sh"),
)


def render_published(script: JobScript) -> str:
    """Return the file of a batch script, for any site, with all models and the published seeds."""
    count = len(shards(script.named_models(), None))
    depth = "/".join([".."] * (script.name.count("/") + 1))
    lines = [
        "#!/usr/bin/env bash",
        "# Generated from stable_nalu/paper; rewrite with `make generated`.",
        "#",
        *_about(script),
        "#",
        *headers(script.name, script.resources(), Site(), range(count), None),
        "",
        "set -eu",
        *_find_root(depth),
        "",
        f'exec bash "$root/lfs_batch_jobs/run.sh" {shlex.quote(script.name)} "$@"',
    ]
    return "\n".join(lines) + "\n"


def _about(script: JobScript) -> list[str]:
    file = f"lfs_batch_jobs/{script.name}.sh"
    gpu = " [GPU]" if script.gpu_argument else ""
    lines: list[str] = []
    for experiment in script.shows():
        places = ", ".join(f"{s.number} of {s.paper.reference}" for s in experiment.shown)
        lines.append(f"# {experiment.title}: {places or 'no figure'} ({experiment.key})")
    lines += [
        "#",
        f"#   bash {file} [FIRST_SEED LAST_SEED{gpu}] [--model NAME ...]",
        "#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]",
        f"#   sbatch {file}",
        f"#   bsub < {file}",
        "#",
        "# Models, and runs of each:",
    ]
    models = script.named_models().items()
    return lines + [f"#   {name}: {model.label}, {model.runs} runs" for name, model in models]


def _find_root(depth: str) -> list[str]:
    """Return shell lines that find the project.

    A batch system runs a copy of the file; the folder is then where it was submitted.
    """
    return [
        'root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"',
        'if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then',
        f'  root="$(cd "$(dirname "$0")/{depth}" && pwd)"',
        "fi",
    ]


def batch_files() -> dict[Path, Callable[[str], str]]:
    """Return every generated file with a function from its present text to what it should be."""
    return {s.path: lambda _, script=s: render_published(script) for s in JOB_SCRIPTS.values()}


def left_over() -> list[Path]:
    """Return the scripts that nothing makes any more."""
    known = {*batch_files(), *(FOLDER / name for name in _BY_HAND)}
    return sorted(path for path in FOLDER.rglob("*.sh") if path not in known)
