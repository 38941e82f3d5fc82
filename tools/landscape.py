"""Where failed runs ended: the error over a plane of weights, with the path of a run of each class.

`python -m tools.landscape` trains the runs again, up to more and more iterations, and keeps what
the picture shows. The plane holds where a run began, where it ended, and, if there is one, where
another seed of the same point ended that has solved the task.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch

import stable_nalu as sn
from stable_nalu.base.script import ScriptParser, begin, exit_code
from stable_nalu.figure.style import drawing, new_figure
from stable_nalu.inspection.saved_model import FAILURES, NAN, TrainedModel
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.document import as_svg
from stable_nalu.result.judged import identifying, identity_of, options_of, runs_of
from stable_nalu.result.stored import DATA, formulas_of, path_of
from stable_nalu.statistics.table import write_rows

from .atlas import by_run, unit_of

FILE = "failure_landscapes.csv"
PICTURE = "pictures/failures.svg"
GRID, LENGTHS, ROWS, LONGEST = 25, 24, 500, 100_000
"""Points of each axis, lengths of training on the path, rows that errors are of; longer runs are
no examples."""


def main(argv: Sequence[str] | None = None) -> int:
    """Train and keep."""
    parser = ScriptParser(prog="tools.landscape", description=__doc__)
    parser.parse_args(argv)
    return exit_code(parser.prog, _train_and_keep)


def _train_and_keep() -> None:
    rows: list[dict[str, Any]] = []
    for failure, key, run, solved in _examples(DATA):
        with TemporaryDirectory() as folder:
            rows += _landscape(failure, key, run, solved, Path(folder))
    write_rows(DATA / FILE, rows)


def _examples(data: Path) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield each class with the key of a run, the run, and one of its point that has solved.

    The first run of a class that has such a neighbour comes before the first that has none, and
    experiments with many units before those with few.
    """
    found: dict[str, tuple[str, Any, Any]] = {}
    for key, experiment in sorted(EXPERIMENTS.items(), key=lambda item: -len(item[1].models)):
        if not formulas_of(key, data).exists():
            continue
        kept, read = by_run(key, path_of(key, data)), by_run(key, formulas_of(key, data))
        own: dict[tuple[str, ...], Any] = {}
        for run in (run for model in experiment.models for run in runs_of(model, None, None)):
            options = options_of(experiment, run) | {"model": run.model.key, "seed": run.seed}
            own[identity_of(experiment, options)] = run
        solvers: dict[Any, Any] = {}
        for one, run in own.items():
            if kept.get(one, {}).get("solved") == "1":
                solvers.setdefault(_point(run), run)
        for one, run in own.items():
            failure = read[one]["failure"] if one in read else ""
            neighbour = solvers.get(_point(run))
            is_first = failure not in found or (neighbour and not found[failure][2])
            if failure in FAILURES and is_first and run.config.max_iterations <= LONGEST:
                found[failure] = key, run, neighbour
    for failure in FAILURES:
        if failure in found and failure != NAN:  # which is nowhere on a plane
            yield failure, *found[failure]


def _point(run: Any) -> tuple[Any, ...]:
    return run.model.key, run.variant.name, run.point


def _trained(run: Any, length: int, folder: Path) -> TrainedModel:
    """Return the network of a run after a number of iterations."""
    config = run.config
    typed = {name: v for name, v in config.as_dict().items() if config.is_typed(name)}
    flags: dict[str, Any] = typed | {"max_iterations": length}
    out = folder / str(length)
    (found,) = sn.train(config.script, **flags, out=out)
    return sn.load(found)


def _landscape(
    failure: str, key: str, run: Any, solved: Any, folder: Path
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one class."""
    last = run.config.max_iterations
    lengths = sorted({1, *np.geomspace(10, last, LENGTHS).round().astype(int).tolist()})
    models = [_trained(run, length, folder) for length in lengths]
    end = models[-1]
    path = np.array([_weights(model) for model in models])
    goal = _weights(_trained(solved, last, folder / "solved")) if solved else None
    axes = _plane(path, goal)
    names = identifying(key)
    at = identity_of(EXPERIMENTS[key], options_of(EXPERIMENTS[key], run) | {"seed": run.seed})
    text = " ".join(c for name, c in zip(names, at, strict=True) if name != "model" and c)
    of = {"failure": failure, "key": key, "model": run.model.key, "run": text}

    def row(part: str, step: int, place: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
        error = _error(end, weights)
        u, v = (f"{value:.4g}" for value in place)
        return of | {"part": part, "step": step, "u": u, "v": v, "error": f"{error:.3g}"}

    places = (path - path[-1]) @ axes.T
    for step, place, weights in zip(lengths, places, path, strict=True):
        yield row("path", step, place, weights)
    if goal is not None:
        places = np.vstack([places, (goal - path[-1]) @ axes.T])
        yield row("solved", last, places[-1], goal)
    low, high = places.min(0), places.max(0)
    margin = np.maximum(0.3 * (high - low), 0.15 * (high - low).max())
    u, v = np.linspace(low - margin, high + margin, GRID).T
    for place in np.stack(np.meshgrid(u, v), -1).reshape(-1, 2):
        yield row("plane", last, place, path[-1] + place @ axes)


def _weights(model: TrainedModel) -> np.ndarray:
    return np.concatenate([p.double().numpy().reshape(-1) for p in _trainable(model)])


def _trainable(model: TrainedModel) -> list[torch.Tensor]:
    return [p.detach() for p in model.module.parameters() if p.requires_grad]


def _plane(path: np.ndarray, goal: np.ndarray | None) -> np.ndarray:
    """Return two directions: back to the start, and towards the goal, else where the path bends."""
    first = _unit(path[0] - path[-1])
    second = path - path[-1] if goal is None else (goal - path[-1])[None]
    second = second - np.outer(second @ first, first)
    return np.stack([first, _unit(second[np.argmax((second**2).sum(1))])])


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / (np.linalg.norm(vector) or 1.0)


def _error(model: TrainedModel, weights: np.ndarray) -> float:
    """Return the error in the training range with other weights."""
    parts = _trainable(model)
    kept = [part.clone() for part in parts]
    pieces = np.split(weights, np.cumsum([part.numel() for part in parts])[:-1])
    for part, piece in zip(parts, pieces, strict=True):
        part.copy_(torch.as_tensor(piece).reshape(part.shape))
    assert model.target is not None
    with model.precision():
        gap = model(model.target.x[:ROWS]) - model.target.t[:ROWS]
        error = float((gap.double() ** 2).mean())
    for part, before in zip(parts, kept, strict=True):
        part.copy_(before)
    return error


def pictures(data: Path) -> Mapping[str, str]:
    """Return the picture of all classes."""
    path = data / FILE
    if not path.exists():
        return {}
    table = pd.read_csv(path)
    shown = [why for why in FAILURES if why in set(table["failure"])]
    count = -(-len(shown) // 2)
    with drawing():
        figure = new_figure((22, 7.5 * count))
        axes = list(figure.subplots(count, 2, squeeze=False).flat)
        for axis in axes[len(shown) :]:
            axis.set_visible(False)
        for axis, why in zip(axes, shown, strict=False):
            _draw(figure, axis, table.loc[table["failure"] == why])
        return {PICTURE: as_svg(figure)}


def _draw(figure: Any, axis: Any, own: pd.DataFrame) -> None:
    """Draw one class: a plane of errors, a path on it, and a star where another seed ended."""
    parts = {part: own.loc[own["part"] == part] for part in ("plane", "path", "solved")}
    plane, path, first = parts["plane"], parts["path"], own.iloc[0]
    errors = plane.pivot(index="v", columns="u", values="error")
    levels = np.log10(errors.replace([np.inf, 0.0], np.nan).to_numpy())
    drawn = axis.contourf(errors.columns, errors.index, levels, levels=14, cmap="cividis")
    figure.colorbar(drawn, ax=axis, label="log10 of the error")
    axis.plot(path["u"], path["v"], color="white", linewidth=1.5, marker=".", markersize=4)
    axis.plot(*path[["u", "v"]].iloc[0], "s", color="white", markeredgecolor="black")
    axis.plot(*path[["u", "v"]].iloc[-1], "X", color="white", markeredgecolor="black", ms=9)
    if len(parts["solved"]):
        axis.plot(parts["solved"]["u"], parts["solved"]["v"], "*", c="w", mec="black", ms=13)
    unit = unit_of(str(first["key"]), str(first["model"]))
    at, _, seed = str(first["run"]).rpartition(" ")
    axis.set_title(f"{first['failure']}: {unit}, {at}, seed {seed}", loc="left", fontsize="small")
    towards = "towards a seed that solved" if len(parts["solved"]) else "where the path bends"
    axis.set(xlabel="back to the start", ylabel=towards)


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
