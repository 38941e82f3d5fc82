"""What models are called in figures and tables, in LaTeX."""

from __future__ import annotations

from stable_nalu.layer import entries

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
