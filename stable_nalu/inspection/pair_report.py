"""What a trained network of two digits reads, and the way its last layer went.

Written below `--evaluation-dir`, with the name of the saved model in front:

    _class_accs.csv          share of each digit that is recognised
    _confusion_matrix.*      counts of true against predicted digits: CSV, PDF, PNG
    _labels2out-path.*       weights of the last layer against the epoch, from the run's log

The log is read and left as it is.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from stable_nalu.errors import UsageError
from stable_nalu.figure import digits
from stable_nalu.figure.entry import Context
from stable_nalu.figure.render import Output, made, write
from stable_nalu.figure.source import Source
from stable_nalu.files import atomic_text_file
from stable_nalu.machine import save_root, tensorboard_root
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.paper.drawing import Drawing, Series, Sketch, sketch
from stable_nalu.result.export import RunTable, write_tables
from stable_nalu.result.run_parser import PairParser
from stable_nalu.task.pairs import PairTask, class_counts
from stable_nalu.training.loop import Training
from stable_nalu.writer.event_reader import EventFileReader, TensorboardReader

from .saved_model import trained_run

FOLDER = "two_digit_mnist_plots"
FORMATS = ("pdf", "png")
DPI = 300
_WEIGHTS = (("label2out.w0", "label2out.w1"),)


def report(task: type[PairTask], spec: ScriptSpec, config: Config) -> int:
    """Look at the saved model that `--evaluate` names; return the exit code."""
    run, model = trained_run(task, spec, config), Path(config.evaluate).stem
    rounded = task.rounded if config.rounded is None else config.rounded
    stem = model
    if rounded != task.rounded:
        stem += "_rounded" if rounded else "_not-rounded"
    folder = Path(config.evaluation_dir) if config.evaluation_dir else save_root() / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        counts = counts_of(run, rounded=rounded)
        written = write_counts(counts, stem, folder)
        written += write_path(run.stack[0].name, model, folder)
    except OSError as error:
        raise UsageError(
            f"argument --evaluation-dir: cannot write to {folder}: {error.strerror}"
        ) from None
    share = np.trace(counts) / counts.sum()
    how = "rounded" if rounded else "cut off"
    sys.stdout.write(f"{share:.2%} of {counts.sum()} digits recognised, {how}\n")
    sys.stdout.writelines(f"{one}\n" for one in written)
    return 0


@torch.no_grad()
def counts_of(run: Training, *, rounded: bool) -> np.ndarray:
    """Count classes of all digits of the test set, left and right ones together."""
    assert isinstance(run.task, PairTask)
    steps = run.task.predictions(run.model, run.task.sets["test"])
    while True:
        try:
            next(steps)
        except StopIteration as end:
            predicted, true = (values[:, 1:].cpu().numpy() for values in end.value)
            return class_counts(predicted, true, rounded=rounded)


def write_counts(counts: np.ndarray, model: str, folder: Path) -> list[Path]:
    """Write the accuracy of each digit, and the confusion matrix as numbers and as a figure."""
    accuracies = folder / f"{model}_class_accs.csv"
    shares = digits.accuracies(counts)
    rows = zip(shares["digit"], shares["accuracy"], strict=True)
    cells = [(model, digit, "" if np.isnan(share) else share) for digit, share in rows]
    _write_csv(accuracies, ("model", "digit", "accuracy"), cells)
    stem = f"{model}_confusion_matrix"
    numbers = folder / f"{stem}.csv"
    _write_csv(numbers, digits.COUNTED, [(*place, n) for place, n in np.ndenumerate(counts)])
    return [
        accuracies,
        numbers,
        *_drawn(sketch("matrix", stem), folder, Series((str(numbers.resolve()),))),
    ]


def write_path(run: str, model: str, folder: Path) -> list[Path]:
    """Write the weights of the last layer at every evaluation, if a log has them."""
    columns = _logged(run)
    if columns is None:
        sys.stdout.write(f"no path of weights: no log of {run} below {tensorboard_root()}\n")
        return []
    if pd.isna(columns[_WEIGHTS[0][0]]).all():
        sys.stdout.write("no path of weights: the last layer has no two weights to learn\n")
        return []
    stem = f"{model}_labels2out-path"
    numbers = folder / f"{stem}.csv"
    with atomic_text_file(numbers) as file:
        table = RunTable(Path(run).name, columns)
        write_tables([table], file)
    file = str(numbers.resolve())
    part = sketch("path", stem, file=file, columns=_WEIGHTS, time="epoch", limits=(0.0, 1.5))
    return [numbers, *_drawn(part, folder, Series((file,), model))]


def _logged(run: str) -> dict[str, list] | None:
    folder = tensorboard_root() / run
    if not folder.is_dir():
        return None
    for one in TensorboardReader(folder.parent, auto_open=False, names=[folder.name]).runs():
        if one.path is not None:
            return PairParser(step_start=1).parse(EventFileReader(one.path)) or None
    return None


def _drawn(part: Sketch, folder: Path, *series: Series) -> list[Path]:
    product = made(part, Context(Drawing((part,), series, key=part.stem), Source(folder)))
    return write(product, Output(folder, FORMATS, DPI, side=False))


def _write_csv(file: Path, header: tuple[str, ...], rows: list) -> None:
    with atomic_text_file(file) as out:
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
