"""How far success rates depend on the threshold, where two were used for the same figures."""

from __future__ import annotations

from collections.abc import Sequence

from ..stored import TEST_ERROR
from .markdown import heading, plain, rate, table
from .section import Result

CRITERION = "benchmark"
HEAD = ("figure", "unit", "epsilon 1e-5", "epsilon 1e-4")
_WIDER = 100
"""By what the threshold grows where epsilon grows tenfold: it is a squared error."""
TEXT = (
    "Figures of the primer count a run as solved whose test error is below that of a module with "
    "weights epsilon away from the right ones. The benchmark's list of set-ups has an epsilon of "
    "1e-5, which counts everywhere on this page; the script that is published with it has 1e-4. "
    "Of {units} units in these figures {changed} have other rates at 1e-4:"
)


def section(results: Sequence[Result]) -> list[str]:
    """Return the part of the page; nothing where no such figure is kept."""
    chosen = [found for found in results if found.experiment.criterion == CRITERION]
    rows, units = [], 0
    for found in chosen:
        for model, runs in found.runs.groupby("model", sort=False):
            units += 1
            errors, limits = (runs[name].to_numpy(float) for name in (TEST_ERROR, "threshold"))
            counts = [int((errors < factor * limits).sum()) for factor in (1, _WIDER)]
            if counts[0] != counts[1]:
                label = plain(found.experiment.model(str(model)).label)
                key = f"[{plain(found.experiment.key)}](#{found.experiment.key})"
                rows.append([key, label, *(rate(count, len(runs)) for count in counts)])
    if not rows:
        return []
    told = TEXT.format(units=units, changed=len(rows))
    return [heading(2, "At another threshold", "thresholds"), told, table(HEAD, rows)]
