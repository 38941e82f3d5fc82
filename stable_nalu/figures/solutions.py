"""Exact weights of the robustness task, and how far trained ones are from them.

Ten inputs, two of them relevant; which two follows from the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.names import model_label

from .source import read_csv, with_names

INPUTS = 10
TINY = 1e-5
LAST_STEP = 100_000
PLAIN = ("NAU", "NMU", "sNMU")
RECIPROCAL = ("Sign NMRU", "Sign sNMRU")
POWER = ("Real NPU", "Real NPU (mod)")


def relevant(seed: int) -> tuple[int, int]:
    """Places of the two relevant inputs, counted from 0."""
    first = int(np.random.RandomState(seed).randint(0, INPUTS - 1))
    return first, first + 1


def distance(model: str, operation: str, seed: int, row: Mapping[str, object]) -> float:
    """Distance of the weights of one run to the exact ones of its model."""
    i, j = relevant(seed)
    if model in PLAIN:
        return _plain(operation, i, j, _weights(row, "W", INPUTS))
    if model in RECIPROCAL:
        return _reciprocal(operation, i, j, _weights(row, "W", 2 * INPUTS))
    if model in POWER:
        gate = _weights(row, "gate", INPUTS)
        return _power(operation, i, j, _weights(row, "W_real", INPUTS), gate)
    raise UsageError(f"no exact weights are known for model {model}")


def _weights(row: Mapping[str, object], name: str, number: int) -> np.ndarray:
    columns = [f"param.{name}.{place}" for place in range(number)]
    if columns[-1] not in row:
        raise UsageError(f"the export lacks column {columns[-1]}: export with --weights-only")
    return np.array([float(str(row[column])) for column in columns])


def _plain(operation: str, i: int, j: int, w: np.ndarray) -> float:
    gold = np.zeros(INPUTS)
    gold[i], gold[j] = 1, -1 if operation == "sub" else 1
    return float(np.mean(np.abs(w - gold)))


def _power(operation: str, i: int, j: int, w: np.ndarray, gate: np.ndarray) -> float:
    """An irrelevant input is off when its weight or its gate is."""
    total = abs(w[i] - 1) + abs(gate[i] - 1)
    total += abs(w[j] - (-1 if operation == "div" else 1)) + abs(gate[j] - 1)
    for k in set(range(INPUTS)) - {i, j}:
        if abs(w[k]) <= TINY:
            total += abs(w[k])
        elif gate[k] <= TINY:
            total += abs(gate[k])
        else:
            total += abs(w[k]) + abs(gate[k])
    return float(total / (2 * INPUTS))


def _reciprocal(operation: str, i: int, j: int, w: np.ndarray) -> float:
    """Weights of the inputs, then of their reciprocals; an input times its reciprocal cancels."""
    gold = np.zeros(2 * INPUTS)
    gold[i], gold[j + (INPUTS if operation == "div" else 0)] = 1, 1
    off = np.abs(w - gold)
    total = 0.0
    for k in range(INPUTS):
        cancels = w[k] >= 1 - TINY and w[k + INPUTS] >= 1 - TINY
        if not (cancels and k not in (i, j)):
            total += off[k] + off[k + INPUTS]
    return float(total / (2 * INPUTS))


def configuration(model: str, row: Mapping[str, object]) -> str:
    """What tells the configurations of a model apart."""
    ramp = f"{row['regualizer.scaling.start']:g}-{row['regualizer.scaling.end']:g}"
    beta = f"{row.get('regualizer.beta.start', 0):g}-{row.get('regualizer.beta.end', 0):g}"
    text = f"LR:{row['learning.rate']:g}"
    if model == "Real NPU":
        return f"{text} Beta-reg:{beta}"
    if model == "Real NPU (mod)":
        return f"{text} Reg:{row['regualizer.npu.W']:g}-{ramp} Beta reg:{beta}"
    text += f" Reg:{row['regualizer']:g}-{ramp}"
    return f"{text} Noise:{row.get('noise.range')}" if model in ("sNMU", "Sign sNMRU") else text


def expanded(path: Path) -> pd.DataFrame:
    """Rows of the step that runs are compared at, with the options that their names hold."""
    table = read_csv(path, ("name", "step"), "an export of weights")
    table = table.loc[table["step"] == LAST_STEP].reset_index(drop=True)
    if table.empty:
        return table
    rows = with_names(table, "single", path)
    rows["model"] = [_label(run) for run in rows.to_dict("records")]
    return rows


def _label(run: Mapping[str, object]) -> str:
    """Label of the study: `s` for training under noise, `(mod)` for penalties on the NPU."""
    label = model_label(str(run["model_code"]), robustness=True)
    if run.get("nmu.noise") is True:
        return {"NMU": "sNMU", "Sign NMRU": "Sign sNMRU"}.get(label, label)
    if label == "Real NPU" and float(str(run.get("regualizer.npu.W", 0))) > 0:
        return "Real NPU (mod)"
    return label
