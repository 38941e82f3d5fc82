"""A summary for programs: columns with names that one can type, and a LaTeX table."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from .names import operation_label

_LEFT_OUT = {
    *("success.rate.max", "converged.at.median", "converged.at.sigma.2", "converged.at.max"),
    *("sparse.error.v", "sparse.error.max"),
}
_WORDS = {
    "success.rate.mean": "success_rate",
    "success.rate": "success",
    "converged.at": "solved_at",
    "sparse.error": "sparsity",
    "lower": "low",
    "upper": "high",
    "runs": "n",
}
_HEADS = {"success": "Success rate", "solved_at": "Solved at", "sparsity": "Sparsity error"}


def technical_name(name: str) -> str:
    """Return the column of an option, given as the argument of `train` is called."""
    return name.replace("_", ".")


def typed_summary(table: pd.DataFrame) -> Summary:
    """Return a summary without the columns that only the papers' scripts need, renamed."""
    kept = table.drop(columns=[column for column in table if column in _LEFT_OUT])
    return Summary(kept.rename(columns=typed_name))


def typed_name(column: str) -> str:
    """Return a column without dots; an option has the name of the argument of `train`."""
    for word, other in _WORDS.items():
        column = column.replace(word, other)
    plain = ".plain." in column
    return (column if plain else column.removesuffix(".mean")).replace(".", "_")


class Summary(pd.DataFrame):
    """One row per group of runs."""

    def to_latex(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a table for a paper, which needs the package booktabs.

        Options that all groups share are left out. Intervals, of 95 %, stand behind the means.
        """
        if "success_rate" not in self:
            return str(pd.DataFrame(self).to_latex(index=False))
        options = list(self.columns[: self.columns.get_loc("n")])
        shown = [c for c in options if c == "model" or len(set(map(str, self[c]))) > 1]
        heads = [*(_plain(c.replace("_", " ").capitalize()) for c in shown), "$n$"]
        body = [
            [*(_option(c, row[c]) for c in shown), str(row["n"]), *_measures(row)]
            for row in self.to_dict("records")
        ]
        lines = [rf"\begin{{tabular}}{{{'l' * len(shown)}rrrr}}", r"\toprule"]
        lines += [_line([*heads, *_HEADS.values()]), r"\midrule", *map(_line, body)]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _option(column: str, value: object) -> str:
    if column == "operation":
        return operation_label(str(value), latex=True)
    if column == "model":
        return _plain(str(value)) if "$" not in str(value) else str(value)
    if isinstance(value, float):
        return "--" if math.isnan(value) else f"{value:g}"
    return _plain(str(value)).replace("∪", r"$\cup$")


def _plain(text: str) -> str:
    for character in "_%&#":
        text = text.replace(character, f"\\{character}")
    return text


def _measures(row: dict) -> Iterable[str]:
    """Yield the cells of the three measures: percent, steps, and a share in powers of ten."""
    rate = (row[c] for c in ("success_rate", "success_low", "success_high"))
    yield _cell([rf"{100 * value:.0f}\,\%" for value in rate])
    for measure, show in (("solved_at", _steps), ("sparsity", _scientific)):
        values = [row[measure + end] for end in ("", "_low", "_high")]
        yield "--" if math.isnan(values[0]) else _cell([show(v) for v in values])


def _cell(texts: list[str]) -> str:
    mean, low, high = texts
    return f"{mean} [{low}, {high}]" if low and high else mean


def _steps(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.0f}".replace(",", r"\,")


def _scientific(value: float) -> str:
    if math.isnan(value):
        return ""
    if value == 0 or abs(value) >= 0.01:
        return f"{value:.2g}"
    digits, power = f"{value:.1e}".split("e")
    return rf"${digits} \cdot 10^{{{int(power)}}}$"
