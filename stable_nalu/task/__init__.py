"""The training scripts, a module for each: its flags are `SCRIPT`, and it trains `TASK`.

`table` lists them all. The package is a function that makes a task of one's own.
"""

import copyreg
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stable_nalu.base import Room
from stable_nalu.options import ScriptSpec

if TYPE_CHECKING:
    from .own_task import BroughtTask


def script_of(name: str) -> ScriptSpec:
    """Return the description of a script."""
    from .table import SCRIPTS

    return SCRIPTS[name]


# Other processes get the name of a script, as its checks and forms are functions.
copyreg.pickle(ScriptSpec, lambda spec: (script_of, (spec.name,)))


class _Tasks(Room):
    """A module that is a function, too."""

    def __call__(
        self,
        what: Any,
        *,
        target: str | Sequence[str] | None = None,
        inputs: int | Sequence[str] | None = None,
        outputs: int | None = None,
        train: Any = None,
        test: Any = None,
        name: str | None = None,
        noise: float = 0.0,
        scale: bool = False,
        threshold: float | str | None = None,
        hidden: int | None = None,
    ) -> "BroughtTask":
        """Return your own task, which `train` takes as its script.

        Args:
            what: a formula such as "x1*x2 + x3"; a function of x `(rows, inputs)`, a tensor; or a
                table, as a DataFrame or the path of a CSV file.
            target: the column of a table that is learned, or several.
            inputs: the number of a function's inputs, the names of a formula's, or columns.
            outputs: of a function; 1 by default.
            train: where inputs are drawn from: a pair for all, a list of a pair for each, a
                dictionary by name, a law of scipy.stats, or a function `(generator, rows) -> x`.
            test: the same for the test, but a list of pairs are ranges that rows take in turns. Of
                a table, a condition such as "r > 3", a share of the rows, or a column.
            name: in names of runs and tables.
            noise: deviation of normal noise added to training targets, or already in a table's.
            scale: whether the network computes with standardised inputs and targets.
            threshold: the test error below which a run is solved, "exact", or "none".
            hidden: width between two layers; None: one layer.

        Examples:
            >>> fma = sn.task("x1 * x2 + x3", train=(1, 2), test=(2, 6))
        """
        from .own_task import made

        flags: Any = {"task": name, "outputs": outputs, "noise": noise, "scale": scale}
        flags |= {"threshold": threshold, "hidden": hidden}
        return made(what, target, inputs, train, test, **flags)


_HERE: Any = sys.modules[__name__]
_HERE.__class__ = _Tasks
