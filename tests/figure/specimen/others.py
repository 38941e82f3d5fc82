"""Made-up exports of the kinds that show something else than solved runs."""

from __future__ import annotations

import zlib
from itertools import product

import numpy as np
import pandas as pd

from stable_nalu.figure.entry import Entry, Part

Frames = dict[str, pd.DataFrame]
_STATES = ("train", "valid", "test")
_QUANTITIES = ("output", "label1", "label2")


def _random(*words: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32("/".join(map(str, words)).encode()))


def digits(entry: Entry, part: Part, seeds: int, rows: int) -> Frames:
    """Pairs of digits: losses and accuracies that approach a level of the model."""
    del part
    operation = "div" if "div" in entry.key else "mul"
    frames = {}
    for one in entry.series:
        blocks = []
        level = _random(one.files[0]).uniform(70, 99)
        for fold in range(min(seeds, 5)):
            draw = _random(one.files[0], fold)
            name = f"7_f{fold}_op-{operation}_nalmT_learnLT_s{fold}"
            epochs = np.arange(rows) * 5
            grown = level * (1 - np.exp(-epochs / (2 + epochs[-1] / 5)))
            block = {"name": name, "step": epochs * 10, "epoch": epochs}
            for state, quantity in product(_STATES, _QUANTITIES):
                top = f"metric.{state}.{quantity}"
                noise = draw.normal(0, 1, rows)
                accuracy = np.clip(grown + noise - (3 if state == "test" else 0), 0, 100)
                block[f"{top}.loss"] = np.exp(-epochs / 40) * draw.uniform(0.8, 1.2, rows)
                block[f"{top}.acc"] = accuracy
                block[f"{top}_rounded.acc"] = np.clip(accuracy + 1, 0, 100)
                for places in (4, 5) if quantity == "output" else ():
                    block[f"{top}_rounded_{places}dp.acc"] = np.clip(accuracy - places, 0, 100)
            turn = np.linspace(0, 1, rows)
            block["label2out.w0"] = 0.4 + 0.6 * turn + draw.normal(0, 0.02, rows)
            block["label2out.w1"] = 1.2 - 0.2 * turn + draw.normal(0, 0.02, rows)
            blocks.append(pd.DataFrame(block))
        frames[one.files[0]] = pd.concat(blocks, ignore_index=True)
    return frames


def surfaces(entry: Entry, part: Part, seeds: int, rows: int) -> Frames:
    """A grid of predictions: exact for the first series, off for the others."""
    del part, seeds
    axis = np.round(np.arange(-6, 6.01, 0.5 if rows < 10 else 0.1), 1)
    x1, x2 = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    exact = x1 * x2
    frames = {}
    for index, one in enumerate(entry.series):
        prediction = exact if index < 2 else exact * 0.3 + np.maximum(0, x1 + x2 - index)
        frames[one.files[0]] = pd.DataFrame({"x1": x1, "x2": x2, "pred": prediction})
    return frames


def classes(entry: Entry, part: Part, seeds: int, rows: int) -> Frames:
    """Accuracy of ten digits."""
    del part, seeds, rows
    return {
        one.files[0]: pd.DataFrame(
            {
                "model": one.label,
                "digit": range(10),
                "accuracy": 1 - _random(one.files[0]).exponential(0.012, 10),
            }
        )
        for one in entry.series
    }


def confusion(entry: Entry, part: Part, seeds: int, rows: int) -> Frames:
    """Ten by ten counts, most on the diagonal."""
    del part, seeds, rows
    draw = _random(entry.key)
    table = draw.poisson(3, (10, 10)) + np.diag(draw.poisson(950, 10))
    long = [(true, said, table[true, said]) for true in range(10) for said in range(10)]
    frame = pd.DataFrame(long, columns=["true", "predicted", "count"])
    return {entry.series[0].files[0]: frame}


def gold_errors(entry: Entry, part: Part, seeds: int, rows: int) -> Frames:
    """Errors that grow as the divisor goes to 0."""
    del seeds, rows
    records = []
    for shift, module in enumerate(getattr(part, "order", ())):
        for task, _ in getattr(part, "panels", ()):
            for power in range(-8, 1):
                error = 10.0 ** (-9 - 1.5 * power - 2 * shift)
                records.append((module, task, error, f"U[0,1e{power:+d})"))
    columns = ["module", "parameter", "test.mse", "range"]
    return {entry.series[0].files[0]: pd.DataFrame(records, columns=columns)}
