"""What `--evaluate` says of a saved model: of two digits that are read, or of a mystery problem.

Written below `--evaluation-dir`, with the name of the saved model in front:

    _class_accs.csv          share of each digit that is recognised
    _confusion_matrix.*      counts of true against predicted digits: CSV, PDF, PNG
    _labels2out-path.*       weights of the last layer against the epoch, from the run's log

    _learned.csv             every weight, and the influence of every input on every output
    _learned.*               a drawing of the problem and of these: PDF, PNG

The influence of an input is the median size of an output's derivative by it, over the test rows. It
says of any layer which inputs an output is made of; weights say how, to who knows the layer. The
log of a run is read and left as it is.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import save_root, tensorboard_root
from stable_nalu.figure import curves
from stable_nalu.figure.entries import made, write
from stable_nalu.figure.runs import Context, Drawing, Part, Product, Series
from stable_nalu.figure.style import drawing, footnote, new_figure
from stable_nalu.inspection.saved_model import trained_run
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.statistics.table import in_columns, write_plain_frame
from stable_nalu.task.mystery_arithmetic import MysteryProblem, MysteryTask
from stable_nalu.task.pairs import PairTask, class_counts
from stable_nalu.training import default_dtype
from stable_nalu.training.loop import Training
from stable_nalu.training.task import Task
from stable_nalu.writer.event_file import EventFileReader, TensorboardReader

from .export import PAIRS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FOLDER = "two_digit_mnist_plots"
FORMATS = ("pdf", "png")
DPI = 300
_WEIGHTS = (("label2out.w0", "label2out.w1"),)


def report(task: type[Task], spec: ScriptSpec, config: Config) -> int:
    """Look at the saved model that `--evaluate` names; return the exit code."""
    of_task = mystery_report if issubclass(task, MysteryTask) else pair_report
    return of_task(trained_run(task, spec, config), config)


def pair_report(run: Training, config: Config) -> int:
    assert isinstance(run.task, PairTask)
    model = stem = Path(config.evaluate).stem
    rounded = run.task.rounded if config.rounded is None else config.rounded
    if rounded != run.task.rounded:
        stem += "_rounded" if rounded else "_not-rounded"
    folder = Path(config.evaluation_dir) if config.evaluation_dir else save_root() / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        counts = counts_of(run, rounded=rounded)
        share = folder / f"{stem}_class_accs.csv"
        write_plain_frame(share, pd.DataFrame({"model": stem, **curves.accuracies(counts)}))
        cells = [(*place, n) for place, n in np.ndenumerate(counts)]
        matrix = Part(curves.matrix, f"{stem}_confusion_matrix")
        written = [share, *_drawn(folder, matrix, pd.DataFrame(cells, columns=[*curves.COUNTED]))]
        if (path := path_of(run.stack[0].name)) is not None:
            part = f"{model}_labels2out-path"
            how = {"columns": _WEIGHTS, "time": "epoch", "limits": (0.0, 1.5)}
            written += _drawn(folder, Part(curves.path, part, file=part, **how), path, model)
    except OSError as error:
        problem = f"argument --evaluation-dir: cannot write to {folder}"
        raise UsageError(f"{problem}: {error.strerror}") from None
    how = "rounded" if rounded else "cut off"
    share = np.trace(counts) / counts.sum()
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


def path_of(run: str) -> pd.DataFrame | None:
    """Return the weights of the last layer at every evaluation, if a log has them."""
    log, columns = tensorboard_root() / run, None
    if log.is_dir():
        for one in TensorboardReader(log.parent, auto_open=False, names=[log.name]).runs():
            if one.path is not None:
                columns = PAIRS.parse(EventFileReader(one.path))
    if not columns:
        sys.stdout.write(f"no path of weights: no log of {run} below {tensorboard_root()}\n")
    elif pd.isna(columns[_WEIGHTS[0][0]]).all():
        sys.stdout.write("no path of weights: the last layer has no two weights to learn\n")
    else:
        return pd.DataFrame({"name": log.name, **columns})
    return None


def _drawn(folder: Path, part: Part, table: pd.DataFrame, label: str | None = None) -> list[Path]:
    numbers = folder / f"{part.stem}.csv"
    write_plain_frame(numbers, table)
    shown = Drawing((part,), (Series((part.stem,), label),), key=part.stem)
    product = made(part, Context(shown, Path(), {part.stem: table}))
    return [numbers, *write(product, folder, FORMATS, DPI, side=False)]


MYSTERY_FOLDER = "mystery_arithmetic_plots"
INFLUENCE = "influence"
_MARKS = {"add": "++", "sub": "+_", "mul": "xx", "div": "x|"}
"""Marks of both inputs of an operation in the drawing."""
_MOST_LABELS = 30

Matrices = Mapping[str, torch.Tensor]
"""Numbers `(outputs, inputs)` by what they are called."""


def mystery_report(run: Training, config: Config) -> int:
    assert isinstance(run.task, MysteryTask)
    problem = run.task.problem
    with default_dtype(run.config):
        errors, learned = _learned(run.model.eval(), *run.task.test_rows)
    sys.stdout.writelines(f"{line}\n" for line in lines(problem, errors, learned))
    folder = Path(config.evaluation_dir) if config.evaluation_dir else save_root() / MYSTERY_FOLDER
    stem = f"{Path(config.evaluate).stem}_learned"
    table = folder / f"{stem}.csv"
    rows = [
        {"output": k, "formula": output.formula, "input": i, "is.operand": i in output[:2]}
        | {name: values[k, i].item() for name, values in learned.items()}
        for k, output in enumerate(problem.outputs)
        for i in range(problem.inputs)
    ]
    write_plain_frame(table, pd.DataFrame(rows))
    with drawing():
        product = Product(stem, draw(problem, learned))
    for path in (table, *write(product, folder, FORMATS, side=False)):
        sys.stdout.write(f"{path}\n")
    return 0


def _learned(
    model: ExtendedTorchModule, x: torch.Tensor, t: torch.Tensor
) -> tuple[torch.Tensor, Matrices]:
    with model.no_random():
        x.requires_grad_()
        y = model(x)
        errors = ((y - t) ** 2).mean(0).detach()
        slopes = [torch.autograd.grad(one, x, retain_graph=True)[0] for one in y.sum(0)]
    influence = torch.stack(slopes).abs().median(1).values
    return errors, {INFLUENCE: influence} | _weights(model, influence.shape)


@torch.no_grad()
def _weights(model: ExtendedTorchModule, shape: torch.Size) -> dict[str, torch.Tensor]:
    """Return the weights of all outputs by all inputs, as layers show them, else as they are."""
    found: dict[str, torch.Tensor] = {}
    for path, module in model.named_modules():
        if isinstance(module, ExtendedTorchModule):
            shown = {o.name: o.value() for o in module.observations() if o.kind == "tensor"}
            part = path.rpartition(".")[2].removeprefix("layer")
            for name, value in (shown or dict(module.named_parameters(recurse=False))).items():
                if value.shape == shape:
                    found[f"{part}.{name}" if part else name] = value.detach()
    return found


def lines(problem: MysteryProblem, errors: torch.Tensor, learned: Matrices) -> list[str]:
    """Return a table for readers: of every output what it is, and its two largest numbers."""
    found, rows = 0, []
    for k, output in enumerate(problem.outputs):
        cells = [f"y{k} = {output.formula}", f"{errors[k]:.3g}"]
        for name, values in learned.items():
            largest = values[k].abs().topk(2).indices.tolist()
            found += name == INFLUENCE and {*largest} == {output.i, output.j}
            cells.append(", ".join(f"{values[k, i]:.2f} x{i}" for i in largest))
        rows.append(cells)
    total = f"{found} of {len(problem.outputs)} outputs are most influenced by their own two inputs"
    return [*in_columns(["output", "test mse", *learned], rows), total]


def draw(problem: MysteryProblem, learned: Matrices) -> "Figure":
    outputs = len(problem.outputs)
    figure = new_figure((26.0, 1.5 + (1 + len(learned)) * (1.3 + 0.32 * min(outputs, 40))))
    top, *others = figure.subplots(1 + len(learned), 1, sharex=True)
    for k, output in enumerate(problem.outputs):
        for i, mark in zip(output[:2], _MARKS[output.operation], strict=True):
            top.plot(i, k, mark, color="black", markersize=6)
    top.set_ylim(outputs - 0.5, -0.5)
    top.set_title("Problem")
    for axes, (name, values) in zip(others, learned.items(), strict=True):
        array = values.cpu().numpy()
        largest = max(np.abs(array).max(), 1e-12)
        low, colours = (0.0, "Blues") if name == INFLUENCE else (-largest, "RdBu_r")
        image = axes.imshow(array, aspect="auto", cmap=colours, vmin=low, vmax=largest)
        figure.colorbar(image, ax=axes, pad=0.01)
        axes.set_title("Influence" if name == INFLUENCE else f"Weights {name}")
        for k, output in enumerate(problem.outputs):
            axes.plot(output[:2], [k, k], "o", markersize=7, markerfacecolor="none", color="black")
    for axes in (top, *others):
        axes.grid(visible=False)
        shown = problem.outputs if outputs <= _MOST_LABELS else []
        labels = [f"y{k} = {output.formula}" for k, output in enumerate(shown)]
        axes.set_yticks(range(len(labels)), labels, fontsize=7)
    others[-1].set_xlabel("Input")
    footnote(
        figure,
        "Problem: the inputs of each output; + added, − subtracted, × multiplied, | divided by.",
        "Rings: the same inputs. Influence: median size of the derivative of an output by an "
        "input, over the test rows.",
    )
    return figure
