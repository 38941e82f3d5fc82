"""Columns that run names hold, for figures: one grammar a task family."""

from __future__ import annotations

import re
from typing import Any

from stable_nalu.statistics.names import model_label, parse_leaf

_NUMBER = r"-?\d+\.?\d*"
_NORMAL = re.compile(rf"tn-({_NUMBER})-({_NUMBER})(?:-{_NUMBER}-{_NUMBER})?")
_TWO_DIGIT = re.compile(
    r"(?P<id>-?\d+)_f(?P<fold>\d+)_op-(?P<operation>[a-z]+)_nalm(?P<nalm>[TF])"
    r"_learnL(?P<learned>[TF])_s(?P<seed>-?\d+)(?:_.*)?"
)
_SEQUENCE = re.compile(
    r"(?P<model>[^_]+)_d-(?P<digits>[^_]+)_h-(?P<hidden>\d+)_op-(?P<operation>[a-z]+)_"
    r"(?P<middle>.*_)?r-(?P<weights>[^_]+)_m-(?P<mnist>\w)-(?P<final>\w)_"
    r"i-(?P<length>\d+)_e-(?P<lengths>[^_]+)_b(?P<batch>\d+)_s(?P<seed>\d+)(?:_.*)?"
)
_WEIGHTS = re.compile(r"(-?[\d.]+(?:e-?\d+)?)-(-?[\d.]+(?:e-?\d+)?)-(-?[\d.]+(?:e-?\d+)?)")
_FAMILIES = {"u": "U", "b": "B", "e": "E"}

Columns = dict[str, Any]


def data_set_name(name: str) -> Columns:
    """Of the two-layer task: two-part ranges are joined by `∪`."""
    columns = parse_leaf(name, union="∪")
    return {"model": model_label(columns["model_code"])} | columns


def single_name(name: str) -> Columns:
    """Of single modules: two-part ranges are joined by `&`; with the training distribution."""
    columns = parse_leaf(name, union="&")
    columns["model"] = model_label(columns["model_code"])
    family = columns.get("train.distribution")
    if family is not None and "interpolation.range" in columns:
        columns["distribution"] = distribution(family, columns["interpolation.range"])
    return columns


def distribution(family: str, sampled: str) -> str:
    """Distribution and range as axes print it: `U:[-50,50]`, `TN(-1,3):[-5,10]`."""
    bounds = sampled.replace("U[", "[")
    if normal := _NORMAL.fullmatch(family):
        return f"TN({normal[1]},{normal[2]}):{bounds}"
    letter = family.split("-")[0]
    return f"{_FAMILIES.get(letter, letter.upper())}:{bounds}"


def sequence_name(name: str) -> Columns:
    """Of the sequence tasks."""
    match = _SEQUENCE.fullmatch(name)
    weights = _WEIGHTS.fullmatch(match["weights"]) if match else None
    if match is None or weights is None:
        raise ValueError(f"run name {name!r} is not of a sequence task")
    return {
        "model": model_label(match["model"]),
        "operation": match["operation"],
        "regualizer": float(weights[1]),
        "regualizer.z": float(weights[2]),
        "regualizer.oob": float(weights[3]),
        "interpolation.length": int(match["length"]),
        "seed": int(match["seed"]),
    }


def two_digit_name(name: str) -> Columns:
    """Of the pairs of digits: `<id>_f<fold>_op-<operation>_nalm<T|F>_learnL<T|F>_s<seed>`."""
    match = _TWO_DIGIT.fullmatch(name)
    if match is None:
        raise ValueError(f"run name {name!r} is not of a two-digit task")
    return {
        "id": int(match["id"]),
        "fold": int(match["fold"]),
        "operation": match["operation"],
        "seed": int(match["seed"]),
    }


GRAMMARS = {
    "data-set": data_set_name,
    "single": single_name,
    "sequence": sequence_name,
    "two-digit": two_digit_name,
}
