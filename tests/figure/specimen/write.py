"""Writing the made-up exports of an entry."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.figure.entry import Entry, Part
from stable_nalu.figure.kinds import (
    Bars,
    EpochCurves,
    GoldErrors,
    Histogram,
    Matrix,
    Panels,
    Scatter,
    Successes,
    Surface,
    Table,
    Violin,
)
from stable_nalu.figure.kinds import Path as PathPart
from stable_nalu.paper.drawing import Runs, Series
from stable_nalu.statistics.judge import SPARSITY, TEST, VALIDATION

from . import others
from .run_names import run_fields, run_name, sequence_name


@dataclass(frozen=True)
class Extent:
    """How much is made up.

    seeds: runs of every point. rows: logged steps of a run.
    """

    seeds: int
    rows: int


SMALL = Extent(seeds=4, rows=5)
USUAL = Extent(seeds=10, rows=11)

Frames = dict[str, pd.DataFrame]


def random(*words: object) -> np.random.Generator:
    """A generator that depends on the words alone."""
    return np.random.default_rng(zlib.crc32("/".join(map(str, words)).encode()))


def write_specimen(entry: Entry, folder: Path, extent: Extent = USUAL) -> list[Path]:
    """Write every file that the entry reads, below `folder`; files that are there stay."""
    frames: Frames = {}
    for part in entry.parts:
        for name, frame in _frames(part, entry, extent).items():
            if name in frames:
                both = pd.concat([frames[name], frame], ignore_index=True)
                keys = [column for column in ("name", "step") if column in both]
                frame = both.drop_duplicates(keys or None)
            frames[name] = frame
    written = []
    for name, frame in frames.items():
        path = folder / f"{name}.csv"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            frame.to_csv(path, index=False)
            written.append(path)
    return written


def _frames(part: Part, entry: Entry, extent: Extent) -> Frames:
    if isinstance(part, Successes):
        frames: Frames = {}
        for _, file, runs in part.panels:
            frames[file] = metric_rows(entry, runs, Series((file,)), extent)
        return frames
    if isinstance(part, Panels) and part.runs.reference is not None:
        return _sequences(part.runs, entry, extent)
    if isinstance(part, (Panels, Table, Histogram)):
        gate = part.column if isinstance(part, Histogram) else None
        return {
            one.files[0]: metric_rows(entry, part.runs, one, extent, gate) for one in entry.series
        }
    make = _OTHERS.get(type(part))
    return make(entry, part, extent.seeds, extent.rows) if make else {}


_OTHERS: dict[type[Part], Callable[[Entry, Part, int, int], Frames]] = {
    Scatter: others.digits,
    EpochCurves: others.digits,
    Violin: others.digits,
    PathPart: others.digits,
    Surface: others.surfaces,
    Bars: others.classes,
    Matrix: others.confusion,
    GoldErrors: others.gold_errors,
}


def metric_rows(
    entry: Entry, runs: Runs, one: Series, extent: Extent, gate: str | None = None
) -> pd.DataFrame:
    """Rows of one file of an arithmetic task."""
    blocks = []
    for fields in run_fields(entry, runs, one):
        if "simple" in entry.key:
            fields |= {"simple": True, "input.size": 4}
        draw = random(one.files[0], fields["label"], fields.get(runs.x), fields["operation"])
        rate, pace = draw.beta(1.2, 0.8), draw.uniform(0.1, 0.6)
        for seed in range(extent.seeds):
            name = run_name(fields, seed)
            block = _one_run(random(name, one.files[0]), rate, pace, extent.rows)
            block.insert(0, "name", name)
            if gate is not None:
                block[gate] = random(name, "gate").beta(0.4, 0.4)
            blocks.append(block)
    return pd.concat(blocks, ignore_index=True)


def _one_run(draw: np.random.Generator, rate: float, pace: float, rows: int) -> pd.DataFrame:
    """Errors that fall to nothing from some step on, if the run is to be solved."""
    steps = np.linspace(0, 50_000, rows).round()
    solved = draw.random() < rate
    at = np.clip(pace + 0.1 * draw.standard_normal(), 0.05, 0.95) * steps[-1]
    decay = np.where((steps >= at) & solved, 1e-15, 10.0 * np.exp(-steps / 3e4))
    errors = decay * draw.uniform(0.5, 1.5, rows)
    level = 10 ** draw.uniform(-7, -1.5) if solved else draw.uniform(0.05, 0.45)
    return pd.DataFrame(
        {
            VALIDATION: errors,
            "step": steps.astype(int),
            "wall.time": 1.6e9 + steps,
            TEST: errors * (1 if solved else 50),
            SPARSITY: np.linspace(0.5, level, rows),
        }
    )


def _sequences(runs: Runs, entry: Entry, extent: Extent) -> Frames:
    """A reference, and files of models that get worse with length."""
    assert runs.reference is not None
    operation = "cumprod" if "prod" in entry.key else "cumsum"
    length = 2 if operation == "cumprod" else 10
    reference = []
    for seed in runs.reference.seeds:
        name = sequence_name("reregualizedlinearnac", operation, 0, length, seed)
        reference.append(_sequence_run(name, runs, extent.rows, 1.0, 40))
    frames = {runs.reference.files[0]: pd.concat(reference, ignore_index=True)}
    labels = {"NAC": "nac", "LSTM": "lstm", "NALU": "nalu", "NAU": "reregualizedlinearnac"}
    several = {
        "cumprod": ("nac-nac-n", "posnac-nac-n", "reregualizedlinearposnac-nac-n", "nalu"),
        "cumsum": tuple(labels.values()),
    }
    for one in entry.series:
        codes = ("reregualizedlinearnac-nac-m",)
        if one.label is None:
            codes = (*several[operation], *(("lstm",) + codes if operation == "cumprod" else ()))
        blocks = []
        for code in codes:
            values = _swept(entry.key, length)
            penalties = (1,) if len(values) > 1 else (0, 1)
            for z, swept in product(penalties if code != "lstm" else (0,), values):
                for seed in range(extent.seeds):
                    name = sequence_name(code, operation, z, seed=seed, **swept)
                    reach = random(one.files[0], code, z).uniform(2, 25)
                    blocks.append(_sequence_run(name, runs, extent.rows, 0.5, reach))
        frames[one.files[0]] = pd.concat(blocks, ignore_index=True)
    return frames


def _swept(key: str, length: int) -> list[dict[str, int]]:
    """Training lengths and numbers of outputs that a figure compares."""
    if key.endswith("_interpolation"):
        return [{"length": trained} for trained in (2, 3, 4, 5)]
    outputs = range(1, 7) if key.endswith("_output") else (2,)
    return [{"length": length, "outputs": count} for count in outputs]


def _sequence_run(name: str, runs: Runs, rows: int, level: float, reach: float) -> pd.DataFrame:
    draw = random(name, reach)
    steps = np.arange(rows) * 500
    fall = np.linspace(3, 1, rows)
    table = {
        "name": name,
        "metric.train.mse": fall,
        "step": steps,
        "wall.time": 1.6e9 + steps,
        "epoch": np.arange(rows) * 5,
        "metric.valid.mse": fall,
    }
    own = reach * draw.uniform(0.6, 1.4)
    lengths = runs.expected if runs.length is None else range(1, runs.length + 1)
    longest = max(float(str(length)) for length in lengths)
    for length in lengths:
        beyond = float(str(length)) / longest * 20 / own
        error = level * (1 + 0.1 * draw.standard_normal()) * max(1.0, beyond**6)
        table[f"metric.test.extrapolation.{length}.mse"] = fall * error
    table[SPARSITY] = np.linspace(0.5, 10 ** draw.uniform(-6, -2), rows)
    return pd.DataFrame(table)
