"""Made-up exports for every figure: what tests draw when there are no results.

They have the columns and run names of real ones and are the same on every machine. No number in
them was measured.
"""

import zlib
from itertools import product

import numpy as np
import pandas as pd

from stable_nalu.paper.division import GOLD_MODULES, GOLD_TASKS
from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import EXPERIMENTS, known
from stable_nalu.statistics.table import SPARSITY, TEST, VALIDATION

SEEDS, ROWS = 4, 5
"""Runs of every point, and logged steps of a run."""


def random(*words):
    """A generator that depends on the words alone."""
    return np.random.default_rng(zlib.crc32("/".join(map(str, words)).encode()))


def write_specimen(entry, folder):
    """Write every file that the figure reads, below `folder`; files that are there stay."""
    first = entry.parts[0]
    if first.kind.__name__ not in OTHERS:
        frames = _of_models(entry)
    elif first.kind.__name__ == "gold_errors":
        frames = {entry.series[0].files[0]: _gold_errors()}
    else:
        make = OTHERS[first.kind.__name__]
        frames = {one.files[0]: make(one, place) for place, one in enumerate(entry.series)}
    for name, frame in frames.items():
        path = folder / f"{name}.csv"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            frame.to_csv(path, index=False)


def _of_models(entry):
    """Exported file -> rows of the runs of its models, and of the reference of sequences."""
    models = [*known(entry.key).models]
    for part in entry.parts:
        if reference := getattr(part.options.get("runs"), "reference", None):
            every = (model for one in EXPERIMENTS.values() for model in one.models)
            models += [next(model for model in every if model.csv == reference.file)]
    gate = [part.options["column"] for part in entry.parts if part.kind.__name__ == "histogram"]
    blocks = {}
    for model in models:
        make = _OF_SCRIPTS.get(model.script, _module_run)
        for run in expected_runs(model, model.seeds[: 10 if model.key == "reference" else SEEDS]):
            rows = make(run).assign(name=run.leaf)
            rows = rows.assign(**{column: random(run.name).beta(0.4, 0.4) for column in gate})
            blocks.setdefault(model.csv, {})[run.leaf] = rows
    return {csv: pd.concat(own.values(), ignore_index=True) for csv, own in blocks.items()}


def _module_run(run):
    """Errors that fall to nothing from some step on, if the run is to be solved."""
    point, draw = random(run.model.csv, run.variant.name, run.point), random(run.name)
    steps = np.linspace(0, 50_000, ROWS).round()
    rate, pace = point.beta(1.2, 0.8), point.uniform(0.1, 0.6)
    solved = draw.random() < rate
    at = np.clip(pace + 0.1 * draw.standard_normal(), 0.05, 0.95) * steps[-1]
    decay = np.where((steps >= at) & solved, 1e-15, 10.0 * np.exp(-steps / 3e4))
    errors = decay * draw.uniform(0.5, 1.5, ROWS)
    level = 10 ** draw.uniform(-7, -1.5) if solved else draw.uniform(0.05, 0.45)
    columns = {VALIDATION: errors, "step": steps.astype(int), "wall.time": 1.6e9 + steps}
    columns |= {TEST: errors * (1 if solved else 50), SPARSITY: np.linspace(0.5, level, ROWS)}
    return pd.DataFrame(columns)


def _sequence_run(run):
    """Errors that fall over the epochs, and grow with length beyond a reach of the model."""
    reference, draw, fall = run.model.key == "reference", random(run.name), np.linspace(3, 1, ROWS)
    reach = 40 if reference else random(run.model.csv, run.model.key).uniform(2, 25)
    table = {"step": np.arange(ROWS) * 500, "epoch": np.arange(ROWS) * 5}
    table["metric.valid.mse"] = fall
    own = reach * draw.uniform(0.6, 1.4)
    lengths = run.config.extrapolation_lengths
    for length in lengths:
        beyond = length / max(lengths) * 20 / own
        noise = 1 + 0.1 * draw.standard_normal()
        error = (1.0 if reference else 0.5) * noise * max(1.0, beyond**6)
        table[f"metric.test.extrapolation.{length}.mse"] = fall * error
    table[SPARSITY] = np.linspace(0.5, 10 ** draw.uniform(-6, -2), ROWS)
    return pd.DataFrame(table)


def _pair_run(run):
    """Losses and accuracies that approach a level of the model."""
    level, draw = random(run.model.csv).uniform(70, 99), random(run.name)
    epochs = np.arange(ROWS) * 5
    grown = level * (1 - np.exp(-epochs / (2 + epochs[-1] / 5)))
    table = {"epoch": epochs, "step": epochs * 10}
    for state, quantity in product(("train", "valid", "test"), ("output", "label1", "label2")):
        top, noise = f"metric.{state}.{quantity}", draw.normal(0, 1, ROWS)
        accuracy = np.clip(grown + noise - (3 if state == "test" else 0), 0, 100)
        table[f"{top}.loss"] = np.exp(-epochs / 40) * draw.uniform(0.8, 1.2, ROWS)
        table[f"{top}.acc"] = accuracy
        table[f"{top}_rounded.acc"] = np.clip(accuracy + 1, 0, 100)
        for places in (4, 5) if quantity == "output" else ():
            table[f"{top}_rounded_{places}dp.acc"] = np.clip(accuracy - places, 0, 100)
    return pd.DataFrame(table)


_OF_SCRIPTS = {
    "sequential_mnist": _sequence_run,
    "two_digit_mnist": _pair_run,
    "ST_mnist_labels": _pair_run,
}


def _path(one, place):
    """Two weights of the last layer, of four folds."""
    blocks = []
    for fold in range(SEEDS):
        draw, turn = random(one.files[0], fold), np.linspace(0, 1, ROWS)
        block = {"name": f"7_f{fold}_op-mul_nalmT_learnLT_s{fold}", "epoch": np.arange(ROWS) * 5}
        block["label2out.w0"] = 0.4 + 0.6 * turn + draw.normal(0, 0.02, ROWS)
        block["label2out.w1"] = 1.2 - 0.2 * turn + draw.normal(0, 0.02, ROWS)
        blocks.append(pd.DataFrame(block))
    return pd.concat(blocks, ignore_index=True)


def _surface(one, place):
    """A grid of predictions: exact for the first two series, off for the others."""
    axis = np.arange(-6, 6.01, 0.5)
    x1, x2 = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    off = x1 * x2 * 0.3 + np.maximum(0, x1 + x2 - place)
    return pd.DataFrame({"x1": x1, "x2": x2, "pred": x1 * x2 if place < 2 else off})


def _classes(one, place):
    """Accuracy of ten digits."""
    shares = 1 - random(one.files[0]).exponential(0.012, 10)
    return pd.DataFrame({"model": one.label, "digit": range(10), "accuracy": shares})


def _confusion(one, place):
    """Ten by ten counts, most on the diagonal."""
    draw = random(one.files[0])
    table = draw.poisson(3, (10, 10)) + np.diag(draw.poisson(950, 10))
    rows = [(true, said, table[true, said]) for true in range(10) for said in range(10)]
    return pd.DataFrame(rows, columns=["true", "predicted", "count"])


def _gold_errors():
    """Errors that grow as the divisor goes to 0."""
    rows = [
        (module, task, 10.0 ** (-9 - 1.5 * power - 2 * place), f"U[0,1e{power:+d})")
        for place, module in enumerate(GOLD_MODULES)
        for (task, _), power in product(GOLD_TASKS.items(), range(-8, 1))
    ]
    return pd.DataFrame(rows, columns=["module", "parameter", "test.mse", "range"])


OTHERS = {
    "path": _path,
    "surface": _surface,
    "class_bars": _classes,
    "matrix": _confusion,
    "gold_errors": _gold_errors,
}
