"""Order of models, ranges and operations in figures, and labels without LaTeX."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from stable_nalu.catalogue.ranges import INTERPOLATION_ORDER
from stable_nalu.statistics.names import MODELS, OPERATIONS

NAC_ADD = MODELS["nac"]
NAC_MUL = MODELS["nac-nac-n"]
NAC_MUL_SIGMA = MODELS["posnac-nac-n"]
NAC_MUL_NMU = MODELS["reregualizedlinearposnac-nac-n"]
NAC_ADD_Z = r"$\mathrm{NAC}_{+,R_z}$"
NALU_SHARED = "NALU (shared)"
NALU_SEPARATE = MODELS["nalu-nalu-2n"]
GATED = MODELS["reregualizedlinearnalu-nalu-2nm"]
OUR_MODELS = ("NMU", "NAU")

_LATEX_ORDER = (NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, NAC_ADD, NAC_ADD_Z)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def legend_order(labels: Iterable[str]) -> list[str]:
    """Distinct labels as published legends have them: LaTeX ones first, then by alphabet."""

    def rank(label: str) -> tuple[bool, int, str]:
        known = _LATEX_ORDER.index(label) if label in _LATEX_ORDER else len(_LATEX_ORDER)
        return (not label.startswith("$"), known, label.lower())

    return sorted(dict.fromkeys(labels), key=rank)


def range_order(labels: Iterable[str]) -> list[str]:
    """Distinct ranges: the nine in their order, others after them by their numbers."""

    def rank(label: str) -> tuple[int, tuple[float, ...], str]:
        closed = label.replace(")", "]")
        if closed in INTERPOLATION_ORDER:
            return (INTERPOLATION_ORDER.index(closed), (), "")
        numbers = tuple(float(number) for number in _NUMBER.findall(label))
        return (len(INTERPOLATION_ORDER), numbers, label)

    return sorted(dict.fromkeys(labels), key=rank)


def operation_order(operations: Iterable[str]) -> list[str]:
    """Distinct operations (`mul`, …) in the order of tables; unknown ones last."""
    known = list(OPERATIONS)
    return sorted(
        dict.fromkeys(operations), key=lambda o: known.index(o) if o in known else len(known)
    )


def half_open(label: str) -> str:
    """A range as x axes print it: `U[1,2)`."""
    return label.replace("]", ")")


def plain(label: str) -> str:
    """A label without LaTeX, for terminals and documents."""
    text = label.replace(r"\bullet", "•").replace(r"\sigma", "σ").replace(r"\odot", "⊙")
    text = text.replace(r"\mathcal{R}_{sparse}", "R_sparse")
    text = re.sub(r"\\(?:mathrm|mathbf|hat|bm)\b", "", text)
    return re.sub(r"[${}\\]", "", text)


def suggestions(word: str, known: Sequence[str]) -> str:
    """` (did you mean …?)` with near spellings, or nothing."""
    near = difflib.get_close_matches(word, known, 3, 0.5)
    parts = [name for name in known if word and word in name]
    found = list(dict.fromkeys([*near, *parts]))[:3]
    return f"; did you mean {', '.join(found)}?" if found else ""
