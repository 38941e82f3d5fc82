"""docs/playground.html: units trained in the page, beside the paths of kept runs.

`python3 -m tools.playground` trains those runs again, with their weights logged, and keeps the
paths; `python3 -m tools.generated` puts them into the page.
"""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from stable_nalu.base.files import CHECKOUT, atomic_text_file, cells_of
from stable_nalu.base.script import ScriptParser, exit_code
from stable_nalu.functional import NMU_BOUND, nac_bound, nau_bound, xavier_bound
from stable_nalu.paper.index import find
from stable_nalu.result.judged import runs_of
from stable_nalu.result.run_parser import matrix_elements
from stable_nalu.result.stored import path_of
from stable_nalu.writer import RunRecord
from stable_nalu.writer.event_file import FILE_PREFIX, EventFileReader

PATH = CHECKOUT / "docs" / "playground.html"
TEMPLATE = Path(__file__).parent / "templates" / "playground.html"
PATHS = Path(__file__).parent / "templates" / "playground_paths.json"

OPERATIONS = ("add", "sub", "mul", "div")
KEPT: dict[str, dict[str, str]] = {}
"""Experiment -> model -> its name in the page."""
for _row in cells_of(PATHS.with_name("playground_runs.csv")):
    KEPT.setdefault(_row["experiment"], {})[_row["model"]] = _row["unit"]
SHOWN = ("[1,2]", "[-2,2]")
"""Training ranges of the kept runs in the page."""
MOST_STEPS = 20


def refreshed(_text: str = "") -> str:
    """Return the page, as text."""
    page = TEMPLATE.read_text(encoding="utf-8")
    starts = {
        "nac": nac_bound(2, 1),
        "gate": xavier_bound(2, 1),
        "nau": nau_bound(2, 1),
        "npu": xavier_bound(2, 1),
        "nmu": [0.5 - NMU_BOUND, 0.5 + NMU_BOUND],
    }
    filled = {"STARTS": starts, "RANGES": ranges(), "RUNS": json.loads(PATHS.read_text())}
    filled["SOLVED"] = {name: sum(int(r["solved"]) for r in rows) for name, _, _, rows in kept()}
    for name, value in filled.items():
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        page = page.replace(f"__{name}__", text.replace("<", "\\u003c"))
    return page


def ranges() -> dict[str, dict[str, Any]]:
    """Return training range -> where it is tested, and the thresholds of the four operations."""
    found: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        experiment = find(f"benchmark_sltr_{operation}")
        limits = {
            row["interpolation.range"]: float(row["threshold"])
            for row in cells_of(path_of(experiment.key))
        }
        for run in runs_of(experiment.models[0], [0], None):
            train, test = (
                np.atleast_2d(r).tolist()
                for r in (run.config.interpolation_range, run.config.extrapolation_range)
            )
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


def main(argv: Sequence[str] | None = None) -> int:
    """Train again the kept runs whose paths are not in the file yet, and keep these."""
    parser = ScriptParser(prog="tools.playground", description=__doc__)
    parser.parse_args(argv)
    return exit_code(parser.prog, _keep_paths)


def _keep_paths() -> None:
    for name, model, point, rows in kept():
        paths = json.loads(PATHS.read_text(encoding="utf-8"))
        if name not in paths:
            _keep(paths | {name: _path(rows, model, point)})


def _keep(paths: dict[str, dict[str, Any]]) -> None:
    """Write the file of paths, a line for each unit, operation and range."""
    lines = (
        f" {json.dumps(name, ensure_ascii=False)}: {json.dumps(paths[name])}" for name in paths
    )
    with atomic_text_file(PATHS) as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def _path(rows: list[dict[str, str]], model: Any, point: Any) -> dict[str, Any]:
    """Return the weights of a model's runs in one range, as bytes, and which solved their task."""
    extra = {"--verbose": ()} | (
        {"--log-interval": ("100",)} if model.prefix == "dmu/learned" else {}
    )
    command = model.command(model.variants[0], points=[point], extra=extra)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        places = {"TENSORBOARD_DIR": str(root / "logs"), "SAVE_DIR": str(root / "save")}
        script = str(CHECKOUT / "experiments" / f"{command.script}.py")
        words = [sys.executable, script, *command.words]
        subprocess.run(
            words, env=os.environ | places, check=True, stdout=subprocess.DEVNULL, cwd=root
        )
        runs = {
            int(str(record.config["seed"])): _weights(log)
            for log in (root / "logs" / model.prefix).iterdir()
            if log.is_dir() and (record := RunRecord.read(log))
        }
    steps = sorted(next(iter(runs.values())))
    shown = [
        steps[k] for k in sorted({round(k) for k in np.geomspace(1, len(steps), MOST_STEPS)})[:-1]
    ]
    chosen = [steps[0], *shown, steps[-1]]
    values = np.array([[runs[seed][step] for step in chosen] for seed in sorted(runs)])
    scale = 100 if np.abs(values).max() < 1.27 else 40
    coded = np.clip(np.rint(values * scale) + 128, 0, 255).astype(np.uint8)
    return {
        "steps": chosen,
        "scale": scale,
        "solved": "".join(row["solved"] for row in sorted(rows, key=lambda row: int(row["seed"]))),
        "path": base64.b64encode(coded.tobytes()).decode(),
    }


def _weights(log: Path) -> dict[int, list[float]]:
    """Return step -> the two weights of a run, or the shares of a gate where it is all that learns.

    Weights of reciprocals count as negative.
    """
    (file,) = log.glob(f"{FILE_PREFIX}*")
    tag_of = "gate" if "operands=" in log.name and "learned" not in log.name else "W(_real)?"
    found: dict[int, list[float]] = {}
    for event in EventFileReader(file):
        for tag, value in zip(event.tags, event.values, strict=True):
            if isinstance(value, bytes) and re.search(f"/{tag_of}/text_summary$", tag):
                numbers = np.array(matrix_elements(value))
                if tag_of == "gate":
                    numbers = np.array([numbers[0], 1 - numbers[0]])
                found[event.step] = (
                    numbers[:2] - (numbers[2:] if len(numbers) > 2 else 0)
                ).tolist()
    return found


if __name__ == "__main__":
    raise SystemExit(main())
