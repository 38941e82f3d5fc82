"""Tables that a figure needs besides exported runs, and the commands that write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stable_nalu.catalogue.experiment import Experiment, Model
from stable_nalu.catalogue.flags import words
from stable_nalu.training.saved.checkpoint import model_file

from .tables import runs_of
from .workspace import Workspace

_SWEEP = "export/single_layer_task/benchmark/pretrained_model_prediction_sweep.py"
_SMALL_DIVISORS = "export/single_layer_task/generate_divBy0_extrap_thresholds.py"
_SURFACES = {
    "NMU": ("mul-nmu", 0),
    "ReLU-h1": ("mul-ReLU-h1", 0),
    "ReLU-h100": ("mul-ReLU-h100", 8),
}
"""Model whose predictions are shown -> name of its table, and the seed that the paper chose."""


@dataclass(frozen=True)
class OtherTable:
    """A script below `export/` with its words, and the function that is its body.

    source: the saved model that the script reads, if any.
    """

    script: str
    words: list[str]
    body: Callable[[list[str]], int]
    source: Path | None = None

    @property
    def line(self) -> list[str]:
        """Return the words behind `python3`."""
        return [self.script, *self.words]

    def write(self) -> None:
        """Write the table in this process."""
        self.body(self.words)


def other_tables(
    experiment: Experiment, models: Sequence[Model], space: Workspace
) -> list[OtherTable]:
    """Those of an experiment, whether or not what they read is there."""
    if experiment.key == "divBy0_gold_test_errors":
        path = space.csv / "divBy0_test_errors.csv"
        return [OtherTable(_SMALL_DIVISORS, ["--csv-out", str(path)], _write_small_divisors)]
    if experiment.key == "surface-mul":
        folder = ["--csv-save-folder", str(space.csv / "2d-surface-plots" / "csvs")]
        exact = OtherTable(_SWEEP, ["--gold-outputs", *folder], _write_surface)
        return [exact, *(_surface(model, folder, space) for model in models)]
    return []


def _surface(model: Model, folder: list[str], space: Workspace) -> OtherTable:
    table, seed = _SURFACES[model.key]
    (run,) = runs_of(model, [seed], space.max_iterations)
    path = model_file(space.save, run.name)
    saved = ["--model-filepath", str(path), "--csv-save-filename", f"{table}-s{seed}"]
    return OtherTable(_SWEEP, [*words(model.flags), *folder, *saved], _write_surface, path)


def _write_small_divisors(argv: list[str]) -> int:
    from stable_nalu.statistics.thresholds.small_divisors import main

    return main(argv)


def _write_surface(argv: list[str]) -> int:
    from stable_nalu.training.arithmetic.prediction_sweep import main

    return main(argv)
