"""Made-up exports for every figure: what tests draw when there are no results.

They have the columns and run names of real ones and are the same on every machine. No number in
them was measured.
"""

import re
import zlib
from itertools import product

import numpy as np
import pandas as pd

from stable_nalu.paper.drawing import Series
from stable_nalu.paper.labels import NALU_SHARED
from stable_nalu.statistics.judge import SPARSITY, TEST, VALIDATION
from stable_nalu.statistics.names import MODELS

SEEDS, ROWS = 4, 5
"""Runs of every point, and logged steps of a run."""

_CODES = {label: code for code, label in MODELS.items()} | {
    NALU_SHARED: "nalu",
    "NMU": "reregualizedlinearnac-nac-m",
    "NMRU": "signnmru",
    "NRU": "nru",
}
_TRAINED_TO_TESTED = {
    "U[-20,-10]": "-40--20",
    "U[-2,-1]": "-6--2",
    "U[-1.2,-1.1]": "-6.1--1.2",
    "U[-0.2,-0.1]": "-2--0.2",
    "U[-2,2]": "[-6, -2]-[2, 6]",
    "U[0,1]": "1-5",
    "U[0.1,0.2]": "0.2-2",
    "U[1.1,1.2]": "1.2-6",
    "U[10,20]": "20-40",
}
_SINGLE = {"input.size": 2, "subset.ratio": 0.5, "overlap.ratio": 0.0}
_DATA_SET = {"input.size": 100, "subset.ratio": 0.25, "overlap.ratio": 0.5}
_DEFAULTS = {
    "interpolation.range": "U[1,2]",
    "regualizer": 10.0,
    "regualizer.oob": 1.0,
    "scaling.start": 1000000,
    "hidden.size": 2,
    "optimizer": "adam",
    "learning.rate": 1e-3,
    "momentum": 0.0,
    "distribution": "",
}


def random(*words):
    """A generator that depends on the words alone."""
    return np.random.default_rng(zlib.crc32("/".join(map(str, words)).encode()))


def write_specimen(entry, folder):
    """Write every file that the figure reads, below `folder`; files that are there stay."""
    frames = {}
    for part in entry.parts:
        for name, frame in _frames(entry, part).items():
            if name in frames:
                both = pd.concat([frames[name], frame], ignore_index=True)
                keys = [column for column in ("name", "step") if column in both]
                frame = both.drop_duplicates(keys or None)
            frames[name] = frame
    for name, frame in frames.items():
        path = folder / f"{name}.csv"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            frame.to_csv(path, index=False)


def _frames(entry, part):
    """Exported file -> its rows, for one part."""
    options = part.options
    if part.kind == "successes":
        swept = options["swept"]
        return {file: _modules(entry, runs, Series((file,)), None) for _, file, runs in swept}
    if part.kind == "panels" and options["runs"].reference is not None:
        return _sequences(entry, options["runs"])
    if part.kind in ("panels", "table", "histogram"):
        gate = options["column"] if part.kind == "histogram" else None
        return {one.files[0]: _modules(entry, options["runs"], one, gate) for one in entry.series}
    if part.kind == "gold_errors":
        # Errors that grow as the divisor goes to 0.
        rows = [
            (module, task, 10.0 ** (-9 - 1.5 * power - 2 * place), f"U[0,1e{power:+d})")
            for place, module in enumerate(options["order"])
            for (task, _), power in product(options["panels"], range(-8, 1))
        ]
        columns = ["module", "parameter", "test.mse", "range"]
        return {entry.series[0].files[0]: pd.DataFrame(rows, columns=columns)}
    make = _OTHERS.get(part.kind)
    series = enumerate(entry.series) if make else ()
    return {one.files[0]: make(entry, one, place) for place, one in series}


def _code(label):
    """Field 1 of a model's run names; labels of variants get a layer of their kind."""
    plain = label.split(", no ")[0]
    if plain in _CODES:
        return _CODES[plain]
    known = {"NPU": "npu", "NRU": "nru", "NMRU": "signnmru", "NAU": "reregualizedlinearnac"}
    found = [name for part, name in known.items() if part in label]
    return "realnpu" if "Real NPU" in label else (found or ["reregualizedlinearnac-nac-m"])[-1]


def _operations(entry, runs):
    """Operations that a figure is about."""
    for only in runs.only:
        if only.column == "operation":
            return only.values
    if match := re.search(r"_op-([a-z-]+)$", entry.parts[0].stem):
        return tuple(match[1].split("-"))
    return ("add", "sub", "mul", "div") if entry.key.startswith("function_task") else ("mul",)


def _run_fields(entry, runs, one):
    """What tells the runs of one file apart, seeds aside."""
    labels = [one.label] if one.label else list(one.expects or runs.models) or ["NMU"]
    base = _SINGLE if runs.names == "single" else _DATA_SET
    chosen = _operations(entry, runs)
    if one.label and one.label.endswith(")") and len(chosen) > 1:
        chosen = (one.label.split("(")[1].rstrip(")"),)
    optimizers = [("adam", 0.0)]
    if runs.extra == "optimizer":
        optimizers += [("sgd", 0.0), ("sgd", 0.9)]
    expected = runs.expected or (None,)
    for label, operation, x, (name, momentum) in product(labels, chosen, expected, optimizers):
        fields = _DEFAULTS | base | {"label": label, "operation": operation}
        fields |= {"optimizer": name, "momentum": momentum}
        if label == "NAU" and runs.names == "data-set":
            fields |= {"scaling.start": 5000, "regualizer": 0.01}
        if "R}_{sparse}" in label:
            fields["regualizer"] = 0.0
        if "W-clamp" in label:
            fields["regualizer.oob"] = 0.0
        if x is not None and runs.x != "operation":
            fields[runs.x] = x
        if str(runs.threshold.parameter).startswith("zero.range"):
            fields["tested"] = x
        yield fields


def _run_name(fields, simple, seed):
    """A name as the arithmetic scripts print it."""
    tail, trained = "", fields["interpolation.range"]
    if sampled := fields["distribution"]:
        family, _, bounds = sampled.partition(":")
        numbers = re.findall(r"-?[\d.]+", family)
        tail = f"_D-tn-{'-'.join(numbers)}-10-3" if numbers else f"_D-{family.lower()}"
        trained = f"U{bounds}"
    tested = _TRAINED_TO_TESTED.get(trained, "2-6")
    if "tested" in fields:
        tested = _bounds(fields["tested"])
    sizes = f"z-{fields['input.size']:g}-{fields['subset.ratio']}-{fields['overlap.ratio']}"
    return (
        f"{_code(fields['label'])}_op-{fields['operation']}_oob-c_rs-linear-linear_eps-0_"
        f"rl-{fields['scaling.start']}-2000000_"
        f"r-{fields['regualizer']}-0-{fields['regualizer.oob']}_i-{_bounds(trained)}_e-{tested}_"
        f"{'z-simple' if simple else sizes}_b128_s{seed}_h{fields['hidden.size']}_z2_"
        f"lr-{fields['optimizer']}-{fields['learning.rate']:.5f}-{fields['momentum']}{tail}"
    )


def _bounds(label):
    """A range as names have it."""
    numbers = re.findall(r"-?[\d.]+(?:e-?\d+)?", label)
    halves = [f"[{', '.join(numbers[k : k + 2])}]" for k in (0, 2)]
    return "-".join(numbers if len(numbers) == 2 else halves)


def _modules(entry, runs, one, gate):
    """Rows of one file of an arithmetic task."""
    blocks = []
    for fields in _run_fields(entry, runs, one):
        draw = random(one.files[0], fields["label"], fields.get(runs.x), fields["operation"])
        rate, pace = draw.beta(1.2, 0.8), draw.uniform(0.1, 0.6)
        for seed in range(SEEDS):
            name = _run_name(fields, "simple" in entry.key, seed)
            block = _module_run(random(name, one.files[0]), rate, pace).assign(name=name)
            if gate is not None:
                block[gate] = random(name, "gate").beta(0.4, 0.4)
            blocks.append(block)
    return pd.concat(blocks, ignore_index=True)


def _module_run(draw, rate, pace):
    """Errors that fall to nothing from some step on, if the run is to be solved."""
    steps = np.linspace(0, 50_000, ROWS).round()
    solved = draw.random() < rate
    at = np.clip(pace + 0.1 * draw.standard_normal(), 0.05, 0.95) * steps[-1]
    decay = np.where((steps >= at) & solved, 1e-15, 10.0 * np.exp(-steps / 3e4))
    errors = decay * draw.uniform(0.5, 1.5, ROWS)
    level = 10 ** draw.uniform(-7, -1.5) if solved else draw.uniform(0.05, 0.45)
    columns = {VALIDATION: errors, "step": steps.astype(int), "wall.time": 1.6e9 + steps}
    columns |= {TEST: errors * (1 if solved else 50), SPARSITY: np.linspace(0.5, level, ROWS)}
    return pd.DataFrame(columns)


_NMU_CELL = "reregualizedlinearnac-nac-m"
_CELLS = {
    "cumprod": ("nac-nac-n", "posnac-nac-n", "reregualizedlinearposnac-nac-n", "nalu", "lstm"),
    "cumsum": ("nac", "lstm", "nalu", "reregualizedlinearnac"),
}


def _sequences(entry, runs):
    """A reference, and files of models that get worse with length."""
    operation = "cumprod" if "prod" in entry.key else "cumsum"
    trained = [2 if operation == "cumprod" else 10]
    outputs = range(1, 7) if entry.key.endswith("_output") else (2,)
    if entry.key.endswith("_interpolation"):
        trained = [2, 3, 4, 5]

    def run(code, z, seed, length, count, *how):
        digits = "123456789" if operation == "cumprod" else "0123456789"
        name = (
            f"{code}_d-{digits}_h-{count}_op-{operation}_oob-c_rs-linear-linear_eps-0_"
            f"rl-10000-100000_r-10-{z}-1_m-l-p_i-{length}_e-1-10_b64_s{seed}"
        )
        return _sequence_run(name, runs, *how)

    reference = [
        run("reregualizedlinearnac", 0, seed, trained[0], 2, 1.0, 40)
        for seed in runs.reference.seeds
    ]
    frames = {runs.reference.files[0]: pd.concat(reference, ignore_index=True)}
    for one in entry.series:
        codes = (_NMU_CELL,)
        if one.label is None:
            codes = (*_CELLS[operation], *([_NMU_CELL] if operation == "cumprod" else []))
        blocks = []
        for code, length, count in product(codes, trained, outputs):
            several = len(trained) * len(outputs) > 1
            penalties = (1,) if several else (0, 1)
            for z, seed in product(penalties if code != "lstm" else (0,), range(SEEDS)):
                reach = random(one.files[0], code, z).uniform(2, 25)
                blocks.append(run(code, z, seed, length, count, 0.5, reach))
        frames[one.files[0]] = pd.concat(blocks, ignore_index=True)
    return frames


def _sequence_run(name, runs, level, reach):
    """Errors that fall over the epochs, and grow with length beyond a reach."""
    draw, fall = random(name, reach), np.linspace(3, 1, ROWS)
    table = {"name": name, "step": np.arange(ROWS) * 500, "epoch": np.arange(ROWS) * 5}
    table["metric.valid.mse"] = fall
    own = reach * draw.uniform(0.6, 1.4)
    lengths = runs.expected if runs.length is None else range(1, runs.length + 1)
    for length in lengths:
        beyond = length / max(lengths) * 20 / own
        error = level * (1 + 0.1 * draw.standard_normal()) * max(1.0, beyond**6)
        table[f"metric.test.extrapolation.{length}.mse"] = fall * error
    table[SPARSITY] = np.linspace(0.5, 10 ** draw.uniform(-6, -2), ROWS)
    return pd.DataFrame(table)


def _digits(entry, one, _):
    """Pairs of digits: losses and accuracies that approach a level of the model."""
    operation = "div" if "div" in entry.key else "mul"
    blocks, level = [], random(one.files[0]).uniform(70, 99)
    for fold in range(SEEDS):
        draw = random(one.files[0], fold)
        epochs = np.arange(ROWS) * 5
        grown = level * (1 - np.exp(-epochs / (2 + epochs[-1] / 5)))
        block = {"name": f"7_f{fold}_op-{operation}_nalmT_learnLT_s{fold}", "epoch": epochs}
        block["step"] = epochs * 10
        for state, quantity in product(("train", "valid", "test"), ("output", "label1", "label2")):
            top, noise = f"metric.{state}.{quantity}", draw.normal(0, 1, ROWS)
            accuracy = np.clip(grown + noise - (3 if state == "test" else 0), 0, 100)
            block[f"{top}.loss"] = np.exp(-epochs / 40) * draw.uniform(0.8, 1.2, ROWS)
            block[f"{top}.acc"] = accuracy
            block[f"{top}_rounded.acc"] = np.clip(accuracy + 1, 0, 100)
            for places in (4, 5) if quantity == "output" else ():
                block[f"{top}_rounded_{places}dp.acc"] = np.clip(accuracy - places, 0, 100)
        turn = np.linspace(0, 1, ROWS)
        block["label2out.w0"] = 0.4 + 0.6 * turn + draw.normal(0, 0.02, ROWS)
        block["label2out.w1"] = 1.2 - 0.2 * turn + draw.normal(0, 0.02, ROWS)
        blocks.append(pd.DataFrame(block))
    return pd.concat(blocks, ignore_index=True)


def _surface(_, one, place):
    """A grid of predictions: exact for the first two series, off for the others."""
    axis = np.arange(-6, 6.01, 0.5)
    x1, x2 = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    exact = x1 * x2
    off = exact * 0.3 + np.maximum(0, x1 + x2 - place)
    return pd.DataFrame({"x1": x1, "x2": x2, "pred": exact if place < 2 else off})


def _classes(_, one, place):
    """Accuracy of ten digits."""
    shares = 1 - random(one.files[0]).exponential(0.012, 10)
    return pd.DataFrame({"model": one.label, "digit": range(10), "accuracy": shares})


def _confusion(entry, one, place):
    """Ten by ten counts, most on the diagonal."""
    draw = random(entry.key)
    table = draw.poisson(3, (10, 10)) + np.diag(draw.poisson(950, 10))
    rows = [(true, said, table[true, said]) for true in range(10) for said in range(10)]
    return pd.DataFrame(rows, columns=["true", "predicted", "count"])


_OTHERS = dict.fromkeys(("scatter", "epoch_curves", "violin", "path"), _digits) | {
    "surface": _surface,
    "class_bars": _classes,
    "matrix": _confusion,
}
