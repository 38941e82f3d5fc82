"""Studies that train more than what is kept: `python3 -m tools.studies STUDY WORD...`.

Each keeps a table that a page shows.
"""

import base64
import inspect
import itertools
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import stable_nalu as sn
from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import atomic_text_file, cells_of
from stable_nalu.base.script import ScriptParser, begin, exit_code, say
from stable_nalu.bench.board import judged_rows
from stable_nalu.bench.ranking import OPERATIONS, Entry, kept_entries
from stable_nalu.inspection.saved_model import FAILURES, NAN, TrainedModel
from stable_nalu.options.flag import integer, seeds_text
from stable_nalu.paper.experiment import Flags, Model, merged, words
from stable_nalu.paper.index import EXPERIMENTS, find
from stable_nalu.result import stored
from stable_nalu.result.export import RunTable, WeightsParser, open_reader
from stable_nalu.result.judged import identity_of, options_of, runs_of_rows
from stable_nalu.result.shard import shards, train_shards
from stable_nalu.result.stored import DATA, formula_rows, formulas_of, origin
from stable_nalu.result.trained import Folders, retrained
from stable_nalu.statistics.summary import solved_of
from stable_nalu.statistics.table import groups, write_rows
from stable_nalu.training.checkpoint import RunState

from . import FOLDER, headline, rows_in
from .atlas import NUDGED, by_run, name_of
from .board import TUNED_RUNS
from .drawing import LANDSCAPES
from .playground import PATHS, kept

SETTINGS = TUNED_RUNS.with_name("settings.csv")
NUMBER, TUNING_SEEDS, SEEDS = 8, range(1000, 1005), range(25)
RATE = ("--learning-rate", 1e-4, 1.0)
DECLARED = {
    row["unit"]: (row["setting"], float(row["least"]), float(row["most"]))
    for row in cells_of(FOLDER / "tuning.csv")
}
"""Unit -> what is drawn besides the learning rate, log-uniformly: its flag or option, and where."""
KEPT = (
    *("unit", "operation", "interpolation.range", "seed", "iterations"),
    *("extrapolation.step.solved", "extrapolation.last", "verdict"),
)


def settings(entry: Entry, model: Model, operation: str) -> Iterator[Flags]:
    draws = random.Random(f"{entry.label} {operation}")
    for _ in range(NUMBER):
        drawn: dict[str, tuple[str, ...]] = {}
        for name, low, high in filter(None, (RATE, DECLARED.get(entry.label))):
            value = f"{math.exp(draws.uniform(math.log(low), math.log(high))):.2g}"
            if name == "temperature":
                drawn["--layer-option"] = (*model.flags["--layer-option"], f"{name}={value}")
                continue
            drawn[name] = (value,)
            if name.endswith("beta-end"):
                drawn["--regualizer-beta-start"] = (f"{float(value) / 100:.2g}",)
        yield drawn


def tuned(entry: Entry, operation: str) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """Return the runs of a unit with the best of its settings, and all of these."""
    experiment, own = find(f"benchmark_sltr_{operation}"), find(entry.key[0]).model(entry.key[1])
    drawn = list(settings(entry, own, operation))
    models = [
        replace(own, key=f"s{k}", prefix=f"tuning/{k}", csv=f"{k}", flags=merged(own.flags, one))
        for k, one in enumerate(drawn)
    ]

    def rows_of(chosen: Sequence[Model], seeds: Sequence[int]) -> list[dict[str, str]]:
        with TemporaryDirectory() as out:
            every = replace(experiment, models=tuple(chosen))
            return judged_rows(every, seeds, Folders(Path(out)))

    rows = rows_of(models, TUNING_SEEDS)
    found = [[row for row in rows if row["model"] == model.key] for model in models]
    best = max(range(NUMBER), key=lambda k: _score(found[k]))
    place = {"unit": entry.label, "operation": operation}
    choices = [
        place
        | {"setting": " ".join(words(one)), "solved": _score(own)[0], "of": len(own)}
        | {"chosen": int(k == best)}
        for k, (one, own) in enumerate(zip(drawn, found, strict=True))
    ]
    runs = [{name: (place | row)[name] for name in KEPT} for row in rows_of([models[best]], SEEDS)]
    return runs, choices


def _score(rows: Sequence[dict[str, str]]) -> tuple[int, float]:
    """Return how many runs are solved; of equals, those that are so sooner are better."""
    steps = [float(row["extrapolation.step.solved"]) for row in rows if row["solved"] == "1"]
    return len(steps), -median(steps) if steps else -math.inf


def tuning(*operations: str) -> None:
    """Equal tuning: every unit gets as many random settings, chosen on other seeds.

    It trains what docs/board lacks: for each unit and operation the settings, on seeds that nobody
    is judged on; then the best of them on the seeds of the benchmark.
    """
    for operation in operations or OPERATIONS:
        if operation not in OPERATIONS:
            raise OptionError("OPERATION", f"{operation!r} is unknown", ", ".join(OPERATIONS))
        for entry in kept_entries(operation):
            runs, every = map(rows_in, (TUNED_RUNS, SETTINGS))
            if any((row["unit"], row["operation"]) == (entry.label, operation) for row in every):
                continue
            say(f"{operation}: {entry.label}")
            new, choices = tuned(entry, operation)
            TUNED_RUNS.parent.mkdir(exist_ok=True)
            write_rows(TUNED_RUNS, [*runs, *new])
            write_rows(SETTINGS, [*every, *choices])
            for one in choices:
                say("  {chosen} {solved} of {of}: {setting}".format_map(one))


_seeded = RunState._seeded


def _nudged(run: RunState) -> Any:
    """Return the model of runs; the first start weight of each is the next larger number."""
    model, random_states = _seeded(run)
    first = next(model.parameters())
    with torch.no_grad():
        first = first.view(run.runs, -1)[:, 0]
        first.copy_(torch.nextafter(first, torch.full_like(first, torch.inf)))
    return model, random_states


def nudged(key: str, count: str, out: str) -> int:
    """Whether runs of KEY fail for the same reason when one start weight changes in its last bit.

    The runs of the first COUNT seeds are trained so, below OUT.
    """
    experiment, space, seeds = find(key), Folders(Path(out)), range(integer(1).one(count))
    space.use()
    RunState._seeded = _nudged
    code = train_shards(shards({model.key: model for model in experiment.models}, seeds))
    if code:
        return code
    rows, planned = retrained(experiment, seeds, space)
    again = by_run(key, formula_rows(experiment, planned, rows))
    path = DATA / NUDGED
    rows = [row for row in rows_in(path) if row["key"] != key]
    for run, row in by_run(key, cells_of(formulas_of(key, DATA))).items():
        if run in again and row["failure"]:
            row_of = {"key": key, "model": run[0], "run": name_of(run), "failure": row["failure"]}
            rows.append(row_of | {"nudged": again[run]["failure"] or "solved"})
    write_rows(path, rows)
    return 0


GRID, LENGTHS, ROWS, LONGEST = 25, 24, 500, 100_000
"""Points of each axis, lengths of training on the path, rows that errors are of; longer runs are
no examples."""


def landscape() -> None:
    """Where failed runs ended: the error over a plane of weights, with the path of a run of each.

    The runs are trained up to more and more iterations. The plane holds where a run began, where it
    ended, and, if there is one, where another seed of the same point ended that has solved it.
    """
    rows: list[dict[str, Any]] = []
    for example in _examples():
        with TemporaryDirectory() as folder:
            rows += _landscape(*example, Path(folder))
    write_rows(DATA / LANDSCAPES, rows)


def _examples() -> Iterator[tuple[str, str, Any, Any]]:
    """Yield each class with the key of a run, the run, and one of its point that has solved.

    The first run of a class that has such a neighbour comes before the first that has none, and
    experiments with many units before those with few.
    """
    found: dict[str, tuple[str, Any, Any]] = {}
    for key, experiment in sorted(EXPERIMENTS.items(), key=lambda item: -len(item[1].models)):
        if not formulas_of(key, DATA).exists():
            continue
        kept, read = stored.read(key), by_run(key, cells_of(formulas_of(key, DATA)))
        planned, solvers = runs_of_rows(experiment, kept), {}
        for run, solved in zip(planned, kept.get("solved", [0] * len(kept)), strict=True):
            if run and solved:
                solvers.setdefault(_point(run), run)
        for run, row in zip(planned, kept.to_dict("records"), strict=True):
            failure = read.get(identity_of(experiment, row), {}).get("failure")
            if run and failure in FAILURES and run.config.max_iterations <= LONGEST:
                neighbour = solvers.get(_point(run))
                if failure not in found or (neighbour and not found[failure][2]):
                    found[failure] = key, run, neighbour
    for failure in FAILURES:
        if failure in found and failure != NAN:  # which is nowhere on a plane
            yield failure, *found[failure]


def _point(run: Any) -> tuple[Any, ...]:
    return run.model.key, run.variant.name, run.point


def _trained(run: Any, length: int, folder: Path) -> TrainedModel:
    config = run.config
    flags: Any = {name: v for name, v in config.as_dict().items() if config.is_typed(name)}
    flags |= {"max_iterations": length, "out": folder / str(length)}
    (found,) = sn.train(config.script, **flags)
    return sn.load(found)


def _landscape(
    failure: str, key: str, run: Any, solved: Any, folder: Path
) -> Iterator[dict[str, Any]]:
    last = run.config.max_iterations
    lengths = sorted({1, *np.geomspace(10, last, LENGTHS).round().astype(int).tolist()})
    models = [_trained(run, length, folder) for length in lengths]
    end = models[-1]
    path = np.array([_weights(model) for model in models])
    goal = _weights(_trained(solved, last, folder / "solved")) if solved else None
    axes = _plane(path, goal)
    identity = options_of(EXPERIMENTS[key], run) | {"seed": run.seed}
    text = name_of(identity_of(EXPERIMENTS[key], identity))
    of = {"failure": failure, "key": key, "model": run.model.key, "run": text}
    places = (path - path[-1]) @ axes.T
    rows = [*zip(itertools.repeat("path"), lengths, places, path)]
    if goal is not None:
        places = np.vstack([places, (goal - path[-1]) @ axes.T])
        rows.append(("solved", last, places[-1], goal))
    low, high = places.min(0), places.max(0)
    margin = np.maximum(0.3 * (high - low), 0.15 * (high - low).max())
    u, v = np.linspace(low - margin, high + margin, GRID).T
    grid = np.stack(np.meshgrid(u, v), -1).reshape(-1, 2)
    rows += [("plane", last, place, path[-1] + place @ axes) for place in grid]
    for part, step, place, weights in rows:
        error = f"{_error(end, weights):.3g}"
        u, v = (f"{value:.4g}" for value in place)
        yield of | {"part": part, "step": step, "u": u, "v": v, "error": error}


def _weights(model: TrainedModel) -> np.ndarray:
    return parameters_to_vector(_trainable(model)).detach().double().numpy()


def _trainable(model: TrainedModel) -> list[torch.Tensor]:
    return [p for p in model.module.parameters() if p.requires_grad]


def _plane(path: np.ndarray, goal: np.ndarray | None) -> np.ndarray:
    """Return two directions: back to the start, and towards the goal, else where the path bends."""
    first = _unit(path[0] - path[-1])
    second = path - path[-1] if goal is None else (goal - path[-1])[None]
    second = second - np.outer(second @ first, first)
    return np.stack([first, _unit(second[np.argmax((second**2).sum(1))])])


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / (np.linalg.norm(vector) or 1.0)


def _error(model: TrainedModel, weights: np.ndarray) -> float:
    """Return the error of a model with other weights, which it keeps."""
    parts = _trainable(model)
    vector_to_parameters(torch.as_tensor(weights, dtype=parts[0].dtype), parts)
    assert model.target is not None
    with model.precision():
        gap = model(model.target.x[:ROWS]) - model.target.t[:ROWS]
        return float((gap.double() ** 2).mean())


def power(folder: str) -> None:
    """Success rates of many more seeds than were published.

    FOLDER has what `reproduce.py KEY --seeds 0-111 --keep --data FOLDER` kept. Its counts replace
    those of the same models; the runs are not stored, the same command trains them again.
    """
    data, counts = Path(folder), headline.counts_of(stored.DATA)
    every = {(one.key, one.model, one.operation): one for one in counts}
    keys = stored.kept_keys(data, measured=False)
    if not keys:
        raise UsageError(f"FOLDER: no kept runs in {data}; reproduce.py --keep --data writes them")
    for key in keys:
        parameter = EXPERIMENTS[key].parameter
        sessions = stored.sessions_of(key, data)
        made_with = asdict(sessions[-1]) if sessions else origin()
        versions = made_with["versions"], made_with["git_revision"]
        for (model, operation), runs in groups(stored.read(key, data), ["model", "operation"]):
            by = parameter if parameter in runs else "model"
            at = " ".join(str(solved_of(group)) for _, group in groups(runs, [by]))
            place, seeds = (key, f"{model}", f"{operation}"), seeds_text(set(runs["seed"]))
            numbers = seeds, len(runs), solved_of(runs), at
            every.pop(place, None)  # The new ones stand last.
            every[place] = headline.Count(*place, *numbers, *versions)
    write_rows(stored.DATA / headline.MORE_SEEDS, [asdict(one) for one in every.values()])


MOST_STEPS = 20


def paths() -> None:
    """The paths of kept runs in the playground: runs trained again, with their weights logged.

    Those that are there already stay.
    """
    for name, model, point, rows in kept():
        known = json.loads(PATHS.read_text(encoding="utf-8"))
        if name not in known:
            known[name] = _path(rows, model, point)
            texts = (f" {json.dumps({n: p}, ensure_ascii=False)[1:-1]}" for n, p in known.items())
            with atomic_text_file(PATHS) as file:
                file.write("{\n" + ",\n".join(texts) + "\n}\n")


def _path(rows: list[dict[str, str]], model: Any, point: Any) -> dict[str, Any]:
    """Return the weights of a model's runs in one range, as bytes, and which solved their task."""
    often = {"--log-interval": ("100",)} if model.prefix == "dmu/learned" else {}
    flags = merged(model.flags, {"--verbose": ()}, often)
    with TemporaryDirectory() as folder:
        space = Folders(Path(folder))
        space.use()
        if train_shards(shards({model.key: replace(model, flags=flags, points=(point,))}, None)):
            raise UsageError(f"{model.key} could not be trained")
        how: Any = {"published_names": True, "with_config": True, "progress_bar": False}
        runs = list(open_reader(space.tensorboard / model.prefix, WeightsParser(), **how).tables())
    runs.sort(key=lambda run: run.options["seed"])
    steps = list(runs[0].columns["step"])
    geometric = {round(k) for k in np.geomspace(1, len(steps), MOST_STEPS)}
    chosen = [0, *sorted(geometric)[:-1], len(steps) - 1]
    values = np.array([_two_weights(run)[chosen] for run in runs])
    scale = 100 if np.abs(values).max() < 1.27 else 40
    coded = np.clip(np.rint(values * scale) + 128, 0, 255).astype(np.uint8)
    return {
        "steps": [steps[k] for k in chosen],
        "scale": scale,
        "solved": "".join(row["solved"] for row in sorted(rows, key=lambda row: int(row["seed"]))),
        "path": base64.b64encode(coded.tobytes()).decode(),
    }


def _two_weights(run: RunTable) -> np.ndarray:
    """Return the two weights of each step, or the shares of a gate where it is all that learns.

    Weights of reciprocals count as negative.
    """
    columns = pd.DataFrame(run.columns)
    if "operands=" in run.name and "learned" not in run.name:
        gate = columns["param.gate.0"].to_numpy()
        return np.stack([gate, 1 - gate], -1)
    found = columns.filter(regex=r"^param\.W(_real)?\.").to_numpy()
    return found[:, :2] - found[:, 2:] if found.shape[1] > 2 else found


STUDIES: dict[str, Callable[..., int | None]] = {
    study.__name__: study for study in (landscape, nudged, paths, power, tuning)
}


def main(argv: Sequence[str] | None = None) -> int:
    about = (f"{n}{inspect.signature(s)}: {inspect.getdoc(s)}" for n, s in STUDIES.items())
    parser = ScriptParser(prog="tools.studies", description=__doc__, epilog="\n\n".join(about))
    parser.add_argument("study", metavar="STUDY", choices=STUDIES, help=", ".join(STUDIES))
    parser.add_argument("words", metavar="WORD", nargs="*", help="what the study needs")
    arguments = parser.parse_args(argv)
    study = STUDIES[arguments.study]
    try:
        inspect.signature(study).bind(*arguments.words)
    except TypeError as error:
        parser.refuse(OptionError("WORD", f"{error}", "see --help"))
    return exit_code(parser.prog, lambda: study(*arguments.words))


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
