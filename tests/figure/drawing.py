"""What tests of figures share: rendering without files being written, and reading a drawing."""

from unittest import mock

import pandas as pd

from stable_nalu.figure.entries import entry_of_files, made
from stable_nalu.figure.runs import Context
from stable_nalu.paper.index import find_figure
from stable_nalu.result.stored import DATA
from stable_nalu.statistics import means as fits
from stable_nalu.statistics.setups import Estimators
from stable_nalu.statistics.table import SPARSITY, TEST, VALIDATION
from tests.figure.specimen import write_specimen
from tools.kept_runs import files_of, kept

FAST = Estimators("frozen", "scaled")


def rough_fit(objective, start, upper, *, frozen=False):
    """A mean with an interval around it, which takes no time; tests of statistics fit for real."""
    del objective, frozen
    mean, nuisance = start
    return fits.MeanFit(mean, max(0.9 * mean, 0.0), min(1.1 * mean, upper), nuisance)


def made_of(context):
    """All products of a figure."""
    context.estimators = FAST
    return [made(part, context) for part in context.figure.parts]


def products(key, folder, make=True):
    """All products of a figure, and its context with the warnings; fits are rough.

    make: from made-up files, or from kept ones where measures are kept.
    """
    entry = find_figure(key)
    with mock.patch.object(fits, "exact_fit", rough_fit):
        if make and files_of(entry, DATA):
            context = kept(entry, DATA)
            return made_of(context), context
        if make:
            write_specimen(entry, folder)
        context = Context(entry, folder)
        return made_of(context), context


def exported(key, folder, tables):
    """All products of a figure from tables of rows, given by the names of their files."""
    for name, rows in tables.items():
        path = folder / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(path, index=False)
    return products(key, folder, make=False)[0]


def own(tmp_path, files, labels=(), kind="range", column=None, threshold=None):
    """The figure of a user's files, and its context with the warnings."""
    paths = [tmp_path / file for file in files]
    entry = entry_of_files(kind, paths, labels, "mine", column)
    context = Context(entry, tmp_path, threshold=threshold)
    return made_of(context)[0], context


def by_gid(axes, gid):
    """Artists of one meaning."""
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def means(axes, label):
    """x -> mean of a series."""
    found = {}
    for line in by_gid(axes, f"{label} mean"):
        found |= dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    return found


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def legend_texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def tick_texts(ticks):
    return [tick.get_text() for tick in ticks]


def texts(figure):
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def run_name(model="nru", interpolation="1-2", extrapolation="2-6", seed=0, operation="div"):
    return (
        f"{model}_op-{operation}_oob-c_rs-linear-linear_eps-0_rl-0-1_r-10-0-1_i-{interpolation}_"
        f"e-{extrapolation}_z-2-0.5-0.0_b128_s{seed}_h2_z2_lr-adam-0.00100-0.0"
    )


def metrics(path, runs):
    """Write an export; runs: name -> rows of (step, validation, test, sparsity)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"name,{VALIDATION},step,wall.time,{TEST},{SPARSITY}"]
    for name, rows in runs.items():
        lines += [f'"{name}",{v},{step},0,{test},{s}' for step, v, test, s in rows]
    path.write_text("\n".join(lines) + "\n")


def solved_at(step, sparsity=0.01):
    """Rows of a run whose errors are nothing from `step` on."""
    return [(at, *((1e-9, 1e-9) if at >= step else (1.0, 1.0)), sparsity) for at in (0, 1000, 2000)]


FAILED = [(at, 1.0, 5.0, 0.4) for at in (0, 1000, 2000)]
