"""Tables for papers in LaTeX, which need the package booktabs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stable_nalu.base.errors import UsageError, is_text

from . import setups


def tabular(
    columns: str, head: Sequence[str], rows: Iterable[Sequence[str]], caption: Any, label: Any
) -> str:
    """Return a table of cells; a caption or a label makes it a float.

    columns: how they are aligned. caption: in LaTeX, as it is. label: what refers to it.
    """
    for name, given in (("caption", caption), ("label", label)):
        if given is not None and not (isinstance(given, str) and is_text(given)):
            raise UsageError(f"{name}: {given!r} is not text")
    first, *body = (" & ".join(row) + r" \\" for row in (head, *rows))
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule"]
    lines += [*body, r"\bottomrule", r"\end{tabular}"]
    if caption is not None or label is not None:
        words = {"caption": caption, "label": label}
        said = [rf"\{word}{{{text}}}" for word, text in words.items() if text is not None]
        lines = [r"\begin{table}", r"\centering", *said, *lines, r"\end{table}"]
    return "\n".join([*lines, ""])


def option(column: str, value: object) -> str:
    """Return the value of an option; a label that is a formula stays one."""
    if column == "operation":
        return setups.operation_label(str(value), latex=True)
    if column == "model":
        parts = enumerate(str(value).split("$"))
        return "$".join(part if place % 2 else escaped(part) for place, part in parts)
    if isinstance(value, float):
        return "--" if math.isnan(value) else f"{value:g}"
    return escaped(str(value)).replace("∪", r"$\cup$")


_ESCAPES = {character: f"\\{character}" for character in "_%&#{}"}
_ESCAPES |= {"^": r"\^{}", "~": r"\~{}", "\\": r"\textbackslash{}"}


def escaped(text: str) -> str:
    return text.translate(str.maketrans(_ESCAPES))


_HEADS = ("Pairs", "Solved", "Difference [95\\,\\%]", "$p$", "Verdict")


def of_tests(rows: Iterable[Mapping[str, Any]], caption: Any, label: Any) -> str:
    """Return tests of pairs of models, of the columns of a `Comparison`."""
    cells = []
    for row in rows:
        ends = ("difference", "difference_low", "difference_high")
        gap, low, high = (f"{100 * row[end]:+.0f}" for end in ends)
        models = (option("model", row[name]) for name in ("model_a", "model_b"))
        solved = f"{row['solved_a']} / {row['solved_b']}"
        shown = f"${gap}$ $[{low}, {high}]$", f"{row['p_holm']:.3g}", row["verdict"]
        cells.append([*models, str(row["pairs"]), solved, *shown])
    return tabular("llrrrrl", ["Model", "Against", *_HEADS], cells, caption, label)
