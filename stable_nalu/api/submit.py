"""The entrance for Python programs to clusters: runs of a script as tasks of other processes."""

import hashlib
import io
import json
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_text_file, save_root, tensorboard_root
from stable_nalu.base.script import EXIT_INTERRUPTED, EXIT_REQUEUE, command_of
from stable_nalu.layer.own_layers import is_of_program
from stable_nalu.options import ScriptSpec
from stable_nalu.options.flags import owned_names
from stable_nalu.options.values import typed_values
from stable_nalu.result.sweep import scheduled
from stable_nalu.task.own_task import BroughtTask
from stable_nalu.task.table import TASKS

from .flags import Flags, Script
from .program import Several, called, usual


class Submission(NamedTuple):
    """The number of a job (empty if none was submitted), its command and the command's output.

    The same command submits the remaining runs.
    """

    job: str
    command: str
    said: str


def submit(
    script: Script | BroughtTask,
    *,
    scheduler: Literal["slurm", "lsf", "local", "print"],
    tasks: int | None = None,
    out: str | Path | None = None,
    site: str | Path | None = None,
    dry_run: bool = False,
    layer: Several[type[torch.nn.Module] | str] | None = None,
    network: Any = None,
    optimizer: Several[str] | None = None,
    loss: Several[str | Callable[..., Any]] | None = None,
    **flags: Unpack[Flags],
) -> Submission:
    """Train the runs of `train` in tasks, here or as an array job.

    It takes the arguments of `train`, with layers and tasks by their names and files, because other
    processes cannot see objects of this program. `read_runs(out)` reads the trained runs.
    tasks: how many share the runs. scheduler: "local" trains in processes of this machine, and
    returns when they end. site: the file of a site; see docs/clusters.md. dry_run: whether only to
    show the job without submitting it.

    Examples:
        >>> where = {"scheduler": "slurm", "tasks": 8, "out": "swept", "dry_run": True}
        >>> sent = sn.submit("single_layer", layer=["NMU", "NAU"], seed=range(25), **where)
        >>> "#SBATCH --array=0-7" in sent.said
        True
    """
    objects = {"layer": layer, "network": network, "optimizer": optimizer, "loss": loss}
    with called(script, out, flags, **objects) as (spec, given):
        blocks = typed_values(spec, usual(spec, given))
        for block in blocks:
            named = owned_names(spec.plan_of(block).configs[0])
            if own := [one for one in named if is_of_program(one)]:
                name = next(name for name, values in block.items() if own[0] in str(values))
                problem = f"other processes cannot know {own[0]}, which this program defines"
                remedy = "write it to a file for layer_file or task_file"
                raise UsageError(f"{name}: {problem}; {remedy}")
        text = _toml(spec, blocks)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        path = (save_root() / "sweeps" / f"{spec.name}-{digest}.toml").absolute()
        with atomic_text_file(path) as file:
            file.write(text)
        how = {"sweep": path, "scheduler": scheduler, "tasks": tasks, "site": site}
        how["log-dir"] = path.parents[2] / "logs"
        words = [w for n, v in how.items() if v is not None for w in (f"--{n}", str(v))]
        plans, scheduling = spec.asked([*words, *(["--dry-run"] if dry_run else [])])
        with redirect_stdout(io.StringIO()) as said:
            code = scheduled(TASKS[spec.name], spec, plans, scheduling, words)
        last = said.getvalue().strip().rpartition("\n")[2]
        if code in (EXIT_INTERRUPTED, EXIT_REQUEUE):
            raise KeyboardInterrupt("everything is saved; the same call goes on")
        if code:
            raise UsageError(last)
        roots = {"TENSORBOARD_DIR": tensorboard_root(), "SAVE_DIR": save_root()}
        command = [f"{name}={shlex.quote(str(root))}" for name, root in roots.items()]
        command.append(command_of(f"experiments/{spec.name}.py", *words))
    number = re.search(r"\d+", "" if dry_run or scheduler in ("local", "print") else last)
    return Submission(number[0] if number else "", " ".join(command), said.getvalue())


def _toml(spec: ScriptSpec, blocks: Sequence[dict[str, list[Any]]]) -> str:
    """Return a file for --sweep; a switch that is off in a block says so."""
    flags = [flag for flag in spec.flags if any(flag.dest in block for block in blocks)]
    lines: list[str] = []
    for place, block in enumerate(blocks):
        lines += ["\n[[also]]"] if place else []
        for flag in flags:
            values = block.get(flag.dest, [False])
            if flag.kind is None:
                values = values[0]
            elif flag.kind.metavar == "DIGITS":
                values = list(map(flag.kind.write, values))
            elif isinstance(values[0], tuple) and not flag.repeatable:
                values = list(dict.fromkeys(word for own in values for word in own)) or "true"
            if not place or block.get(flag.dest) != blocks[0].get(flag.dest):
                lines.append(f"{flag.dest} = {json.dumps(values, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"
