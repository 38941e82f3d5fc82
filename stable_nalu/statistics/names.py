"""The options of a run, from its record or its name, and the labels of its model and operation.

Models are known by field 1 of a run name, and have labels in LaTeX. Runs are grouped by labels, so
that models with the same label count as one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stable_nalu.layer import entries
from stable_nalu.options.run_names import (
    AMPERSAND,
    UNION,
    Columns,
    columns_of,
    parse_leaf,
    signed,
)

if TYPE_CHECKING:
    from stable_nalu.options import Config


MODELS = {key.lower(): entry.shown for key, entry in entries().items()} | {
    "nac-nac-n": r"$\mathrm{NAC}_{\bullet}$",
    "mnac": r"$\mathrm{NAC}_{\bullet}$",
    "posnac-nac-n": r"$\mathrm{NAC}_{\bullet,\sigma}$",
    "reregualizedlinearposnac-nac-n": r"$\mathrm{NAC}_{\bullet,\mathrm{NMU}}$",
    "nalu-gr": "G-NALU",
    "nalu-nalu-2n": "NALU (separate)",
    "reregualizedlinearnac-nac-m": "NMU",
    "reregualizedlinearnalu-nalu-2nm": "Gated NAU/NMU",
    "regualizedlinearnac-nac-m": r"NMU, $\mathbf{W} = \mathbf{\hat{W}}$",
    "sillyreregualizedlinearnac-nac-m": r"NMU, $\mathbf{z} = \mathbf{W} \odot \mathbf{x}$",
    "reregualizedlinearnac-nac-npur": "Real NPU",
    "reregualizedlinearnac-nac-npu": "NPU",
}
"""Field 1 of a run name -> label of published models, and of units of this package."""

NAC_ADD = MODELS["nac"]
NAC_MUL = MODELS["nac-nac-n"]
NAC_MUL_SIGMA = MODELS["posnac-nac-n"]
NAC_MUL_NMU = MODELS["reregualizedlinearposnac-nac-n"]
NAC_ADD_Z = r"$\mathrm{NAC}_{+,R_z}$"
NALU_SHARED = "NALU (shared)"
NALU_SEPARATE = MODELS["nalu-nalu-2n"]
GATED = MODELS["reregualizedlinearnalu-nalu-2nm"]


def ablation_suffix(regualizer: float, regualizer_oob: float) -> str:
    """Return what a label gains when the sparsity penalty or the clamp of weights is off."""
    sparsity = r", no $\mathcal{R}_{sparse}$" if regualizer == 0 else ""
    return sparsity + (", no W-clamp" if regualizer_oob == 0 else "")


OPERATIONS = {
    "mul": (r"$\bm{\times}$", "×"),
    "div": (r"$\bm{\mathbin{/}}$", "/"),
    "add": (r"$\bm{+}$", "+"),
    "sub": (r"$\bm{-}$", "-"),
    "root": (r"$\sqrt{z}$", "√z"),
    "squared": (r"$z^2$", "z²"),
    "reciprocal": (r"$1\bm{\mathbin{/}z}$", "1/z"),
    "cumsum": ("cumsum", "cumsum"),
    "cumprod": ("cumprod", "cumprod"),
}
"""Operation -> LaTeX and plain label, in the order of tables."""


def model_label(code: str) -> str:
    """Return the label of a model, given field 1 of a run name; an unknown one is its own."""
    # Layers of users are there only once their files are loaded.
    units = (entry.shown for key, entry in entries().items() if key.lower() == code)
    return MODELS.get(code) or next(units, code)


def operation_label(operation: str, *, latex: bool = False) -> str:
    """Return the label of an operation, given with or without the prefix `op-`."""
    name = operation.removeprefix("op-")
    return OPERATIONS.get(name, (name, name))[0 if latex else 1]


def model_order(label: str) -> tuple[bool, str]:
    """Return the sort key of a label: LaTeX labels first, then alphabetical."""
    return not label.startswith("$"), label


_OF_MODEL = {"layer.option": "", "nalu.gate.shape": "matrix", "nalu.init": "default"}
"""Column that makes another model of a unit -> its value where it does not."""


def expand_name(name: str, columns: Columns | None = None) -> Columns:
    """Return the options of a run, with its name.

    `model` is the label, `model_code` is field 1. Raises ValueError for a name that ends before
    its seed.

    columns: the options; None: those that the name holds.
    """
    columns = dict(columns or parse_leaf(name))
    if "seed" not in columns:
        raise ValueError(f"run name {name!r} is not of an arithmetic task: it has no seed")
    if is_arithmetic(columns):
        single = is_single_module(columns["input.size"], columns["subset.ratio"])
        columns = signed(columns, AMPERSAND if single else UNION)
    label = model_label(columns["model_code"])
    # A table of runs has empty cells where the script of a run does not have the option.
    own = [columns[n] for n, usual in _OF_MODEL.items() if columns.get(n) not in (None, usual)]
    return {"name": name, "model": f"{label} ({', '.join(own)})" if own else label} | columns


def is_arithmetic(columns: Mapping[str, Any]) -> bool:
    """Return whether the options of a run are those of an arithmetic script."""
    size = columns.get("input.size")
    return size is not None and size == size and "subset.ratio" in columns


def is_single_module(input_size: float, subset_ratio: float | None) -> bool:
    """Return whether the operands are single inputs, that is subsets of size one."""
    return subset_ratio is not None and round(input_size * subset_ratio, 6) == 1


def config_columns(config: "Config") -> Columns:
    """Return the options of a run from its configuration, as `columns_of` does."""
    spec = config.spec
    return columns_of(spec.fields, [flag.dest for flag in spec.flags if flag.result], config)
