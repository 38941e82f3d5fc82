"""Weights along training: the last layer of the pairs of digits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import MISTRY_2022_ROBUST

from ..entry import Entry
from ..kinds import Path
from ..source import Series

_LAST_LAYER = Path(
    stem="", file="", columns=(("label2out.w0", "label2out.w1"),), time="epoch", limits=(0.0, 1.5)
)


def _digits(inputs: str, experiment: str, shows: str) -> Entry:
    """Return the paths of the models of an experiment that learn what to do with the digits."""
    models = [m for m in EXPERIMENTS[experiment].models if "--learn-labels2out" in m.flags]
    files = {PurePath(model.csv).name: model.label for model in models}
    return Entry(
        f"weights_path-{inputs}",
        MISTRY_2022_ROBUST,
        "Figures 13–20",
        f"Weights of the last layer along training, {shows}",
        tuple(replace(_LAST_LAYER, stem=f"{f}_fNA_labels2out-path", file=f) for f in files),
        tuple(Series((file,), label) for file, label in files.items()),
        ("static-mnist/mul", "weight-paths"),
    )


ENTRIES = (
    _digits("isolated", "static-mnist-mul-isolated", "isolated digits"),
    _digits("colour-concat", "static-mnist-mul-colour-concat", "digits in colour channels"),
)
