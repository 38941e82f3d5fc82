"""Run names of made-up runs."""

from __future__ import annotations

import re
from itertools import product

from stable_nalu.figure.entry import Entry
from stable_nalu.paper.drawing import Runs, Series
from stable_nalu.paper.labels import NALU_SHARED
from stable_nalu.statistics.names import MODELS

_NUMBER = re.compile(r"-?[\d.]+(?:e-?\d+)?")
_CODES = {label: code for code, label in MODELS.items()} | {
    NALU_SHARED: "nalu",
    "NMU": "reregualizedlinearnac-nac-m",
    "NMRU": "signnmru",
    "NRU": "nru",
}
_TRAINED_TO_TESTED = {
    "U[-20,-10]": "U[-40,-20]",
    "U[-2,-1]": "U[-6,-2]",
    "U[-1.2,-1.1]": "U[-6.1,-1.2]",
    "U[-0.2,-0.1]": "U[-2,-0.2]",
    "U[-2,2]": "U[-6,-2] & U[2,6]",
    "U[0,1]": "U[1,5]",
    "U[0.1,0.2]": "U[0.2,2]",
    "U[1.1,1.2]": "U[1.2,6]",
    "U[10,20]": "U[20,40]",
}
_SINGLE = {
    "input.size": 2,
    "subset.ratio": 0.5,
    "overlap.ratio": 0.0,
}
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

Fields = dict[str, object]


def code(label: str) -> str:
    """Field 1 of a model's run names; labels of variants get a layer of their kind."""
    plain = label.split(", no ")[0]
    if plain in _CODES:
        return _CODES[plain]
    known = {"NPU": "npu", "NRU": "nru", "NMRU": "signnmru", "NAU": "reregualizedlinearnac"}
    found = [name for part, name in known.items() if part in label]
    return "realnpu" if "Real NPU" in label else (found or ["reregualizedlinearnac-nac-m"])[-1]


def operations(entry: Entry, runs: Runs) -> tuple[str, ...]:
    """Operations that a figure is about."""
    for only in runs.only:
        if only.column == "operation":
            return tuple(map(str, only.values))
    if match := re.search(r"_op-([a-z-]+)$", getattr(entry.parts[0], "stem", "")):
        return tuple(match[1].split("-"))
    return ("add", "sub", "mul", "div") if entry.key.startswith("function_task") else ("mul",)


def run_fields(entry: Entry, runs: Runs, one: Series) -> list[Fields]:
    """What tells the runs of one file apart, seeds aside."""
    labels = [one.label] if one.label else list(one.expects or runs.models) or ["NMU"]
    base = _SINGLE if runs.names == "single" else _DATA_SET
    chosen = operations(entry, runs)
    if one.label and one.label.endswith(")") and len(chosen) > 1:
        chosen = (one.label.split("(")[1].rstrip(")"),)
    found = []
    for label, operation, x in product(labels, chosen, runs.expected or (None,)):
        fields = _DEFAULTS | base | {"label": label, "code": code(label), "operation": operation}
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
        variants = [fields]
        if runs.extra == "optimizer":
            kinds = (("adam", 0.0), ("sgd", 0.0), ("sgd", 0.9))
            variants = [fields | {"optimizer": o, "momentum": m} for o, m in kinds]
        found += variants
    return found


def run_name(fields: Fields, seed: int) -> str:
    """A name as the arithmetic scripts print it."""
    tail = ""
    trained = str(fields["interpolation.range"])
    if sampled := str(fields["distribution"]):
        family, _, bounds = sampled.partition(":")
        letter = {"U": "u", "B": "b"}.get(family)
        numbers = _NUMBER.findall(family)
        tail = f"_D-{letter}" if letter else f"_D-tn-{numbers[0]}-{numbers[1]}-10-3"
        trained = "U" + bounds
    tested = str(fields.get("tested") or _TRAINED_TO_TESTED.get(trained, "U[2,6]"))
    if fields["input.size"] == 4 and fields.get("simple"):
        sizes = "z-simple"
    else:
        sizes = f"z-{fields['input.size']:g}-{fields['subset.ratio']}-{fields['overlap.ratio']}"
    return (
        f"{fields['code']}_op-{fields['operation']}_oob-c_rs-linear-linear_eps-0_"
        f"rl-{fields['scaling.start']}-2000000_"
        f"r-{fields['regualizer']}-0-{fields['regualizer.oob']}_"
        f"i-{_range(trained)}_e-{_range(tested)}_{sizes}_b128_s{seed}_h{fields['hidden.size']}_z2_"
        f"lr-{fields['optimizer']}-{fields['learning.rate']:.5f}-{fields['momentum']}{tail}"
    )


def _range(label: str) -> str:
    numbers = _NUMBER.findall(label)
    if len(numbers) == 2:
        return f"{numbers[0]}-{numbers[1]}"
    return f"[{numbers[0]}, {numbers[1]}]-[{numbers[2]}, {numbers[3]}]"


def sequence_name(
    model: str, operation: str, z: float, length: int, seed: int, outputs: int = 2
) -> str:
    """A name as the sequence scripts print it."""
    digits = "123456789" if operation == "cumprod" else "0123456789"
    return (
        f"{model}_d-{digits}_h-{outputs}_op-{operation}_oob-c_rs-linear-linear_eps-0_rl-10000-100000_"
        f"r-10-{z}-1_m-l-p_i-{length}_e-1-10_b64_s{seed}"
    )
