"""What run names say: the options of a run, and the labels of its model and operation.

Models are known by field 1 of a run name. Runs are grouped by labels, so that models with the same
label count as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stable_nalu.catalogue.ranges import AMPERSAND, UNION, canonical
from stable_nalu.errors import UsageError
from stable_nalu.options.run_name import parse_leaf

if TYPE_CHECKING:
    import pandas as pd

MODELS = {
    "linear": "Linear",
    "relu": "ReLU",
    "relu6": "ReLU6",
    "lstm": "LSTM",
    "nac": r"$\mathrm{NAC}_{+}$",
    "nac-nac-n": r"$\mathrm{NAC}_{\bullet}$",
    "mnac": r"$\mathrm{NAC}_{\bullet}$",
    "posnac-nac-n": r"$\mathrm{NAC}_{\bullet,\sigma}$",
    "reregualizedlinearposnac-nac-n": r"$\mathrm{NAC}_{\bullet,\mathrm{NMU}}$",
    "nalu": "NALU",
    "nalu-gr": "G-NALU",
    "nalu-nalu-2n": "NALU (separate)",
    "inalu": "iNALU",
    "reregualizedlinearnac": "NAU",
    "reregualizedlinearnac-nac-m": "NMU",
    "reregualizedlinearmnac": "NMU",
    "reregualizedlinearnalu-nalu-2nm": "Gated NAU/NMU",
    "regualizedlinearnac-nac-m": r"NMU, $\mathbf{W} = \mathbf{\hat{W}}$",
    "sillyreregualizedlinearnac-nac-m": r"NMU, $\mathbf{z} = \mathbf{W} \odot \mathbf{x}$",
    "reregualizedlinearnac-nac-npur": "Real NPU",
    "reregualizedlinearnac-nac-npu": "NPU",
    "realnpu": "Real NPU",
    "npu": "NPU",
    "mcfc": "MCFC",
    "mulmcfc": "MulMCFC",
    "mulmcfcsigninalu": "MulMCFC (sign: iNALU)",
    "mulmcfcsignrealnpu": "MulMCFC (sign: Real NPU)",
}
"""Field 1 of a run name -> label; a model that is not here is shown as it stands."""

ROBUSTNESS_MODELS = {"signnmru": "Sign NMRU"}
"""Labels that only the robustness figures use."""

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


def model_label(code: str, *, robustness: bool = False) -> str:
    """Return the label of a model, given field 1 of a run name."""
    labels = MODELS | (ROBUSTNESS_MODELS if robustness else {})
    return labels.get(code, code)


def operation_label(operation: str, *, latex: bool = False) -> str:
    """Return the label of an operation, given with or without the prefix `op-`."""
    name = operation.removeprefix("op-")
    return OPERATIONS.get(name, (name, name))[0 if latex else 1]


def model_order(label: str) -> tuple[bool, str]:
    """Return the sort key of a label: LaTeX labels first, then alphabetical."""
    return not label.startswith("$"), label


def ablation_suffix(regualizer: float, regualizer_oob: float) -> str:
    """Return what a label gains when the sparsity penalty or the clamp of weights is off."""
    sparsity = r", no $\mathcal{R}_{sparse}$" if regualizer == 0 else ""
    return sparsity + (", no W-clamp" if regualizer_oob == 0 else "")


def expand_names(names: Iterable[str]) -> pd.DataFrame:
    """Return a table of one row per run name, with its options.

    `model` is the label, `model_code` is field 1.
    """
    import pandas as pd

    options = []
    for name in names:
        try:
            columns = parse_leaf(name)
        except ValueError as error:
            raise UsageError(str(error)) from None
        single = is_single_module(columns["input.size"], columns["subset.ratio"])
        for column in ("interpolation.range", "extrapolation.range"):
            columns[column] = canonical(columns[column], AMPERSAND if single else UNION)
        options.append({"name": name, "model": model_label(columns["model_code"])} | columns)
    return pd.DataFrame(options, columns=None if options else ["name", "model"])


def is_single_module(input_size: float, subset_ratio: float | None) -> bool:
    """Return whether the operands are single inputs, that is subsets of size one."""
    return subset_ratio is not None and round(input_size * subset_ratio, 6) == 1
