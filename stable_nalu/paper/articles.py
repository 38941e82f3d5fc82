"""Articles on the NALU: a mystery problem, a sum of ten numbers, and the weights of a NAC.

Weights W = tanh(W_hat) sigmoid(M_hat) are drawn at random. A start says what W_hat and M_hat are
drawn from: both from one range, as an article has them, or as a NAC of 100 inputs and 10 outputs
begins its training.
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import STREAMS, atomic_path, refuse_one_file
from stable_nalu.base.papers import NALU_ARTICLE, NALU_NOTES
from stable_nalu.base.script import ScriptParser, adder, exit_code
from stable_nalu.figure import style
from stable_nalu.figure.curves import draw_epochs, quartiles, with_counts
from stable_nalu.figure.panels import draw_series, offsets
from stable_nalu.figure.runs import Context, Part, Product, drawn, kind, last_rows
from stable_nalu.layer.nalu import NALULayer
from stable_nalu.options.flag import integer, interval
from stable_nalu.statistics.table import write_frame

from .experiment import Experiment, FurtherTable, Measure, Recipe, Resources
from .nalu import OURS, layers, measured, ring
from .published import published_measures

_BY_OPERATION = {
    f"metric.test.mse.{name}": text
    for name, text in (("add", "sums"), ("sub", "differences"), ("mul", "products"))
}


@kind("error over epochs")
def learning(context: Context) -> Product:
    """Draw curves of training and test, and the last errors of each operation."""
    curves = (("metric.train.mse", "Training rows"), ("metric.test.mse", "Test rows"))
    found = context.present(("name", "step", *(column for column, _ in curves), *_BY_OPERATION))
    shown = context.looks(one.name for one in context.figure.series)
    figure, (*panels, last) = style.subplots(
        (19.0, 8.0), 1, 3, sharey=True, width_ratios=(1.0, 1.0, 0.9)
    )
    side = draw_epochs(panels, curves, "step", found, shown)
    for (model, table), offset in zip(found.items(), offsets(len(found)), strict=True):
        ended = last_rows(table).assign(end=0)
        points = pd.concat([quartiles(ended, "end", column) for column in _BY_OPERATION])
        means = points.rename(columns={"median": "mean"})
        draw_series(last, np.arange(3) + offset, means, shown[model], model, line=False)
        side.append(points.assign(model=model, column=[*_BY_OPERATION]))
    last.set(title="By operation", xlim=(-0.5, 2.5))
    last.set_xticks(range(3), [*_BY_OPERATION.values()])
    return context.plotted(
        figure,
        side,
        "Medians over runs; ribbons and bars: quartiles.",
        "Right: test rows at the end of training, of the problems that have such outputs.",
        handles=with_counts(shown, found),
    )


_MSE, _HALF_SUM, _BELOW = "loss.train.mse", "loss.train.half-sum-squares", 1e-3
"""The error that is drawn, the trained loss (half the sum over all rows), and its limit."""


@kind("loss over iterations")
def losses(context: Context) -> Product:
    """Draw mean squared errors of many runs, so that trainings on more and fewer rows compare."""
    tables = context.present(("name", "step", "train.size", _MSE, _HALF_SUM))
    rows = pd.concat([*tables.values()])
    curves = rows.pivot_table(index="step", columns="name", values=_MSE)
    arrived = int((last_rows(rows)[_HALF_SUM] < _BELOW).to_numpy().sum())
    size = int(rows["train.size"].iloc[0])
    levels = curves.ffill().quantile((0.25, 0.5, 0.75), axis=1).T
    known = [one for one in published_measures("notes/addition") if one.number is not None]
    figure, axes = style.subplots((14.0, 8.5))
    axes.plot(curves.index, curves, color=OURS.color, alpha=0.18, linewidth=0.5)
    for level, width in zip(levels, (1.2, 2.4, 1.2), strict=True):
        axes.plot(levels.index, levels[level], color=OURS.color, linewidth=width)
    parts = [(one.measure.partition("@"), one.number) for one in known]
    points = [(int(at), number) for (name, _, at), number in parts if name == _MSE and at]
    ring(axes, points, markerfacecolor="white", zorder=4)
    axes.axhline(2 * _BELOW / size, color="0.35", linewidth=0.8, linestyle="--")
    axes.set(yscale="log", xlabel="Iteration", ylabel="Mean squared error")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    seeds = curves.shape[1]
    side = levels.set_axis([f"quartile.{level:g}" for level in levels], axis=1)
    side.insert(0, "runs", curves.notna().sum(axis=1))
    return context.plotted(
        figure,
        side.reset_index(),
        f"{seeds} seeds (thin) on {size:,} rows, median and quartiles (thick).",
        f"Dashed: a loss of {_BELOW:g}, half the sum over all rows; {arrived} of {seeds} seeds end "
        "below it.",
        f"Rings: the one run shown, on 10,000 rows, {known[0].standing}." if known else "",
    )


ARTICLE = "uniform"
STARTS = {
    ARTICLE: "Ŵ and M̂ from {range}",
    "nac": "Start of a NAC",
    "xavier-normal": "Xavier-normal start",
    "truncated-normal": "Start from a cut normal",
}
"""Start -> how its panel is called."""

INPUTS, OUTPUTS = 100, 10
_INITS = {"nac": "default", "xavier-normal": "xavier-normal", "truncated-normal": "truncated"}
"""Start -> the option `nalu_init` of the layer that begins so."""


def shares(w: np.ndarray) -> tuple[float, float, float]:
    """Return which shares of the weights are within 0.05 of 0, above 0.95 and below -0.95."""
    return float(np.mean(np.abs(w) < 0.05)), float(np.mean(w > 0.95)), float(np.mean(w < -0.95))


def shares_text(w: np.ndarray) -> str:
    """Say how many weights are close to the values that they should have, and how they deviate."""
    zero, one, minus_one = (f"{100 * share:.1f} %" for share in shares(w))
    near = f"{zero} within 0.05 of 0, {one} above 0.95, {minus_one} below −0.95"
    return f"{near}, deviation {np.std(w):.3f}"


@dataclass(frozen=True)
class Weights:
    """What weights are drawn from, and how many.

    ends: what the article's start draws from.
    """

    starts: tuple[str, ...] = tuple(STARTS)
    draws: int = 1000
    ends: tuple[float, float] = (-10, 10)
    bins: int = 100
    seed: int = 0

    @property
    def edges(self) -> np.ndarray:
        return np.linspace(-1, 1, self.bins + 1)

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights of every start."""
        return {start: self._of(start) for start in self.starts}

    def _of(self, start: str) -> np.ndarray:
        if start == ARTICLE:
            low, high = self.ends
            u = np.random.default_rng(self.seed).random((2, self.draws))
            u = low * (1 - u) + high * u  # Scaled so, ends may be as far apart as numbers go.
            # The tanh form of the sigmoid does not overflow.
            return np.tanh(u[1]) * (1 + np.tanh(u[0] / 2)) / 2
        found: list[torch.Tensor] = []
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            for _ in range(math.ceil(self.draws / (INPUTS * OUTPUTS))):
                layer = NALULayer(INPUTS, OUTPUTS, nalu_init=_INITS[start], dtype=torch.float64)
                found.append(layer.nac_add.weights().flatten())
        return torch.cat(found)[: self.draws].numpy()


@kind("weights", needs="nothing")
def weights(context: Context) -> Product:
    """Draw weights of every start, and then the figure."""
    part = Weights()
    return Product(context.stem, draw_weights(part, part.weights()))


def histogram_table(part: Weights, weights: Mapping[str, np.ndarray]) -> pd.DataFrame:
    found = []
    for start, w in weights.items():
        counts, ends = np.histogram(w, part.edges)
        columns = {"bin.low": ends[:-1], "bin.high": ends[1:], "count": counts}
        found.append(pd.DataFrame({"init": start, **columns, "share": counts / len(w)}))
    return pd.concat(found, ignore_index=True)


def draw_weights(part: Weights, weights: Mapping[str, np.ndarray]) -> Figure:
    """Draw the first start large, and the others below each other at its right."""
    figure = style.new_figure((8 * style.INCH, 4 * style.INCH))
    others = len(weights) - 1
    ratios = (1.6, 1) if others else (1,)
    grid = figure.add_gridspec(max(others, 1), len(ratios), width_ratios=ratios)
    places = [grid[:, 0], *(grid[row, 1] for row in range(others))]
    shown = style.looks(tuple(weights))
    for number, ((start, w), place) in enumerate(zip(weights.items(), places, strict=True)):
        axes = figure.add_subplot(place)
        counts, ends = np.histogram(w, part.edges)
        axes.stairs(counts, ends, fill=True, color=shown[start].color)
        axes.set(xlim=(-1.03, 1.03), ylim=(0, None))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
        axes.grid(visible=False, axis="x")
        low, high = (f"{end:g}".replace("-", "−") for end in part.ends)
        title = STARTS[start].format(range=f"U({low}, {high})")
        summary = f": deviation {np.std(w):.3f}" if number else f"\n{shares_text(w)}"
        axes.set_title(f"{title}{summary}")
        if number in (0, others):
            axes.set_xlabel("Weight W")
        else:
            axes.tick_params(labelbottom=False)
    figure.axes[0].set_ylabel("Number of weights")
    count = f"{part.draws:,} weights W = tanh(Ŵ) σ(M̂) each, {part.bins:,} bins."
    layer = f"A start is that of a layer of {INPUTS} inputs and {OUTPUTS} outputs."
    style.footnote(figure, count, layer if set(weights) != {ARTICLE} else "")
    return figure


_EPOCHS_SHOWN = (0, 1, 2, 5, *range(10, 250, 10))
_STEPS_SHOWN = (*range(0, 10_000, 1_000), *range(10_000, 50_000, 5_000))
_NALU = "--layer-type NALU --nalu-variant"

# fmt: off
EXPERIMENTS = (
    measured(
        "article/mystery",
        "The mystery arithmetic problem: sums, differences and products of 100 inputs",
        NALU_ARTICLE, "Performance evaluation",
        Recipe("mystery_arithmetic", "--max-epochs 250", range(50), Resources(30),
               steps_per_epoch=32),
        {**layers("vanilla", "NAC"), "article": ("NALU (article)", f"{_NALU} article"),
         "two-nac": ("NALU (two NACs)", f"{_NALU} two-nac"),
         "shared": ("NALU (paper)", f"{_NALU} shared")},
        Part(learning),
        parameter="nalu.variant",
        measures=(Measure("metric.train.mse", "training error", steps=_EPOCHS_SHOWN),
                  Measure("metric.test.mse", "test error", steps=_EPOCHS_SHOWN),
                  *(Measure(column, f"test error of {text}", optional=True)
                    for column, text in _BY_OPERATION.items())),
        note="A problem for each seed; the article shows one. Its text announces test inputs from "
        "-50 to 50, its code draws them from -10 to 10, as here; its listing divides, its text and "
        "this do not. The NALU of two NACs lies between that of the article and that of the "
        "paper."),
    Experiment(
        "article/w-distribution", "Weights of a NAC, drawn at random and at their start",
        NALU_ARTICLE, ("W distribution",), (), drawn(Part(weights)),
        note="Needs no training.",
        tables=(FurtherTable("experiments/weight_distribution.py",
                             "--init uniform nac xavier-normal truncated-normal "
                             "--csv-out {csv}/article-w-distribution.csv"),)),
    measured(
        "notes/addition", "The sum of ten numbers by two NALUs, trained on all rows at once",
        NALU_NOTES, "Notebook",
        Recipe("notebook_addition", "--max-iterations 50000 --train-size 1000", range(100),
               Resources(60)),
        layers("NALU"),
        Part(losses),
        measures=(Measure(_HALF_SUM, "loss", below=_BELOW),
                  Measure("metric.test.half-sum-squares", "test loss", below=_BELOW),
                  Measure(_MSE, "mean squared error", steps=_STEPS_SHOWN),
                  Measure("metric.test.mse", "mean squared test error")),
        note="On 1,000 rows, the notebook's run on 10,000: a fraction of the work for each of 100 "
        "seeds, and a limit that is ten times as wide for a row. The notebook's last evaluation "
        "trained on the test rows; here these are only measured."),
)
# fmt: on


_WEIGHTS_SCRIPT = "weight_distribution.py"
_WEIGHTS = """\
Show how the weights of a NAC are distributed: drawn at random, or as a layer starts with them.

A table of the histogram goes to --csv-out, a drawing to --figure-out; shares of weights near 0, 1
and -1 are printed. Nothing is trained.
"""
_STARTS = ("uniform", "xavier-normal", "truncated-normal", "nac")
_EXAMPLE = """example:
  weight_distribution.py --init uniform nac --figure-out weights.png --csv-out weights.csv
"""


def weights_command(argv: Sequence[str] | None = None) -> int:
    parser = ScriptParser(prog=_WEIGHTS_SCRIPT, description=_WEIGHTS, epilog=_EXAMPLE)
    add = adder(parser)
    add("--draws INT", "number of weights", type=integer(1, 10_000_000).one, usual=1000)
    text = "what --init uniform draws from (default: [-10,10])"
    add("--range [LOW,HIGH]", text, type=interval.one)
    bins = integer(1, 100_000).one
    add("--bins INT", "default: %(default)s", type=bins, default=100)
    add("--seed INT", "default: %(default)s", type=integer(0).one, default=0)
    add(
        "--init NAME ...",
        "uniform (the default): tanh and sigmoid of numbers from --range; xavier-normal, "
        "truncated-normal, nac: weights that a layer of 100 inputs and 10 outputs starts with; "
        "several are drawn beside each other",
        choices=_STARTS,
        default=["uniform"],
    )
    add("--csv-out PATH", "table to write: a row per bin", type=Path)
    add("--figure-out PATH", "drawing to write, .png or .pdf", type=Path)
    args = parser.parse_args(argv)
    return exit_code(_WEIGHTS_SCRIPT, lambda: _show_weights(args))


def _check_weights(args: argparse.Namespace) -> None:
    twice = next((start for start in args.init if args.init.count(start) > 1), None)
    if twice is not None:
        raise OptionError("--init", f"{twice} is given twice", "give every value once")
    if args.range is not None and "uniform" not in args.init:
        raise OptionError("--range", f"{args.init[0]} draws from no range", "add --init uniform")
    if args.figure_out is not None and args.figure_out.suffix[1:] not in style.FORMATS:
        problem = f"{args.figure_out} is not a name of a figure"
        raise OptionError("--figure-out", problem, "let it end with .png or .pdf")
    outputs = {"--csv-out": args.csv_out, "--figure-out": args.figure_out}
    refuse_one_file({flag: path for flag, path in outputs.items() if path is not None})


def _show_weights(args: argparse.Namespace) -> None:
    _check_weights(args)
    low, high = args.range or (-10, 10)
    part = Weights(tuple(args.init), args.draws, (low, high), args.bins, args.seed)
    weights, picture = part.weights(), args.figure_out
    try:
        # Neither file is written if the other cannot be.
        with atomic_path(picture, named=True) if picture else nullcontext() as temporary:
            if temporary is not None:
                with style.drawing():
                    style.save(draw_weights(part, weights), temporary, picture.suffix[1:])
            if args.csv_out is not None:
                write_frame(args.csv_out, histogram_table(part, weights))
    except OSError as error:
        raise UsageError(f"cannot write {picture}: {error.strerror}") from None
    if str(args.csv_out) not in STREAMS:
        for start, w in weights.items():
            sys.stdout.write(f"{start}: {len(w)} weights, {shares_text(w)}\n")
