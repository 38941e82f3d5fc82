"""The batch command: train, submit or look at the shards of an experiment."""

import argparse
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stable_nalu.base.errors import OptionError
from stable_nalu.base.files import CHECKOUT, is_checkout
from stable_nalu.base.script import ScriptParser, command_of, cores, exit_code, plural, say
from stable_nalu.options.flag import each_word, integer, seeds, seeds_text
from stable_nalu.options.flags import add_layer_flags
from stable_nalu.paper.experiment import Experiment, Model

from .jobs import (
    JOB_SCRIPTS,
    SCHEDULERS,
    JobScript,
    Site,
    find_job,
    read_site,
    render_job,
    submit,
    time_limit,
)
from .shard import Shard, State, pending, run_shards, shards, show_training, train_shards

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
            say(f"{script.name}: {', '.join(script.named_models())}")
        return 0

    return exit_code("batch.py", obey)


def _parser(takes_a_layer: bool) -> ScriptParser:
    parser = ScriptParser(
        prog="batch.py",
        intermixed=True,
        description="Train an experiment, or what is left of it, here or on a cluster.",
        epilog="batch.py --list names all batch scripts.",
    )
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="batch script, or key of an experiment")
    add("first", nargs="?", type=integer(0).one, metavar="FIRST_SEED", help="first seed")
    add("last", nargs="?", type=integer(0).one, metavar="LAST_SEED", help="last seed")
    add("gpu", nargs="?", metavar="GPU", help="GPU that this machine's processes see")
    add("--list", action="store_true", help="name all batch scripts and their models")
    add = parser.add_argument_group("what to do").add_argument
    add("--model", metavar="NAME", action="append", default=[], help="a model; repeatable")
    add("--figure", metavar="NUMBER", help="only the models of this figure, such as 3, or its key")
    add(
        "--seeds",
        type=seeds.several,
        metavar="SEEDS",
        help="seeds in place of first and last: 0-4,7",
    )
    add("--scheduler", choices=SCHEDULERS, help="who runs the shards (local)")
    add("--resume", action="store_true", help="only shards with runs left to train")
    add("--status", action="store_true", help="count runs by state, train nothing")
    add(
        "--dry-run",
        action="store_true",
        help="print every command, or the job of --scheduler; train nothing",
    )
    add(
        "--max-iterations",
        type=integer(0).one,
        metavar="N",
        help="train for less, or more; whole epochs where a script counts them",
    )
    add(
        "--runs-per-task",
        type=integer(1).one,
        metavar="N",
        help="runs per shard, at least one seed of every range (50 to 250, the fewer the longer "
        "they train; 1 where jobs ask for a GPU)",
    )
    add("--jobs", type=integer(1).one, metavar="N", help="local processes at a time (cores)")
    add(
        "--task",
        type=integer(0).one,
        metavar="N",
        action="append",
        default=[],
        help="train shard N in this process; repeatable for shards of one script",
    )
    if takes_a_layer:
        add_layer_flags(parser, "a layer of your own in place of the models")
    else:
        parser.set_defaults(layer_type=None, layer_file=None, layer_option=None)
    _add_job_flags(parser)
    return parser


def _add_job_flags(parser: ScriptParser) -> None:
    add = parser.add_argument_group("jobs, over lfs_batch_jobs/site.toml").add_argument
    add("--site", type=Path, metavar="FILE", help="another site file")
    add("--partition", metavar="NAME", help="SLURM partition")
    add("--queue", metavar="NAME", help="LSF queue")
    add("--account", metavar="NAME", help="SLURM account, LSF project")
    add(
        "--time",
        type=each_word("", time_limit).one,
        metavar="HOURS:MINUTES",
        help="limit per job (that of the experiment)",
    )
    add("--memory", type=integer(1).one, metavar="GB", help="per job (that of the experiment)")
    add(
        "--gpus",
        type=integer(0).one,
        choices=(0, 1),
        help="per job (1 for image tasks, 0 for all others)",
    )
    add("--module", metavar="NAME", action="append", dest="modules", help="module to load")
    add("--setup", action="append", metavar="LINE", help="shell line before a job; repeatable")
    add("--log-dir", metavar="DIR", help="folder of the output (logs)")
    add("--python", metavar="PATH", help="interpreter of the jobs")


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
    if arguments.status:
        return _status(script, models, chosen_seeds, arguments.max_iterations)
    length = arguments.max_iterations
    if arguments.resume:
        everything = {i: shard for i, shard in everything.items() if pending(shard, length)}
    if not everything:
        say("nothing left to train")
        return 0
    if arguments.dry_run and arguments.scheduler in (None, "local"):
        show_training(everything.values(), length)
        return 0
    return _hand_over(script, everything, arguments)


def _models(
    script: JobScript, arguments: argparse.Namespace, layer_model: LayerModel | None
) -> Mapping[str, Model]:
    """Return the models to train: those of the script, or one layer on the same points."""
    if layer_model and arguments.layer_type is not None:
        if arguments.model:
            problem = "a layer of --layer-type takes its place"
            raise OptionError("--model", problem, "give one of them")
        return {arguments.layer_type: layer_model(arguments, script.shows()[0])}
    for flag, value in (
        ("--layer-file", arguments.layer_file),
        ("--layer-option", arguments.layer_option),
    ):
        if value is not None:
            raise OptionError(flag, "names no layer", "add --layer-type, the class to train")
    return script.chosen(arguments.model)


def _seeds_of(arguments: argparse.Namespace) -> list[int] | None:
    """Return the seeds that are asked for; None means the published ones."""
    first, last = arguments.first, arguments.last
    if first is not None and last is None:
        problem = f"{first} needs a last seed behind it"
        raise OptionError("FIRST_SEED", problem, f"write {first} {first} for one seed, or 0 24")
    if first is not None and first > last:
        raise OptionError("FIRST_SEED", f"{first} {last} runs backwards", f"write {last} {first}")
    if first is not None and arguments.seeds is not None:
        problem = f"seeds {first} to {last} are named, too"
        raise OptionError("--seeds", problem, "name them in one of the two ways")
    if arguments.seeds is not None:
        return sorted(arguments.seeds)
    return None if first is None else list(range(first, last + 1))


def _train(everything: Mapping[int, Shard], arguments: argparse.Namespace) -> int:
    chosen = [everything[task] for task in arguments.task if task in everything]
    for task in arguments.task:
        if task in everything:
            say(f"shard {task}: {everything[task].name}, {plural(everything[task].runs, 'run')}")
        else:
            say(f"there is no shard {task}, only {len(everything)}")
    scripts = {shard.model.script for shard in chosen}
    if len(scripts) > 1:
        problem = f"shards of {' and '.join(sorted(scripts))} are not trained by one process"
        raise OptionError("--task", problem, "start a command for each")
    return train_shards(chosen, arguments.max_iterations) if chosen else 0


def _status(
    script: JobScript,
    models: Mapping[str, Model],
    chosen_seeds: list[int] | None,
    max_iterations: int | None,
) -> int:
    counts: list[tuple[str, Counter[State]]] = []
    for name, model in models.items():
        parts = shards({name: model}, chosen_seeds, model.runs)
        states = (shard.states(max_iterations) for shard in parts)
        counts.append((name, sum(states, Counter[State]())))
    counts.append((script.name, sum((found for _, found in counts), Counter[State]())))
    for name, found in counts:
        say(f"{name}: {', '.join(f'{found[state]} {state.value}' for state in State)}")
    return 0


def _hand_over(script: JobScript, left: Mapping[int, Shard], arguments: argparse.Namespace) -> int:
    site = _site_of(arguments)
    scheduler = arguments.scheduler or site.scheduler
    words = _passed_on(arguments)
    logs = site.logs / script.name
    prints = scheduler == "print" or arguments.dry_run
    if script.scope and not (prints or arguments.model or arguments.layer_type):
        say(script.scope)
    runs = sum(shard.runs for shard in left.values())
    amount = f"{plural(runs, 'run')} in {plural(len(left), 'shard')}"
    if scheduler == "local":
        at_once = arguments.jobs or max(1, cores() // script.resources().cores)
        say(f"{amount}, {at_once} at a time; output in {logs}")
        return run_shards([script.name, *words], left, logs, processes=at_once, gpu=arguments.gpu)
    if not is_checkout():
        remedy = "start it from a checkout, or take --scheduler local"
        raise OptionError("--scheduler", f"{scheduler} needs lfs_batch_jobs/run.sh", remedy)
    resources = site.resources(script.resources())
    text = render_job(script.name, resources, site, str(CHECKOUT), words, list(left))
    if prints:
        say(text)
        say(f"# before it is submitted: mkdir -p {shlex.quote(str(logs))}")
        for i, shard in left.items():
            for command in shard.commands():
                say(f"# shard {i}: {command_of(*command.line)}")
        return 0
    say(f"{amount}; output in {logs}")
    say(submit(scheduler, text, logs / f"{scheduler}.sh"))
    return 0


def _site_of(arguments: argparse.Namespace) -> Site:
    """Return the site file with the flags laid over it.

    --scheduler print leaves the scheduler of the file, whose options the printed job then has.
    """
    site = read_site(arguments.site)
    names = ["partition", "queue", "account", "log_dir", "python", "modules", "setup"]
    names += ["time", "memory", "gpus"]
    names += [] if arguments.scheduler == "print" else ["scheduler"]
    values = {name: getattr(arguments, name) for name in names}
    given = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items() if v is not None}
    return site.overlaid(given)


def _passed_on(arguments: argparse.Namespace) -> list[str]:
    """Return the words that a job of this submission is told, to number its shards alike."""
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
