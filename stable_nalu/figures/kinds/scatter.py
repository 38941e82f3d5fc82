"""Means of several measures at one epoch of each run, by model, with standard errors."""

from __future__ import annotations

import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.summary import mean_summary

from ..parts import Scatter
from ..product import Context, Product
from ..style import drawing, looks, new_figure
from .decoration import NO_DATA, Bottom, footnote, legend
from .digits import chosen_rows, model_places, read_digits
from .panels import draw_series, offsets


def render(part: Scatter, context: Context) -> Product:
    """Choose rows, take means, draw."""
    rows, labels, missing = read_digits(context)
    chosen = chosen_rows(rows, part.best)
    measures = available(part, chosen)
    if not measures:
        wanted = ", ".join(columns[0] for columns, _ in part.metrics[:2])
        raise UsageError(f"no file has a column for {part.y_label}, such as {wanted}")
    summary = mean_summary(chosen, ["model"], measures)
    models = model_places(labels, part.order)
    with drawing():
        figure = draw(part, context, summary, models, missing)
    stem = context.stem(part.stem)
    return Product(stem, figure, side={f"{stem}_plot_data": summary})


def available(part: Scatter, rows: pd.DataFrame) -> dict[str, str]:
    """Column -> text of the measures that the files have."""
    found = {}
    for columns, text in part.metrics:
        column = next(
            (c for c in columns if c in rows and bool(rows.loc[:, c].notna().any())), None
        )
        if column is not None:
            found[column] = text
    return found


def draw(part: Scatter, context: Context, summary: pd.DataFrame, models: list[str], missing: tuple):
    """Models on the x axis, measures beside each other."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
    measures = list(dict.fromkeys(summary["metric.type"]))
    shown = looks(measures, context.palette)
    for index, measure in enumerate(measures):
        table = summary[summary["metric.type"] == measure].set_index("model").reindex(models)
        found = pd.DataFrame(
            {
                "mean": table["mean"],
                "lower": table["mean"] - table["se"],
                "upper": table["mean"] + table["se"],
            }
        )
        x = pd.Series(range(len(models))).to_numpy() + offsets(len(measures))[index]
        draw_series(axes, x, found, shown[measure], measure, line=False)
    counts = dict(zip(summary["model"], summary["n"], strict=True))
    texts = [
        f"{m}\n" + (NO_DATA.strip() if m in missing else f"n = {counts.get(m, 0)}") for m in models
    ]
    axes.set_xticks(range(len(models)), texts)
    axes.set_xlim(-0.5, len(models) - 0.5)
    axes.set_ylabel(part.y_label)
    axes.set_xlabel("Model")
    if max(map(len, models)) * len(models) > 70:
        axes.tick_params(axis="x", labelrotation=20)
    legend(figure, Bottom(shown, {}, (), "", "", lines=False))
    when = "at the last epoch" if part.best is None else f"at the best {part.best} of the last ten"
    footnote(figure, f"Means over runs {when}. Bars: standard errors.", context.stamp)
    return figure
