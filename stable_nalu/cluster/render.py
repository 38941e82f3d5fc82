"""Job files: text from an experiment, a site and the words of a command, and nothing else.

One text serves both batch systems: each reads its own header lines. `batch_files` lists every
file below `lfs_batch_jobs/` that is made so.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from stable_nalu.errors import OptionError
from stable_nalu.paper.experiment import Model, Resources, seeds_text
from stable_nalu.script import EXIT_REQUEUE

from .job_script import FOLDER, JOB_SCRIPTS, JobScript
from .shard import shards
from .site import Site

FIRST_LINES = (
    "#!/usr/bin/env bash\n# Generated from stable_nalu/paper; rewrite with `make generated`."
)
_WARNING_MINUTES = 2
_BY_HAND = frozenset({"run.sh"})
_EXECUTE_ALL = (
    "simple_mul",
    "function_task_static",
    "function_task_static_mul_hidden_size",
    "function_task_static_mul_input_size",
    "function_task_static_mul_overlap",
    "function_task_static_mul_range",
    "function_task_static_mul_subset",
)
_SUMS = ("sequential_mnist_sum_long", "sequential_mnist_sum_reference")


def render_published(script: JobScript) -> str:
    """Return the file of a batch script, for any site, with all models and the published seeds."""
    count = len(shards(script.named_models(), None))
    depth = "/".join([".."] * (script.name.count("/") + 1))
    lines = [
        FIRST_LINES,
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


def render_job(
    name: str,
    resources: Resources,
    site: Site,
    root: str,
    words: Sequence[str],
    indices: Sequence[int],
) -> str:
    """Return the job of a submission.

    words: what follows the name, as for the batch script.
    """
    environment = [f"export STABLE_NALU_ROOT={shlex.quote(root)}"]
    if site.log_dir:
        environment.append(f"export STABLE_NALU_LOGS={shlex.quote(str(site.logs))}")
    if site.python:
        environment.append(f"export PYTHON={shlex.quote(site.python)}")
    lines = [
        "#!/usr/bin/env bash",
        *headers(name, resources, site, indices, site.logs / name),
        "",
        "set -e",
        *environment,
        *(["type module >/dev/null 2>&1 || source /etc/profile"] if site.modules else []),
        *(f"module load {shlex.quote(module)}" for module in site.modules),
        *site.setup,
        "",
        f'exec bash "$STABLE_NALU_ROOT/lfs_batch_jobs/run.sh" {shlex.join([name, *words])}',
    ]
    return "\n".join(lines) + "\n"


def headers(
    name: str, resources: Resources, site: Site, indices: Sequence[int], logs: Path | None
) -> list[str]:
    """Return header lines for SLURM, which counts elements from 0, and for LSF, from 1.

    logs: folder of what a job says before the wrapper opens its own files, such as a module that
    is missing, and of the batch system's words; it has to be there. None: where it is submitted.
    """
    slurm = slurm_options(name, resources, site, indices, logs)
    lsf = lsf_options(name, resources, site, indices, logs)
    return [*(f"#SBATCH {option}" for option in slurm), *(f"#BSUB {option}" for option in lsf)]


def slurm_options(
    name: str, resources: Resources, site: Site, indices: Sequence[int], logs: Path | None = None
) -> list[str]:
    """Return the options of `sbatch`.

    In a folder of logs the output is the file that the wrapper appends to as well.
    `--ignore-pbs`: `sbatch` would read the lines for LSF too, and stop at those it does not know.
    """
    output = _header_path(logs, "%A_%a.out") if logs else "%x_%A_%a.out"
    hours, minutes = divmod(resources.minutes, 60)
    options = [
        f"--job-name={job_name(name)}",
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
        f"--output={output}",
    ]
    if resources.gpu:
        options.append("--gres=gpu:1")
    if site.partition:
        options.append(f"--partition={_one_word('partition', site.partition)}")
    if site.account:
        options.append(f"--account={_one_word('account', site.account)}")
    return options + (list(site.options) if site.scheduler == "slurm" else [])


def lsf_options(
    name: str, resources: Resources, site: Site, indices: Sequence[int], logs: Path | None = None
) -> list[str]:
    """Return the options of `bsub`.

    LSF counts elements from 1 and the wrapper from 0: the two write files of different names.
    """
    output = _header_path(logs, "%J_%I.lsf.out") if logs else f"{job_name(name)}_%J_%I.lsf.out"
    hours, minutes = divmod(resources.minutes, 60)
    elements = seeds_text([index + 1 for index in indices])
    options = [
        f'-J "{job_name(name)}[{elements}]"',
        f"-n {resources.cores}",
        '-R "span[hosts=1]"',
        f'-R "rusage[mem={resources.memory_gb}GB]"',
        f"-W {hours}:{minutes:02}",
        "-r",
        f'-Q "{EXIT_REQUEUE}"',
        f'-wa "TERM" -wt "{_WARNING_MINUTES}"',
        f"-o {output}",
    ]
    if resources.gpu:
        options.append('-gpu "num=1:mode=exclusive_process"')
    if site.queue:
        options.append(f"-q {_one_word('queue', site.queue)}")
    if site.account:
        options.append(f"-P {_one_word('account', site.account)}")
    return options + (list(site.options) if site.scheduler == "lsf" else [])


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


def _one_word(entry: str, text: str) -> str:
    """Return a value for a header line, where quotes would be part of it."""
    if not re.fullmatch(r"[\w.,:/+@-]+", text):
        raise OptionError(f"--{entry}", f"{text!r} is not the name of one", "write one word")
    return text


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
    return lines + [
        f"#   {_model_line(name, model)}" for name, model in script.named_models().items()
    ]


def _model_line(name: str, model: Model) -> str:
    return f"{name}: {model.label}, {model.runs} runs"


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


def _execute_all() -> str:
    return f"""{FIRST_LINES}
#
# The main experiments of arXiv:2001.05016, one after the other; arguments go to each of them.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
for name in {" ".join(_EXECUTE_ALL)}; do
  bash "$here/$name.sh" "$@"
done
"""


def _export(script: str, names: tuple[str, ...]) -> str:
    return f"""{FIRST_LINES}
#
# A table, results/csv/<experiment>.csv, of the runs of each experiment; names as arguments, or all.
set -eu
cd "$(dirname "$0")/.."
python="${{PYTHON:-python3}}"
if [ -z "${{PYTHON:-}}" ] && [ -x .venv/bin/python ]; then
  python=.venv/bin/python
fi
if [ "$#" -eq 0 ]; then
  set -- {" ".join(names)}
fi
for name in "$@"; do
  "$python" export/{script}.py \\
    --tensorboard-dir "${{TENSORBOARD_DIR:-tensorboard}}/$name" --csv-out "results/csv/$name.csv"
done
"""


def batch_files() -> dict[Path, Callable[[str], str]]:
    """Return every generated file with a function from its present text to what it should be."""
    return {
        **{s.path: lambda _, script=s: render_published(script) for s in JOB_SCRIPTS.values()},
        FOLDER / "execute_all.sh": lambda _: _execute_all(),
        FOLDER / "function_task_static_csv_metrics.sh": lambda _: _export(
            "simple_function_static", _EXECUTE_ALL
        ),
        FOLDER / "sequential_mnist_csv_metrics.sh": lambda _: _export("sequential_mnist", _SUMS),
    }


def left_over() -> list[Path]:
    """Return the scripts that nothing makes any more."""
    known = {*batch_files(), *(FOLDER / name for name in _BY_HAND)}
    return sorted(path for path in FOLDER.rglob("*.sh") if path not in known)
