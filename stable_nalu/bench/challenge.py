"""A layer against the published ones: `reproduce.py KEY --layer-type NAME`, or `challenge`.

Only the layer is trained, in the setting of each figure. Its rivals are the stored results. A page
shows the comparison, its setting and the result.
"""

import argparse
import resource
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import atomic_text_file
from stable_nalu.base.script import command_of, cores, duration, plural, say, shown
from stable_nalu.figure.entries import write as write_product
from stable_nalu.figure.panels import Panels, draw
from stable_nalu.figure.runs import Product, Runs, estimate
from stable_nalu.figure.style import drawable, drawing
from stable_nalu.paper.experiment import ITERATION_FLAG, Experiment, Model, merged, words
from stable_nalu.paper.index import find
from stable_nalu.result.document import (
    UNKNOWN,
    as_svg,
    estimated,
    filled,
    number,
    plain,
    points,
    rate,
    render,
)
from stable_nalu.result.judged import ALL_POINTS
from stable_nalu.result.shard import (
    Shard,
    how_to_run,
    pending,
    refuse_running,
    show_training,
    train_shards,
)
from stable_nalu.result.stored import Session, Stopwatch, add_sessions, path_of, read, read_records
from stable_nalu.result.trained import Folders, chosen_models, judged
from stable_nalu.statistics.intervals import ALIKE, BETTER, WORSE
from stable_nalu.statistics.setups import PUBLISHED, below
from stable_nalu.statistics.table import write_plain_frame
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.console import quiet

from .board import submitted
from .ranking import (
    KEY,
    RANKED_BY,
    Challenger,
    Contest,
    challenger_of,
    cut,
    rank_column,
    same_runs,
)

FIGURES = (
    *(f"benchmark_sltr_{operation}" for operation in ("add", "sub", "mul", "div")),
    *("nips-sltr-in10", "simple_mul"),
)
"""The figures of the key `challenge`."""
TEMPLATE = Path(__file__).with_name("challenge.md")

Plan = tuple[Experiment, Sequence[Shard]]
"""A figure, and the shards of the challenger's runs in it."""


def challenge(arguments: argparse.Namespace) -> int:
    """Train a layer as a figure's models were, compare it with them, and return the exit code."""
    if arguments.layer_type is None:
        remedy = "name a layer of the package, or one of --layer-file"
        raise OptionError("--layer-type", "the challenger is not named", remedy)
    if arguments.keep or arguments.report:
        flag = "--keep" if arguments.keep else "--report"
        raise OptionError(flag, "kept results are those of published models", "leave it out")
    if arguments.submit and arguments.layer_file is None:
        raise OptionError("--submit", "the layer has no file", "add --layer-file PATH")
    keys = FIGURES if arguments.key == "challenge" else (arguments.key,)
    found = [find(key) for key in keys]
    experiments = [replace(e, models=tuple(chosen_models(e, arguments.model))) for e in found]
    challenger = challenger_of(arguments, experiments)
    space = Folders(arguments.out, arguments.max_iterations)
    space.use()
    plans, refused = _plans(experiments, challenger, arguments)
    shards = [shard for _, parts in plans for shard in parts]
    left = [shard for shard in shards if pending(shard, space.max_iterations)]
    for key, reason in refused.items():
        say(f"{key} is left out: {reason}")
    if arguments.dry_run:
        show_training(left, space.max_iterations)
        return 0
    sessions = space.logs / "challenge" / challenger.folder / "sessions.csv"
    if code := _train(left, arguments, sessions):
        return code
    refuse_running(shards, space.max_iterations)
    contests = [_contest(experiment, parts, space, arguments) for experiment, parts in plans]
    folder = space.base / "challenge" / "_".join((challenger.folder, arguments.key))
    facts = {"refused": refused, "sessions": read_records(Session, sessions)}
    _, path, *_ = write(challenger, contests, folder, arguments.format, **facts)
    for contest in contests:
        one = _overview(contest)
        say(f"{contest.experiment.key}: rank {one['rank']}, solved {one['success rate']}")
    say(shown(path))
    return submitted(arguments) if arguments.submit else 0


def _plans(
    experiments: Sequence[Experiment], challenger: Challenger, arguments: argparse.Namespace
) -> tuple[list[Plan], dict[str, str]]:
    """Return what is trained for each figure, and why it cannot be for others, by their keys.

    What no figure can be trained for is an error.
    """
    plans: list[Plan] = []
    refused: dict[str, str] = {}
    for experiment in experiments:
        model = challenger.model(experiment)
        seeds = tuple(model.seeds if arguments.seeds is None else arguments.seeds)
        shards = [
            Shard(" ".join(filter(None, (model.prefix, variant.name))), model, (variant,), seeds)
            for variant in model.variants
        ]
        try:
            for shard in shards:
                shard.expected()
        except UsageError as error:
            refused[experiment.key] = str(error)
            if len(refused) == len(experiments):
                raise
        else:
            plans.append((experiment, shards))
    return plans, refused


def _train(left: Sequence[Shard], arguments: argparse.Namespace, sessions: Path) -> int:
    """Train what is left, and return the exit code of the first command that fails, else 0."""
    for place, shard in enumerate(left, start=1):
        say(f"[{place}/{len(left)}] {plural(shard.runs, 'run')}: {shard.name}")
        watch = Stopwatch(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        workers = arguments.jobs or cores()
        with quiet():
            code = train_shards([shard], arguments.max_iterations, workers)
        if code:
            return code
        extra = how_to_run(shard.model, shard.variants[0], arguments.max_iterations)
        length = int(merged(shard.model.flags, extra)[ITERATION_FLAG][0])
        finished = {run.name: length for run in shard.expected(extra)}
        add_sessions(sessions, [watch.session(finished, workers)])
    return 0


def _contest(
    experiment: Experiment, shards: Sequence[Shard], space: Folders, arguments: argparse.Namespace
) -> Contest:
    """Judge the challenger's runs, and add the stored runs of its rivals."""
    model = shards[0].model
    # Commands without what only says how they are run.
    extra = how_to_run(model, model.variants[0], arguments.max_iterations)
    kept = {name: extra[name] for name in (ITERATION_FLAG, "--log-interval") if name in extra}
    commands = [model.command(variant, arguments.seeds, extra=kept) for variant in model.variants]
    own = judged(replace(experiment, models=(model,)), arguments.seeds, space)
    parts, longer = [own], None
    if path_of(experiment.key, arguments.data).exists():
        rivals = read(experiment.key, arguments.data)
        keys = [rival.key for rival in experiment.models]
        there = same_runs(own, rivals.loc[rivals["model"].isin(keys)], experiment.key)
        parts = list(cut(own, there, max(map(_log_interval, experiment.models))))
        if parts[0] is not own:
            longer = max(there["iterations"].tolist())
    runs = pd.concat(parts, ignore_index=True)
    return Contest(experiment, model.label, runs, commands, longer)


def _log_interval(model: Model) -> int:
    """Return how many iterations stand between the logged steps of a model's stored runs."""
    given = model.flags.get("--log-interval")
    return int(given[0] if given else SCRIPTS[model.script].defaults["log_interval"])


def write(
    challenger: Challenger,
    contests: Sequence[Contest],
    folder: Path,
    formats: Sequence[str],
    **values: Any,
) -> list[Path]:
    """Write the page as HTML and Markdown, with pictures and tables, and return the paths.

    values: what else the template prints.
    """
    pictures: dict[str, str] = {}
    written, chapters = [], []
    for contest in contests:
        key, own = contest.experiment.key, {}
        with drawing():
            for operation, figure in figures(contest, challenger.drawn).items():
                name = "_".join(filter(None, (key, operation)))
                own[f"pictures/{name}.svg"] = as_svg(figure)
                written += write_product(Product(name, figure), folder / "figures", formats)
        for name, table in tables(contest).items():
            written.append(folder / "tables" / f"{key}_{name}.csv")
            write_plain_frame(written[-1], table)
        chapters.append(_chapter(contest, challenger) | {"pictures": list(own)})
        pictures |= own
    duels = [(contest.experiment.key, duel) for contest in contests for duel in contest.duels]
    unfair = dict.fromkeys((key, *duel.test.lengths) for key, duel in duels if not duel.fair)
    source = challenger.source
    text = filled(
        TEMPLATE,
        challenger=challenger,
        file=Path(source.path).name if source else "",
        unfair=[f"{key}: rivals {theirs:,} iterations, here {n:,}" for key, n, theirs in unfair],
        shorter=[
            f"{one.experiment.key}: {one.runs['iterations'].max():,} of {one.rivals:,} iterations"
            for one in contests
            if one.rivals
        ],
        longer="rivals" if any(theirs > ours for _, ours, theirs in unfair) else "it",
        overview=[_overview(contest) for contest in contests],
        over=shlex.join(words(challenger.training)),
        chapters=chapters,
        standings=_standings,
        matrices=_matrices,
        known=lambda text: plain(text) or UNKNOWN,
        duration=duration,
        number=number,
        points=points,
        **values,
    )
    files = {"README.md": text, "index.html": render(text, pictures), **pictures}
    if source and challenger.file:
        files[Path(source.path).name] = source.source
    for name, content in files.items():
        with atomic_text_file(folder / name) as file:
            file.write(content)
    return [folder / "README.md", folder / "index.html", *written]


def figures(contest: Contest, drawn: str | None = None) -> dict[str, Figure]:
    """Draw all layers in one figure, or in one per operation, by the operation or no name.

    drawn: the challenger's label in figures, where that is not the one in texts.
    """
    x = contest.experiment.parameter
    x = x if x in contest.runs else "interpolation.range"
    names = contest.labels
    if drawn is not None and drawn not in names.values():
        names = names | {KEY: drawn}
    labels = {key: drawable(label) for key, label in names.items()}
    runs = contest.runs.assign(
        model=[labels[key] for key in contest.runs["model"]],
        solved=contest.runs["solved"].astype(bool),
    )
    operations = list(dict.fromkeys(runs["operation"])) if x != "operation" else [None]
    found = {}
    for operation in operations:
        own = runs if operation is None else runs.loc[runs["operation"] == operation]
        part = Panels(Runs(x), x.replace(".", " ").capitalize())
        summary = estimate(own, part.grouping, PUBLISHED)
        name = str(operation) if len(operations) > 1 else ""
        found[name] = draw(part, own, tuple(labels.values()), summary)
    return found


def tables(contest: Contest) -> dict[str, pd.DataFrame]:
    tests = []
    for duel in contest.duels:
        test, gap = duel.test, duel.test.difference
        row = {"rival": duel.label, "pairs": test.pairs, "only.challenger": test.won}
        row |= {"only.rival": test.lost, "difference": gap.mean, "difference.lower": gap.lower}
        row |= {"difference.upper": gap.upper, "p": test.p, "p.holm": duel.p}
        tests.append(row | {"verdict": duel.verdict})
    return {"standings": pd.DataFrame(contest.standings), "tests": pd.DataFrame(tests)}


def _overview(contest: Contest) -> dict[str, str]:
    own, *others = _overall(contest)
    by = {v: [d.label for d in contest.duels if d.verdict == v] for v in (BETTER, WORSE, ALIKE)}
    better, worse, alike = (plain(", ".join(names)) or UNKNOWN for names in by.values())
    fair = all(duel.fair for duel in contest.duels)
    first = own["rank.success.rate"]
    last = first + sum(one["rank.success.rate"] == first for one in others)
    rank = f"{first}" if first == last else f"{first}–{last}"
    return {
        "figure": f"[{plain(contest.experiment.title)}](#{contest.experiment.key})",
        "runs": str(own["runs"]),
        "success rate": rate(own["solved"], own["runs"]),
        "rank": f"{rank} of {len(others) + 1}" if fair else UNKNOWN,
        "better than": better,
        "worse than": worse,
        "no difference": alike,
    }


def _chapter(contest: Contest, challenger: Challenger) -> dict[str, Any]:
    experiment = contest.experiment
    paper = "" if experiment.paper is None else experiment.paper.title
    found = "; ".join(f"{paper}, {number}" for number in experiment.numbers)
    limit = below(contest.runs["threshold"])

    def beside(word: str) -> str:
        """Return a word; the layer's file becomes the name of its copy in the page's folder."""
        return Path(word).name if challenger.file and word == str(challenger.file) else word

    return {
        "key": experiment.key,
        "contest": contest,
        "about": f"{found}. Seeds {contest.seeds}. Solved: test error {limit}.",
        "commands": [command_of(*map(beside, command.line)) for command in contest.commands],
    }


def _overall(contest: Contest) -> list[dict[str, Any]]:
    return [row for row in contest.standings if row["point"] == ALL_POINTS]


def _standings(contest: Contest) -> list[dict[str, str]]:
    """Return how all layers stand at all points together, the best success rate first."""
    rows = []
    for one in sorted(_overall(contest), key=lambda row: row["rank.success.rate"] or 0):
        means = (estimated(one, name) for name in ("converged.at", "sparse.error"))
        texts = zip(RANKED_BY, (rate(one["solved"], one["runs"]), *means), strict=True)
        cells = {measure: _ranked(text, one, measure) for measure, text in texts}
        rows.append({"layer": _name(one["layer"], contest), **cells})
    return rows


def _ranked(text: str, row: Mapping[str, Any], measure: str) -> str:
    rank = row[rank_column(measure)]
    return text if rank is None else f"{text} ({rank})"


def _name(label: str, contest: Contest) -> str:
    return f"**{plain(label)}**" if label == contest.label else plain(label)


def _matrices(contest: Contest) -> list[tuple[str, list[dict[str, str]]]]:
    """Return a table of every measure, of layers by points, with the ranks at each point."""
    at = {(row["layer"], row["point"]): row for row in contest.standings}
    points = [point for point in dict.fromkeys(point for _, point in at) if point != ALL_POINTS]

    def cell(label: str, point: str, measure: str) -> str:
        row = at.get((label, point))
        if row is None or row[rank_column(measure)] is None:
            return UNKNOWN
        is_rate = measure == "success rate"
        rated = f"{row['solved']}/{row['runs']}"
        return _ranked(rated if is_rate else number(row[RANKED_BY[measure][0]]), row, measure)

    return [
        (
            measure.capitalize(),
            [
                {"layer": _name(label, contest)}
                | {plain(point): cell(label, point, measure) for point in points}
                for label in contest.labels.values()
            ],
        )
        for measure in RANKED_BY
        if points
    ]
