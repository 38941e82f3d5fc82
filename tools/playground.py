"""docs/playground.html: units trained in the page, beside the paths of kept runs.

`python3 -m tools.studies paths` keeps the paths; `python3 -m tools.generated` writes the page.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from stable_nalu.base.files import CHECKOUT, cells_of
from stable_nalu.functional import NMU_BOUND, nac_bound, nau_bound, xavier_bound
from stable_nalu.paper.index import find
from stable_nalu.result.judged import runs_of
from stable_nalu.result.stored import path_of

from . import FOLDER, TEMPLATES

PATH = CHECKOUT / "docs" / "playground.html"
PATHS = FOLDER / "playground_paths.json"

OPERATIONS = ("add", "sub", "mul", "div")
KEPT: dict[str, dict[str, str]] = {}
"""Experiment -> model -> its name in the page."""
for _row in cells_of(PATHS.with_name("playground_runs.csv")):
    KEPT.setdefault(_row["experiment"], {})[_row["model"]] = _row["unit"]
SHOWN = ("[1,2]", "[-2,2]")
"""Training ranges of the kept runs in the page."""


def refreshed(_text: str = "") -> str:
    bounds = nac_bound(2, 1), xavier_bound(2, 1), nau_bound(2, 1), xavier_bound(2, 1)
    starts = dict(zip(("nac", "gate", "nau", "npu"), bounds, strict=True))
    return TEMPLATES.get_template("playground.html").render(
        **{"starts": starts | {"nmu": [0.5 - NMU_BOUND, 0.5 + NMU_BOUND]}, "ranges": ranges()},
        runs=json.loads(PATHS.read_text(encoding="utf-8")),
        solved={name: sum(int(row["solved"]) for row in rows) for name, _, _, rows in kept()},
    )


def ranges() -> dict[str, dict[str, Any]]:
    """Return training range -> where it is tested, and the thresholds of the four operations."""
    found: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        experiment = find(f"benchmark_sltr_{operation}")
        rows = cells_of(path_of(experiment.key))
        limits = {row["interpolation.range"]: float(row["threshold"]) for row in rows}
        for run in runs_of(experiment.models[0], [0], None):
            both = run.config.interpolation_range, run.config.extrapolation_range
            train, test = (np.atleast_2d(one).tolist() for one in both)
            name = ",".join(f"{end:g}" for end in train[0])
            place = found.setdefault(name, {"train": train, "test": test})
            place[operation] = limits[f"U[{name}]"]
    return dict(sorted(found.items(), key=lambda item: abs(item[1]["train"][0][0])))


def kept() -> Iterator[tuple[str, Any, Any, list[dict[str, str]]]]:
    """Yield unit, operation and range in one word, model, point and rows of what the page shows."""
    for key, names in KEPT.items():
        rows = cells_of(path_of(key))
        for model in find(key).models:
            for point in model.points if model.key in names else ():
                (train,) = point["--interpolation-range"]
                of = (model.key, f"U{train}")
                own = [row for row in rows if (row["model"], row["interpolation.range"]) == of]
                if train in SHOWN:
                    name = "|".join((names[model.key], own[0]["operation"], train[1:-1]))
                    yield name, model, point, own
