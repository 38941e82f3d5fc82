"""The options of runs of arithmetic scripts, read from their names: those of published logs."""

import re

from . import flags
from . import name_fields as nf
from .flag import Flag, FlagGroup

_DECLARED = [one for one in vars(flags).values() if isinstance(one, Flag | FlagGroup)]
_FLAGS = (flag for one in _DECLARED for flag in ([one] if isinstance(one, Flag) else one))
_YOUNG = dict.fromkeys(flag.in_name for flag in _FLAGS if flag.in_name)

_LATER = (
    *(nf.L1, nf.BETA, nf.NPU_WEIGHT, nf.GATE, nf.SCALE_TYPE, nf.NPU_CLIP, nf.NPU_INIT),
    *(nf.PRECISION, nf.NMU_NOISE, nf.NAU_NOISE, nf.BETA_NAU, nf.CRITERION_TRASH, nf.ID),
    *(nf.NOISE_RANGE, nf.template("D-{sample_distribution}"), nf.NPU_WEIGHT_AND_TYPE),
    *(nf.GRAD_NORM, nf.LOG_INTERVAL, nf.NPU_WEIGHT_SWITCH, nf.REALNPU_TYPE, nf.TRASH_CELL),
    *(nf.WEIGHT_SETS, nf.GRAD_VALUE, nf.REINIT, nf.template("x-{extrapolation_rule:word}")),
    *map(nf.template, _YOUNG),
)
"""Fields behind the common ones, of all arithmetic scripts; the first that fits reads a text."""

_OLDEST = {
    "hidden.size": 2,
    "learning.optimizer": "Adam",
    "learning.rate": 0.001,
    "learning.momentum": 0.0,
}
"""Of the oldest names, which lack these fields."""


def parse_leaf(leaf: str) -> nf.Columns:
    """Return the columns that a run name of an arithmetic script holds.

    Fields 1 to 15 are read by position, later ones by what they begin with. Numbers compare as
    parsed: `r-10` and `r-10.0` give the same. `model_code` is field 1 as it stands.
    """
    model, *rest = leaf.split("_")
    columns: nf.Columns = {"model_code": model}
    for text, known in zip(rest, nf.COMMON, strict=False):
        found = nf.SIMPLE_TASK if text == "z-simple" else known.read(text)
        if found is None:
            form = re.sub(r":\w+", "", known.pattern)
            raise ValueError(f"run name {leaf!r}: field {text!r} is not of the form {form}")
        columns |= found
    columns = {**columns, **{n: cell for n, cell in _OLDEST.items() if n not in columns}}
    for text in rest[len(nf.COMMON) :]:
        found = nf.read_any(text, _LATER)
        if found is None:
            raise ValueError(f"run name {leaf!r}: field {text!r} is not known")
        columns |= found
    return columns
