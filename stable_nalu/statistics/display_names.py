"""Names of models and operations in tables and legends: the one table of them.

Models are known by field 1 of a run name. LaTeX names are also what grouping goes by.
"""

from __future__ import annotations

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
"""Field 1 of a run name -> label; what is not here is shown as it stands."""

ROBUSTNESS_MODELS = {"signnmru": "Sign NMRU"}
"""Labels of the robustness figures only."""

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
    """Label of field 1 of a run name."""
    labels = MODELS | (ROBUSTNESS_MODELS if robustness else {})
    return labels.get(code, code)


def operation_label(operation: str, *, latex: bool = False) -> str:
    """Label of an operation, given with or without the prefix `op-`."""
    name = operation.removeprefix("op-")
    return OPERATIONS.get(name, (name, name))[0 if latex else 1]


def model_order(label: str) -> tuple[bool, str]:
    """Sort key of labels: LaTeX ones first, then alphabetical."""
    return not label.startswith("$"), label


def ablation_suffix(regualizer: float, regualizer_oob: float) -> str:
    """What a label gains when the sparsity penalty or the clamp of weights is off."""
    sparsity = r", no $\mathcal{R}_{sparse}$" if regualizer == 0 else ""
    return sparsity + (", no W-clamp" if regualizer_oob == 0 else "")
