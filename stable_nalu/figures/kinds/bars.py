"""Accuracy of each class, whole and zoomed."""

from __future__ import annotations

import pandas as pd

from stable_nalu.errors import UsageError

from ..parts import Bars
from ..product import Context, Product
from ..source import numeric, read_csv
from ..style import drawing, looks, new_figure
from .decoration import NO_DATA, footnote, patch_legend

WIDTH = 0.6
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx")


def render(part: Bars, context: Context) -> Product:
    """Read, draw; nothing is estimated."""
    tables, labels, missing = [], [], []
    for one in context.series:
        label = one.label or one.files[0]
        labels.append(label)
        path = context.source.expect(one.files, (label,))
        if path is None:
            missing.append(label)
            continue
        table = read_csv(path, ("digit", "accuracy"), "a table of class accuracies")
        tables.append(numeric(table, ("accuracy",), path).assign(model=label))
    if not tables:
        raise UsageError(f"nothing to draw: {'; '.join(context.source.warnings)}")
    table = pd.concat(tables, ignore_index=True)
    with drawing():
        figure = draw(part, context, table, labels, tuple(missing))
    stem = context.stem(part.stem)
    name = f"{stem.removesuffix('_class_accs')}_combined_class_accs"
    return Product(stem, figure, side={name: table.filter(["model", "digit", "accuracy"])})


def draw(part: Bars, context: Context, table: pd.DataFrame, labels: list[str], missing: tuple):
    """Two panels of grouped bars."""
    figure = new_figure(part.size)
    shown = looks(labels, context.palette)
    classes = sorted(table["digit"].unique())
    each = WIDTH / len(labels)
    for place, zoomed in enumerate((False, True), start=1):
        axes = figure.add_subplot(1, 2, place)
        for index, label in enumerate(labels):
            found = table[table["model"] == label].set_index("digit")["accuracy"].reindex(classes)
            x = [at - WIDTH / 2 + (index + 0.5) * each for at in range(len(classes))]
            axes.bar(
                x,
                found,
                each,
                color=shown[label].color,
                hatch=_HATCHES[index % len(_HATCHES)],
                edgecolor="white",
                linewidth=0.3,
                label=label,
            )
        axes.set_xticks(range(len(classes)), [str(c) for c in classes])
        axes.set_ylim(*(part.zoom if zoomed else (0, 1)))
        axes.set_xlabel("Digit")
        axes.set_ylabel("Success rate")
        axes.grid(visible=False, axis="x")
    entries = {
        label + (NO_DATA if label in missing else ""): (shown[label].color, _HATCHES[i % 5])
        for i, label in enumerate(labels)
    }
    patch_legend(figure, entries)
    footnote(figure, "One trained network a model: no intervals. Right: zoomed.", context.stamp)
    return figure
