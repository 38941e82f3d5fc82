"""The batch command: shards of an experiment trained here, submitted, or looked at.

Batch scripts have their published names and arguments. A site describes one cluster. The text of a
job serves both batch systems: each reads its own header lines.
"""

import argparse
import os
import re
import shlex
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from stable_nalu.base import script as console
from stable_nalu.base.errors import OptionError, UsageError, did_you_mean
from stable_nalu.base.files import CHECKOUT, at_home, is_checkout, working_root
from stable_nalu.options import SCHEDULERS, add_site_flags, time_limit
from stable_nalu.options.flag import integer, seeds, seeds_text
from stable_nalu.options.flags import add_layer_flags
from stable_nalu.paper.experiment import MEASURED, Experiment, Model, Resources, named, words
from stable_nalu.paper.index import EXPERIMENTS, find, known

from .shard import Shard, State, pending, run_shards, shards, show_training, train_shards

FOLDER = CHECKOUT / "lfs_batch_jobs"


@dataclass(frozen=True)
class JobScript:
    """A file below `lfs_batch_jobs/`, without `.sh`, and the experiments whose models it trains.

    gpu_argument: its head says that it takes a GPU's number behind the seeds. only: keys of its
    models, or of the others behind `-`.
    """

    name: str
    experiments: tuple[str, ...]
    gpu_argument: bool = False
    only: tuple[str, ...] = ()

    @property
    def shows(self) -> list[Experiment]:
        return [EXPERIMENTS[key] for key in self.experiments]

    def of_figure(self, figure: str | None) -> "JobScript":
        """Return the script with the models of one figure, by its number or its key."""
        if figure is None:
            return self
        numbers = {e.key: [n.removeprefix("Figure ") for n in e.numbers] for e in self.shows}
        keys = tuple(key for key in numbers if figure in (key, *numbers[key]))
        if not keys:
            listed = ", ".join(f"{' or '.join(ns)} ({key})" for key, ns in numbers.items())
            problem = f"{self.name} trains none {figure!r}"
            raise OptionError("--figure", problem, f"choose from {listed}")
        return replace(self, experiments=keys)

    @property
    def scope(self) -> str:
        """Return how much it trains and how to train less, where it is of several figures."""
        if len(self.experiments) == 1:
            return ""
        models, figures = console.plural(len(self.models()), "model"), len(self.experiments)
        number = self.shows[0].numbers[0].removeprefix("Figure ")
        one = number if number.isalnum() else self.experiments[0]
        return f"All {models} of {figures} figures; those of one: --figure {one}"

    def models(self) -> list[Model]:
        """Return every model once, with the variants and points of all figures that show it."""
        found: dict[tuple[str, ...], Model] = {}
        for model in (model for experiment in self.shows for model in experiment.models):
            if self.only and (model.key in self.only) == ("-" in self.only):
                continue
            old = found.setdefault((model.prefix, *words(model.flags)), model)
            names = {variant.name for variant in old.variants}
            variants = (*old.variants, *(v for v in model.variants if v.name not in names))
            points = (*old.points, *(p for p in model.points if p not in old.points))
            joined = replace(old, variants=variants, points=points)
            found[old.prefix, *words(old.flags)] = joined
        return list(found.values())

    def named_models(self) -> dict[str, Model]:
        """Return the models by name: the key, or `add/NALU` where the folder tells keys apart."""
        models = self.models()
        keys = [model.key for model in models]
        return {
            m.key if keys.count(m.key) == 1 else f"{m.prefix.split('/')[-2]}/{m.key}": m
            for m in models
        }

    def chosen(self, names: list[str]) -> dict[str, Model]:
        models = self.named_models()
        chosen: dict[str, Model] = {}
        for name in names or models:
            key = named(models, name)
            if key is None:
                remedy = f"{did_you_mean(name, models, '')} choose from {', '.join(models)}"
                raise OptionError("--model", f"{self.name} has no model {name!r}", remedy)
            chosen[key] = models[key]
        return chosen

    def resources(self) -> Resources:
        """Return resources that suffice for every model."""
        models = self.models()
        asked = [model.resources for model in models]
        minutes = max(v.minutes or m.resources.minutes for m in models for v in m.variants)
        most = {name: max(getattr(one, name) for one in asked) for name in ("cores", "memory_gb")}
        return Resources(minutes=minutes, gpu=any(one.gpu for one in asked), **most)


def _job(name: str, keys: str, only: str = "", gpu: bool = False) -> JobScript:
    return JobScript(name, tuple(keys.split()), gpu, tuple(only.split()))


_OWN_NAMES = """
simple_mul function_task_static_learning function_task_static_mul_hidden_size
function_task_static_mul_hidden_size_ablation function_task_static_mul_input_size
function_task_static_mul_overlap function_task_static_mul_subset function_task_static_mul_range
function_task_static_mul_num_subsets function_task_static_nalu function_task_static_regualization
sequential_mnist_prod_interpolation sequential_mnist_prod_outputs
"""
"""Keys of experiments that have a script of their name."""
_LONG, _NOISE = "sequential_mnist_prod_long", "fts-snmu-noise-ranges"
_IN10 = "nips-sltr-in10 nips-sltr-in10-npu nips-in10-realnpu-W-reg nips-in10-nmru-ablation"
_IN10 += " nips-in10-nmru-lr nips-in10-nmru-optimiser nips-in10-nru-separate-mag-sign"
_IN10 += " nips-sltr-in10-losses-realnpu nips-sltr-in10-losses-nru nips-sltr-in10-losses-nmru"
_IN2 = "nips-sltr-in2 nips-realnpu-L1 nips-realnpu-clipping nips-realnpu-discretisation"
_IN2 += " nips-realnpu-init nips-in2-nru-lr nips-realnpu-L2 nips-in2-realnpu-lr"
_MCFC = "MulMCFC MCFC MulMCFCSignINALU MulMCFCSignRealNPU"
_BENCHMARK = (
    _job(
        "single_layer_benchmark",
        "benchmark_sltr_mul benchmark_sltr_div benchmark_sltr_add benchmark_sltr_sub "
        "inalu-in10 nau-failure nau-in100",
    ),
    _job("marc_single_layer", "benchmark_sltr_mul_mcfc benchmark_sltr_add_mcfc", _MCFC),
)
"""Scripts that the benchmark's own repository has in a folder, and older ones at the top."""
_2021, _2022 = "single_layer_task/neurips_2021", "icml_2022"
_SCRIPTS = (
    _job("function_task_static", "function_task_static_all"),
    *(_job(key, key) for key in _OWN_NAMES.split()),
    _job("sequential_mnist_prod_reference", _LONG, "reference"),
    _job("sequential_mnist_prod_long", _LONG, "- reference"),
    _job("sequential_mnist_sum_reference", "sequential_mnist_sum_long", "reference"),
    _job("sequential_mnist_sum_long", "sequential_mnist_sum_long", "- reference"),
    _job("sequential_svhn_prod_reference", "sequential_svhn_prod_long", "reference"),
    _job("sequential_svhn_prod_long", "sequential_svhn_prod_long", "- reference"),
    _job(f"{_2021}/sltr-in2", _IN2),
    _job(f"{_2021}/in2-realnpu-beta-sweep", "nips-realnpu-L1_sweep"),
    _job(f"{_2021}/sltr-in10", _IN10),
    _job(f"{_2021}/in2-mixed-signs", "in2-mixedSigns"),
    _job(f"{_2021}/in10-mixed-signs", "in10-mixedSigns"),
    _job(f"{_2021}/in10-mixed-signs-iridis", "in10-mixedSigns"),
    _job(f"{_2021}/sltr-distributions-in2", "nips-in2-distributions"),
    _job(f"{_2021}/sltr-distributions-in10", "nips-in10-distributions"),
    _job(f"{_2021}/divBy0", "nips-divBy0-easy nips-divBy0-medium nips-divBy0-hard"),
    _job("two_digit_mnist/parallel_run", "div-1digit_conv-Adam-s3Init", gpu=True),
    _job(f"{_2022}/single_module", "robust-benchmark_sltr_mul surface-mul robust-batch-snmu"),
    _job(f"{_2022}/arithmetic_dataset", f"fts-2021-final {_NOISE}", "nau-nmu nau-Nnmu batch_sNMU"),
    _job(f"{_2022}/arithmetic_dataset_noise_ranges", _NOISE, "0.01-0.05 0.1-0.5 1-2 5-10 10-20"),
    _job(f"{_2022}/static_mnist_prod_isolated", "static-mnist-mul-isolated", gpu=True),
    _job(f"{_2022}/static_mnist_prod_colour_concat", "static-mnist-mul-colour-concat", gpu=True),
    _job(f"{_2022}/sequential_mnist_prod_reference", f"robust-{_LONG}", "reference", gpu=True),
    *(
        # The second is a name in its README.
        _job(f"{_2022}/{name}_prod_long", f"robust-{_LONG}", "nmu snmu batch-snmu", gpu=True)
        for name in ("sequential_mnist", "sequentialmnist")
    ),
    *_BENCHMARK,
    *(_job(one.stem, one.key) for one in EXPERIMENTS.values() if one.criterion == MEASURED),
    *(replace(one, name=f"single_layer_task/benchmarking/{one.name}") for one in _BENCHMARK),
)

JOB_SCRIPTS = {script.name: script for script in _SCRIPTS}

EXPERIMENT = "experiment:"
"""Before a key: the experiment, also where a script has its name, for other runs."""


def find_job(name: str) -> JobScript:
    """Return the script of a file's name, or one made of the experiment of that key."""
    stem = name.removeprefix("lfs_batch_jobs/").removesuffix(".sh")
    if stem in JOB_SCRIPTS:
        return JOB_SCRIPTS[stem]
    key = name.removeprefix(EXPERIMENT)
    experiment = known(stem) if key == name else find(key)
    if experiment is not None:
        return JobScript(experiment.stem, (experiment.key,))
    hint = did_you_mean(stem, [*JOB_SCRIPTS, *EXPERIMENTS], "--list names them all", most=3)
    problem = f"there is no batch script and no experiment {name!r}"
    raise OptionError("NAME", problem, hint)


SITE_FILE = FOLDER / "site.toml"
_WARNING_MINUTES = 2


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
        named = at_home(Path(self.log_dir)).absolute() if self.log_dir else None
        return named or working_root() / "logs"

    def resources(self, asked: Resources) -> Resources:
        """Return what an experiment asks for, with the site's time, memory and GPU in its place."""
        most = {"minutes": self.time or asked.minutes, "memory_gb": self.memory or asked.memory_gb}
        return replace(asked, **most, gpu=asked.gpu if self.gpus is None else bool(self.gpus))


def site_of(arguments: argparse.Namespace) -> Site:
    """Return the site of `--site`, else of `lfs_batch_jobs/site.toml`, with the flags laid over it.

    --scheduler print leaves the scheduler of the file, whose options the printed job then has.
    """
    # As of other variables, an empty one counts as none.
    variable = os.environ.get("STABLE_NALU_SITE")
    named = arguments.site or (Path(variable) if variable else None)
    chosen, site = named or SITE_FILE, Site()
    asked_by = "argument --site" if arguments.site or named is None else "STABLE_NALU_SITE"
    try:
        if named or SITE_FILE.exists():
            content = tomllib.loads(chosen.read_text(encoding="utf-8-sig"))
            site = Site(**{name: _checked(name, value) for name, value in content.items()})
    except OSError as error:
        raise UsageError(f"{asked_by}: cannot read {chosen}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{asked_by}: {chosen}: {error}") from None
    names = {field.name for field in fields(Site)}
    names -= {"scheduler"} if arguments.scheduler == "print" else set()
    given = {n: v for n, v in vars(arguments).items() if n in names and v is not None}
    given = {n: tuple(v) if isinstance(v, list) else v for n, v in given.items()}
    for name, value in given.items():
        if _breaks_a_line(name, value):
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(flag, f"{value!r} holds a line break", "write one line")
    return replace(site, **given)


def _checked(name: str, value: Any) -> Any:
    """Return the value of an entry of a site file; ValueError says what is wrong with it."""
    known = [field.name for field in fields(Site)]
    if name not in known:
        remedy = did_you_mean(name, known, f"known are {', '.join(known)}")
        raise ValueError(f"unknown entry {name!r}; {remedy}")
    what, example = "a text", '"12:00"' if name == "time" else '"…"'
    fits = isinstance(value, str)
    if name in ("modules", "setup", "options"):
        value = (value,) if fits else tuple(value) if isinstance(value, list) else None
        what, example = "a list of texts", '["…"]'
        fits = value is not None and all(isinstance(text, str) for text in value)
    elif name == "memory":
        what, example = "a whole number of GB from 1 on", "8"
        fits = type(value) is int and value >= 1
    elif name == "gpus":
        what, example, fits = "0 or 1", "1", type(value) is int and value in (0, 1)
    if not fits:
        raise ValueError(f"{name} is {what}; write {name} = {example}")
    if _breaks_a_line(name, value):
        shown = list(value) if isinstance(value, tuple) else value
        raise ValueError(f"{name}: {shown!r} holds a line break; write one line")
    if name == "scheduler" and value not in SCHEDULERS:
        raise ValueError(f"scheduler {console.unknown_choice(value, SCHEDULERS)}")
    options: Any = value if name == "options" else ()
    for option in options:
        if not option.startswith("-"):
            problem = f"options: {option!r} is not an option of sbatch or bsub"
            raise ValueError(f'{problem}; write such as ["--qos=long"]')
    return time_limit(str(value)) if name == "time" else value


def _breaks_a_line(name: str, value: object) -> bool:
    """Return whether a value would begin a second line of a job file; setup may."""
    texts = [str(text) for text in (value if isinstance(value, tuple) else (value,))]
    return name != "setup" and any("".join(text.splitlines()) != text for text in texts)


def render_job(
    name: str,
    resources: Resources,
    site: Site,
    words: list[str],
    indices: list[int],
    **more: str,
) -> str:
    """Return the job of a submission; `words` follow the name, as for the batch script.

    more: further variables of its environment.
    """
    logs = str(site.logs) if site.log_dir else ""
    variables = {"STABLE_NALU_ROOT": str(CHECKOUT), "STABLE_NALU_LOGS": logs}
    variables |= {"PYTHON": site.python, **more}
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
    # The last part of the name, in characters that batch systems take.
    job, gpu = re.sub(r"[^A-Za-z0-9._-]", "-", name.rsplit("/", 1)[-1]), resources.gpu
    hours, minutes = divmod(resources.minutes, 60)
    time = f"{hours:02}:{minutes:02}:00"
    slurm = [
        *f"--job-name={job} --array={seeds_text(indices)} --nodes=1 --ntasks=1".split(),
        *f"--cpus-per-task={resources.cores} --mem={resources.memory_gb}G --time={time}".split(),
        *f"--ignore-pbs --requeue --signal=B:TERM@{60 * _WARNING_MINUTES}".split(),
        "--open-mode=append",
        f"--output={_header_path(logs, '%A_%a.out') if logs else '%x_%A_%a.out'}",
        *(["--gres=gpu:1"] if gpu else []),
        *_named("--partition=", "partition", site.partition),
        *_named("--account=", "account", site.account),
    ]
    lsf = [
        *(f'-J "{job}[{seeds_text([index + 1 for index in indices])}]"', f"-n {resources.cores}"),
        *('-R "span[hosts=1]"', f'-R "rusage[mem={resources.memory_gb}GB]"'),
        *(f"-W {hours}:{minutes:02}", "-r", f'-Q "{console.EXIT_REQUEUE}"'),
        f'-wa "TERM" -wt "{_WARNING_MINUTES}"',
        f"-o {_header_path(logs, '%J_%I.lsf.out') if logs else f'{job}_%J_%I.lsf.out'}",
        *(['-gpu "num=1:mode=exclusive_process"'] if gpu else []),
        *_named("-q ", "queue", site.queue),
        *_named("-P ", "account", site.account),
    ]
    slurm += site.options if site.scheduler == "slurm" else ()
    lsf += site.options if site.scheduler == "lsf" else ()
    return [*(f"#SBATCH {option}" for option in slurm), *(f"#BSUB {option}" for option in lsf)]


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


LayerModel = Callable[[argparse.Namespace, Experiment], Model]


def main(argv: Sequence[str] | None = None, layer_model: LayerModel | None = None) -> int:
    """Do what the command line asks for and return the exit code.

    layer_model: makes a model of the layer that flags name; without it there are no such flags.
    """
    arguments = _parser(layer_model is not None).parse_args(argv)

    def obey() -> int:
        if not arguments.list:
            return _run(arguments, layer_model)
        for script in JOB_SCRIPTS.values():
            console.say(f"{script.name}: {', '.join(script.named_models())}")
        return 0

    return console.exit_code("batch.py", obey)


def _parser(takes_a_layer: bool) -> console.ScriptParser:
    texts: dict[str, Any] = {
        "description": "Train an experiment, or what is left of it, here or on a cluster."
    }
    texts |= {"epilog": "batch.py --list names all batch scripts."}
    parser = console.ScriptParser(prog="batch.py", intermixed=True, **texts)
    add, number = console.adder(parser), integer(0).one
    add("name NAME", "batch script, or key of an experiment", nargs="?")
    add("first FIRST_SEED", "first seed", nargs="?", type=number)
    add("last LAST_SEED", "last seed", nargs="?", type=number)
    add("gpu GPU", "GPU that this machine's processes see", nargs="?")
    add("--list", "name all batch scripts and their models")
    add = console.adder(parser.add_argument_group("what to do"))
    add("--model NAME", "a model; repeatable", action="append", default=[])
    add("--figure NUMBER", "only the models of this figure, such as 3, or its key")
    add("--seeds SEEDS", "seeds in place of first and last: 0-4,7", type=seeds.several)
    add("--scheduler", "who runs the shards (local)", choices=SCHEDULERS)
    add("--resume", "only shards with runs left to train")
    add("--status", "count runs by state, train nothing")
    add("--dry-run", "print every command, or the job of --scheduler; train nothing")
    text = "train for less, or more; whole epochs where a script counts them"
    add("--max-iterations N", text, type=number)
    text = "runs per shard, at least one seed of every range (50 to 250, the fewer the longer "
    text += "they train; 1 where jobs ask for a GPU)"
    add("--runs-per-task N", text, type=integer(1).one)
    add("--jobs N", "local processes at a time (cores)", type=integer(1).one)
    text = "train shard N in this process; repeatable for shards of one script"
    add("--task N", text, type=number, action="append", default=[])
    if takes_a_layer:
        add_layer_flags(parser, "a layer of your own in place of the models")
    else:
        parser.set_defaults(layer_type=None, layer_file=None, layer_option=None)
    add_site_flags(parser)
    return parser


def _run(arguments: argparse.Namespace, layer_model: LayerModel | None) -> int:
    if arguments.name is None:
        problem = "no batch script or experiment is named"
        raise OptionError("NAME", problem, "write one; --list names them all")
    chosen_seeds = _seeds_of(arguments)
    script = find_job(arguments.name).of_figure(arguments.figure)
    models = _models(script, arguments, layer_model)
    everything = dict(enumerate(shards(models, chosen_seeds, arguments.runs_per_task)))
    if arguments.task:
        return _train(everything, arguments)
    length = arguments.max_iterations
    if arguments.status:
        counts: dict[str, Counter[State]] = {}
        for name, model in models.items():
            parts = shards({name: model}, chosen_seeds, model.runs)
            counts[name] = sum((shard.states(length) for shard in parts), Counter[State]())
        every = (script.name, sum(counts.values(), Counter[State]()))
        for name, found in (*counts.items(), every):
            console.say(f"{name}: {', '.join(f'{found[state]} {state.value}' for state in State)}")
        return 0
    if arguments.resume:
        everything = {i: shard for i, shard in everything.items() if pending(shard, length)}
    if not everything:
        console.say("nothing left to train")
        return 0
    if arguments.dry_run and arguments.scheduler in (None, "local"):
        show_training(everything.values(), length)
        return 0
    return _send(script, everything, arguments)


def _models(
    script: JobScript, arguments: argparse.Namespace, layer_model: LayerModel | None
) -> Mapping[str, Model]:
    if layer_model and arguments.layer_type is not None:
        if arguments.model:
            problem = "a layer of --layer-type takes its place"
            raise OptionError("--model", problem, "give one of them")
        return {arguments.layer_type: layer_model(arguments, script.shows[0])}
    for name in ("layer_file", "layer_option"):
        if getattr(arguments, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(flag, "names no layer", "add --layer-type, the class to train")
    return script.chosen(arguments.model)


def _seeds_of(arguments: argparse.Namespace) -> list[int] | None:
    first, last = arguments.first, arguments.last
    if first is None:
        return None if arguments.seeds is None else sorted(arguments.seeds)
    if last is None:
        problem = f"{first} needs a last seed behind it"
        raise OptionError("FIRST_SEED", problem, f"write {first} {first} for one seed, or 0 24")
    if first > last:
        raise OptionError("FIRST_SEED", f"{first} {last} runs backwards", f"write {last} {first}")
    if arguments.seeds is not None:
        problem = f"seeds {first} to {last} are named, too"
        raise OptionError("--seeds", problem, "name them in one of the two ways")
    return list(range(first, last + 1))


def _train(everything: Mapping[int, Shard], arguments: argparse.Namespace) -> int:
    chosen = []
    for task in arguments.task:
        if shard := everything.get(task):
            chosen.append(shard)
            console.say(f"shard {task}: {shard.name}, {console.plural(shard.runs, 'run')}")
        else:
            console.say(f"there is no shard {task}, only {len(everything)}")
    scripts = {shard.model.script for shard in chosen}
    if len(scripts) > 1:
        problem = f"shards of {' and '.join(sorted(scripts))} are not trained by one process"
        raise OptionError("--task", problem, "start a command for each")
    return train_shards(chosen, arguments.max_iterations) if chosen else 0


def _send(script: JobScript, left: Mapping[int, Shard], arguments: argparse.Namespace) -> int:
    site = site_of(arguments)
    scheduler = arguments.scheduler or site.scheduler
    words = _passed_on(arguments)
    logs = site.logs / script.name
    prints = scheduler == "print" or arguments.dry_run
    if script.scope and not (prints or arguments.model or arguments.layer_type):
        console.say(script.scope)
    runs = sum(shard.runs for shard in left.values())
    amount = f"{console.plural(runs, 'run')} in {console.plural(len(left), 'shard')}"
    if scheduler == "local":
        at_once = arguments.jobs or max(1, console.cores() // script.resources().cores)
        console.say(f"{amount}, {at_once} at a time; output in {logs}")
        return run_shards([script.name, *words], left, logs, processes=at_once, gpu=arguments.gpu)
    resources = site.resources(script.resources())
    text = render_job(script.name, resources, site, words, list(left))
    commands = {
        i: [shard.model.command(one, shard.seeds) for one in shard.variants]
        for i, shard in left.items()
    }
    shown = [
        (i, console.command_of(*one.line)) for i, several in commands.items() for one in several
    ]
    hand_over(scheduler, text, logs, amount, shown if prints else None)
    return 0


def hand_over(
    scheduler: str, text: str, logs: Path, amount: str, shown: Sequence[tuple[int, str]] | None
) -> None:
    """Submit a job, or print it with the lines that say what its shards train."""
    if not is_checkout():
        remedy = "start it from a checkout, or take --scheduler local"
        raise OptionError("--scheduler", f"{scheduler} needs lfs_batch_jobs/run.sh", remedy)
    if shown is None:
        console.say(f"{amount}; output in {logs}")
        console.say(submit(scheduler, text, logs / f"{scheduler}.sh"))
        return
    console.say(text)
    console.say(f"# before it is submitted: mkdir -p {shlex.quote(str(logs))}")
    for shard, line in shown:
        console.say(f"# shard {shard}: {line}")


def _passed_on(arguments: argparse.Namespace) -> list[str]:
    """Return the words of a job of this submission, to number its shards alike."""
    # A job starts in the checkout, wherever it was submitted.
    file = arguments.layer_file and arguments.layer_file.resolve()
    given = [
        ("--seeds", arguments.seeds and seeds_text(arguments.seeds)),
        *(("--model", model) for model in arguments.model),
        ("--figure", arguments.figure),
        ("--layer-type", arguments.layer_type),
        ("--layer-file", file),
        ("--layer-option", arguments.layer_option or None),
        ("--max-iterations", arguments.max_iterations),
        ("--runs-per-task", arguments.runs_per_task),
    ]
    words = [str(v) for v in (arguments.first, arguments.last) if v is not None]
    for flag, value in given:
        if value is not None:
            words += [flag, *(value if isinstance(value, list) else [str(value)])]
    return words
