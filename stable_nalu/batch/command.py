"""The batch command: train, submit or look at the shards of an experiment."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from stable_nalu.catalogue.experiment import Model, is_runnable
from stable_nalu.errors import UsageError
from stable_nalu.machine import CHECKOUT, cores, tensorboard_root
from stable_nalu.script import exit_code

from .arguments import parse, passed_on, seeds_of, site_of
from .job_script import JOB_SCRIPTS, JobScript, find_job
from .local import run_shards
from .progress import State, count
from .render import render_job
from .shard import Shard, how_to_run, shards
from .submit import submit
from .work import pending, train_shard


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; the result is the exit code."""
    arguments = parse(argv)
    return exit_code("batch.py", lambda: _list() if arguments.list else _run(arguments))


def _list() -> int:
    for script in JOB_SCRIPTS.values():
        _say(f"{script.name}: {', '.join(script.named_models())}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    script = find_job(arguments.name)
    models = script.chosen(arguments.model)
    seeds = seeds_of(arguments)
    everything = shards(models, seeds, arguments.runs_per_task)
    if arguments.task is not None:
        return _train(everything, arguments)
    if arguments.status:
        return _status(script, models, seeds, arguments.max_iterations)
    chosen = list(range(len(everything)))
    if arguments.resume:
        chosen = [i for i in chosen if _has_work(everything[i], arguments.max_iterations)]
    if not chosen:
        _say("nothing left to train")
        return 0
    if arguments.dry_run:
        return _dry_run([everything[i] for i in chosen], arguments.max_iterations)
    return _hand_over(script, everything, chosen, arguments)


def _train(everything: Sequence[Shard], arguments: argparse.Namespace) -> int:
    if not 0 <= arguments.task < len(everything):
        _say(f"there is no shard {arguments.task}, only {len(everything)}")
        return 0
    shard = everything[arguments.task]
    _say(f"shard {arguments.task}: {shard.name}, {shard.runs} runs")
    return train_shard(shard, arguments.max_iterations)


def _has_work(shard: Shard, max_iterations: int | None) -> bool:
    return is_runnable(shard.model) and bool(pending(shard, max_iterations))


def _status(
    script: JobScript,
    models: Mapping[str, Model],
    seeds: list[int] | None,
    max_iterations: int | None,
) -> int:
    total: Counter[State] = Counter()
    for name, model in models.items():
        if not is_runnable(model):
            _say(f"{name}: needs experiments/{model.script}.py, which is not there")
            continue
        found: Counter[State] = Counter()
        for shard in shards({name: model}, seeds, model.runs):
            extra = how_to_run(model, shard.variant, max_iterations)
            found += count(shard.expected(extra), tensorboard_root())
        _say(f"{name}: {_counts(found)}")
        total += found
    _say(f"{script.name}: {_counts(total)}")
    return 0


def _counts(found: Counter[State]) -> str:
    return ", ".join(f"{found[state]} {state.value}" for state in State)


def _dry_run(chosen: Sequence[Shard], max_iterations: int | None) -> int:
    for shard in chosen:
        if is_runnable(shard.model):
            commands = [command for command, _ in pending(shard, max_iterations)]
        else:
            commands = [shard.command()]
        for command in commands:
            _say(f"python3 {shlex.join(command.line)}")
    return 0


def _hand_over(
    script: JobScript,
    everything: Sequence[Shard],
    chosen: Sequence[int],
    arguments: argparse.Namespace,
) -> int:
    site = site_of(arguments)
    words = passed_on(arguments)
    logs = site.logs / script.name
    runs = sum(everything[i].runs for i in chosen)
    if site.scheduler == "local":
        _refuse_missing(everything[i].model for i in chosen)
        at_once = arguments.jobs or max(1, cores() // script.resources().cores)
        _say(f"{runs} runs in {len(chosen)} shards, {at_once} at a time; output in {logs}")
        names = {i: everything[i].name for i in chosen}
        return run_shards([script.name, *words], names, logs, processes=at_once, gpu=arguments.gpu)
    try:
        text = render_job(script.name, script.resources(), site, str(CHECKOUT), words, chosen)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if site.scheduler == "print":
        _say(text)
        for i in chosen:
            _say(f"# shard {i}: python3 {shlex.join(everything[i].command().line)}")
        return 0
    _refuse_missing(everything[i].model for i in chosen)
    _say(f"{runs} runs in {len(chosen)} shards; output in {logs}")
    _say(submit(site.scheduler, text, logs / f"{site.scheduler}.sh"))
    return 0


def _refuse_missing(models: Iterable[Model]) -> None:
    for model in models:
        if not is_runnable(model):
            raise UsageError(f"{model.key} needs experiments/{model.script}.py, which is not there")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
