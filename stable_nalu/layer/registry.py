"""The one table of layers: public key, label, citation, class and recurrent cell.

Command-line choices, tables, legends and tests read it.
"""

import inspect
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base import papers
from stable_nalu.base.papers import MADSEN_2020, MISTRY_2022_DIVISION, TRASK_2018, Paper

from . import (
    ablations,
    basic,
    choosing,
    division,
    equations,
    gated,
    mcfc,
    nac,
    nalu,
    nau_nmu,
    npu,
    nsr,
)
from .base import option_parameters, recurrent

FAMILIES = (
    *(nac, nau_nmu, nalu, npu, division, gated, mcfc, equations, nsr, basic, ablations, choosing),
)
"""Modules of all layers of the package."""

ColorAndMarker = tuple[str, str]
"""Colour and marker in every figure; colours that colour-blind readers tell apart."""

BLUE, VERMILION, GREEN, PURPLE, AMBER = "#0072B2", "#D55E00", "#009E73", "#AA3377", "#E69F00"
SKY, BLACK, WINE, OLIVE, GREY = "#56B4E9", "#000000", "#882255", "#999933", "#777777"
COLORS = (BLUE, VERMILION, GREEN, PURPLE, AMBER, SKY, BLACK, WINE, OLIVE, GREY)


@dataclass(frozen=True)
class LabelledOptions:
    """A label that depends on options, such as sNMU = NMU with noise."""

    label: str
    options: dict[str, object]
    cites: Paper
    look: ColorAndMarker | None = None


@dataclass(frozen=True)
class LayerEntry:
    """What the project knows about one layer key.

    An entry without a layer is a recurrent cell only; one without either is the first half of a
    pair of names (`X` + `mnac` asks for the layer `X[:-3] + "MNAC"`) and cannot be built. The cell
    of a layer that `recurs` is made of it. `latex` is a formula that figures show in place of the
    label, `look` its colour and marker. The `origin` of a layer that is not of this package is its
    file or the package that brings it.
    """

    key: str
    label: str
    cites: Paper
    layer: type[ExtendedTorchModule] | None = None
    own_cell: type[ExtendedTorchModule] | None = None
    recurs: bool = False
    latex: str | None = None
    tier: str = "core"
    fixed_options: dict[str, object] = field(default_factory=dict)
    origin: str | None = None
    variants: tuple[LabelledOptions, ...] = ()
    look: ColorAndMarker | None = None

    @cached_property
    def cell(self) -> type[ExtendedTorchModule] | None:
        """Return the class of the recurrent cell."""
        return recurrent(self.layer) if self.recurs and self.layer else self.own_cell

    @property
    def has_cell(self) -> bool:
        """Return whether there is a recurrent cell."""
        return self.recurs or self.own_cell is not None

    @property
    def shown(self) -> str:
        """Return what figures and tables of runs call the layer."""
        return f"${self.latex}$" if self.latex else self.label

    @cached_property
    def options(self) -> frozenset[str]:
        """Return the names of the keyword-only options that the layer, or the cell, reads."""
        return frozenset(self.parameters) - set(self.fixed_options)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return these options with their defaults, fixed ones too."""
        built = self.layer or self.cell
        return {} if built is None else option_parameters(built)

    @property
    def formula(self) -> str:
        """Return the first formula of the docstring, in one line."""
        found = _FORMULA.search(inspect.getdoc(self.layer or self.cell) or "")
        lines = found[1].strip().splitlines() if found else []
        return "; ".join(" ".join(line.split()) for line in lines)

    @property
    def module(self) -> Any:
        """Return the class of a layer, of a user's plain module its own class."""
        return getattr(self.layer, "Module", self.layer)

    @property
    def is_plain(self) -> bool:
        """Return whether the layer wraps a plain torch module."""
        return hasattr(self.layer, "Module")


_FORMULA = re.compile(r"\n\n((?: {4}.*\n?)+)")

TIERS = ("core", "extra", "own")
"""Layers of figures, those of published code alone, and those of users, in the order of lists."""


def _activation(key: str, cites: Paper, label: str | None = None) -> LayerEntry:
    """Return the entry of a dense layer with an activation."""
    fixed: dict[str, object] = {"activation": key}
    return LayerEntry(key, label or key, cites, basic.BasicLayer, fixed_options=fixed)


def _trial(
    label: str,
    layer: type[ExtendedTorchModule],
    *,
    recurs: bool = False,
    cites: Paper = MADSEN_2020,
    latex: str | None = None,
) -> LayerEntry:
    """Return the entry of a layer that no figure shows: its key is the name of its class."""
    key = layer.__name__.removesuffix("Layer")
    return LayerEntry(key, label, cites, layer, recurs=recurs, latex=latex, tier="extra")


def _second(key: str) -> LayerEntry:
    """Return the entry of a key that only names a pair of layers."""
    label = "NMU, z = W x (layer 2 only)"
    return LayerEntry(key, label, MADSEN_2020, latex=_SILLY, tier="extra")


_RAW = r"\ \mathbf{W} = \mathbf{\hat{W}}"
_SILLY = r"\mathrm{NMU},\ \mathbf{z} = \mathbf{W} \odot \mathbf{x}"

_SNMU: dict[str, object] = {"nmu_noise": True}
_GOLDEN = ("nalu_gate", "nalu_mul", "nac_weight")
_NMU_VARIANTS = (
    LabelledOptions("sNMU", _SNMU, papers.MISTRY_2022_ROBUST, (SKY, "P")),
    LabelledOptions("batch sNMU", _SNMU | {"noise_range": [1, 0]}, papers.MISTRY_2022_ROBUST),
)
_NALU2IMG: dict[str, object] = {"nalu_init": "uniform", "eps": 1e-10}
_FREE_GATE: dict[str, object] = {"nalu_gate": "independent"}
_NALU_VARIANTS = (
    LabelledOptions(
        "G-NALU", dict.fromkeys(_GOLDEN, "golden-ratio"), papers.RANA_2019, (GREY, "h")
    ),
    LabelledOptions("NALU2M", _NALU2IMG | {"nalu_two_nac": True}, TRASK_2018),
    LabelledOptions("NALUIG", _NALU2IMG | _FREE_GATE, TRASK_2018),
    LabelledOptions("NALU2MIG", _NALU2IMG | {"nalu_two_nac": True} | _FREE_GATE, TRASK_2018),
)
_DMU_VARIANTS = (
    LabelledOptions("DMU add", {"operands": "add"}, papers.CURRY_2025, (WINE, "p")),
    LabelledOptions("DMU sub", {"operands": "sub"}, papers.CURRY_2025, (WINE, "h")),
)
_GATED_VARIANTS = (
    LabelledOptions("Gated NAU/NMU", {"nalu_two_nac": True, "nalu_mul": "mnac"}, MADSEN_2020),
)
_MODIFIED: dict[str, object] = {
    "npu_clip": "wg",
    "npu_Wr_init": "xavier-uniform-constrained",
    "regualizer_npu_w": 1,
    "regualizer_gate": 1,
}
_REALNPU_VARIANTS = (
    LabelledOptions("Real NPU (modified)", _MODIFIED, MISTRY_2022_DIVISION, (BLUE, "P")),
)

_OF_PACKAGE = (
    LayerEntry("NAC", "NAC", TRASK_2018, nac.NACLayer, recurs=True,
               latex=r"\mathrm{NAC}_{+}", look=(WINE, "<")),
    LayerEntry("PosNAC", "PosNAC", MADSEN_2020, nac.PosNACLayer, recurs=True,
               latex=r"\mathrm{NAC}_{+,\sigma}", look=(PURPLE, "X")),
    LayerEntry("MNAC", "MNAC", MADSEN_2020, nac.MNACLayer, recurs=True, look=(WINE, "<")),
    LayerEntry("ReRegualizedLinearNAC", "NAU", MADSEN_2020, nau_nmu.NAULayer, recurs=True,
               look=(BLUE, "^")),
    LayerEntry("ReRegualizedLinearPosNAC", "PosNAU", MADSEN_2020, nau_nmu.PosNAULayer,
               recurs=True, latex=r"\mathrm{NAC}_{+,\mathrm{NMU}}", look=(GREEN, "P")),
    LayerEntry("ReRegualizedLinearMNAC", "NMU", MADSEN_2020, nau_nmu.NMULayer, recurs=True,
               variants=_NMU_VARIANTS, look=(BLUE, "o")),
    _activation("Tanh", papers.RUMELHART_1986),
    _activation("Sigmoid", papers.RUMELHART_1986),
    _activation("ReLU6", papers.KRIZHEVSKY_2010),
    _activation("Softsign", papers.GLOROT_2010),
    _activation("SELU", papers.KLAMBAUER_2017),
    _activation("ELU", papers.CLEVERT_2016),
    _activation("ReLU", papers.NAIR_2010),
    _activation("linear", TRASK_2018, "Linear"),
    LayerEntry("RNN-linear", "RNN-linear", MADSEN_2020, None, basic.BasicCell,
               fixed_options={"activation": "linear"}),
    LayerEntry("NRU", "NRU", MISTRY_2022_DIVISION, division.ReciprocalNMULayer,
               look=(GREEN, "s")),
    LayerEntry("NMRU", "NMRU (no sign retrieval)", MISTRY_2022_DIVISION,
               division.ConcatReciprocalNMULayer, look=(PURPLE, "*")),
    LayerEntry("SignNMRU", "NMRU", MISTRY_2022_DIVISION,
               division.ConcatReciprocalNMUSignRetrievalLayer, look=(PURPLE, "D")),
    LayerEntry("GatedSignNMRU", "NMRU (gated)", MISTRY_2022_DIVISION,
               division.ConcatReciprocalNMUGatedSignRetrievalLayer, look=(PURPLE, "P")),
    LayerEntry("iNALU", "iNALU", papers.SCHLOER_2020, gated.INALULayer, look=(OLIVE, "X")),
    LayerEntry("MCFC", "MCFC", papers.HOEDT_2021, mcfc.MCFullyConnected, look=(GREEN, "h")),
    LayerEntry("MulMCFC", "MulMCFC", papers.HOEDT_2021, mcfc.MulMCFC, look=(GREEN, "h")),
    LayerEntry("MulMCFCSignINALU", "MulMCFC (sign: iNALU)", papers.HOEDT_2021,
               mcfc.MulMCFCSignINALU, look=(OLIVE, "h")),
    LayerEntry("MulMCFCSignRealNPU", "MulMCFC (sign: Real NPU)", papers.HOEDT_2021,
               mcfc.MulMCFCSignRealNPU, look=(VERMILION, "h")),
    LayerEntry("NALU", "NALU", TRASK_2018, nalu.NALULayer, recurs=True,
               variants=_NALU_VARIANTS, look=(AMBER, "v")),
    LayerEntry("ReRegualizedLinearNALU", "Gated NAU", MADSEN_2020, nalu.GatedNAUNMULayer,
               recurs=True, variants=_GATED_VARIANTS, look=(OLIVE, "D")),
    LayerEntry("NPU", "NPU", papers.HEIM_2020, npu.NPULayer, look=(SKY, "s")),
    LayerEntry("RealNPU", "Real NPU", papers.HEIM_2020, npu.RealNPULayer,
               variants=_REALNPU_VARIANTS, look=(VERMILION, "^")),
    LayerEntry("DMU", "DMU", papers.CURRY_2025, gated.DMULayer, variants=_DMU_VARIANTS,
               look=(WINE, "D")),
    LayerEntry("ProductUnit", "Product unit", papers.DURBIN_1989, npu.ProductUnitLayer,
               look=(GREY, "p")),
    LayerEntry("EML", "EML", papers.ODRZYWOLEK_2026, equations.EMLLayer, look=(BLACK, "D")),
    LayerEntry("EQL", "EQL", papers.MARTIUS_2016, equations.EQLLayer, look=(SKY, "v")),
    LayerEntry("EQLDiv", "EQL-div", papers.SAHOO_2018, equations.EQLDivLayer, look=(WINE, "s")),
    LayerEntry("NSR", "NSR", papers.FABER_2023, nsr.NSRLayer, look=(SKY, "D")),
    LayerEntry("GRU", "GRU", papers.CHO_2014, None, basic.GRUCell, look=(OLIVE, "P")),
    LayerEntry("LSTM", "LSTM", papers.HOCHREITER_1997, None, basic.LSTMCell,
               look=(GREY, "o")),
    LayerEntry("RNN-tanh", "RNN-tanh", papers.ELMAN_1990, None, basic.RNNTanhCell,
               look=(GREEN, "X")),
    LayerEntry("RNN-ReLU", "RNN-ReLU", papers.ELMAN_1990, None, basic.RNNReLUCell,
               look=(VERMILION, "D")),
    _trial("Linear NAC", ablations.LinearNACLayer),
    _trial("NAU, W = W_hat", ablations.RegualizedLinearNACLayer, recurs=True,
           latex=rf"\mathrm{{NAU}},{_RAW}"),
    _trial("NMU, W = W_hat", ablations.RegualizedLinearMNACLayer, latex=rf"\mathrm{{NMU}},{_RAW}"),
    _trial("NMU, z = W x", ablations.SillyReRegualizedLinearMNACLayer, latex=_SILLY),
    _second("SillyReRegualizedLinearNAC"),
    _second("SillyReRegualizedLinearNALU"),
    _trial("Independent NAC", ablations.IndependentNACLayer, recurs=True),
    _trial("Multi-weight NAU", ablations.MultiWeightNAULayer, cites=MISTRY_2022_DIVISION),
    _trial("Sigmoid NAU", ablations.SigmoidNAULayer, cites=MISTRY_2022_DIVISION),
    _trial("Scaled sigmoid NAU", ablations.ScaledSigmoidNAULayer, cites=MISTRY_2022_DIVISION),
    _trial("Softmax NAC", choosing.SoftmaxNACLayer, recurs=True),
    _trial("Hard softmax NAC", choosing.HardSoftmaxNACLayer, recurs=True),
    _trial("Gumbel NAC", choosing.GumbelNACLayer, recurs=True),
    _trial("Gumbel MNAC", choosing.GumbelMNACLayer, recurs=True),
    _trial("Gradient bandit NAC", choosing.GradientBanditNACLayer, recurs=True),
    _trial("Ensemble Gumbel NAU", choosing.EnsembleGumbelNAULayer, cites=MISTRY_2022_DIVISION),
    _trial("Gradient bandit NALU", nalu.GradientBanditNALULayer, recurs=True),
    _trial("Gumbel NALU", nalu.GumbelNALULayer, recurs=True),
    _trial("Hard softmax NALU", nalu.HardSoftmaxNALULayer, recurs=True),
    _trial("Independent NALU", nalu.IndependentNALULayer, recurs=True),
    _trial("Linear NALU", nalu.LinearNALULayer),
    _trial("Pos NALU", nalu.PosNALULayer, recurs=True),
    _trial("NALU over NAU, W = W_hat", nalu.RegualizedLinearNALULayer, recurs=True,
           latex=rf"\mathrm{{NALU}},{_RAW}"),
    _trial("Softmax NALU", nalu.SoftmaxNALULayer, recurs=True),
)  # fmt: skip
_entries = {entry.key: entry for entry in _OF_PACKAGE}


def put(entry: LayerEntry) -> None:
    """Make an entry the last one of the table, in place of one of the same key."""
    drop(entry.key)
    _entries[entry.key] = entry


def entries() -> dict[str, LayerEntry]:
    """Return all entries by key, by tier and then in order of registration."""
    return dict(sorted(_entries.items(), key=lambda item: TIERS.index(item[1].tier)))


def own_entries() -> list[LayerEntry]:
    """Return the entries of layers that are not of this package."""
    return [entry for entry in _entries.values() if entry.origin is not None]


def activation_names() -> tuple[str, ...]:
    """Return the names of the plain activations, `linear` among them."""
    return tuple(key for key, e in _entries.items() if e.layer is basic.BasicLayer)


def labelled_as_another_key(name: str) -> str | None:
    """Return the key of what papers call so, where the name is the key of another layer."""
    return next(
        (k for k, e in _entries.items() if e.label == name and name in _entries and k != name), None
    )


SPELLINGS = {
    "NAC+": ("NAC₊", "NAC-add"),
    "NAC•": ("NAC*", "NAC.", "NAC-mul"),
    "NAC•,σ": ("NAC*,sigma", "NAC-sigma"),
    "NAC•,NMU": ("NAC*,NMU", "NAC-nmu"),
}
"""Model -> other ways to write it; case, blanks, `-` and `_` never matter."""


def spelled(name: str) -> str:
    """Return one spelling for all that mean the same."""
    return _SAME.get(_plainly(name), _plainly(name))


def _plainly(name: str) -> str:
    name = name.casefold().translate(str.maketrans({"•": "*", "·": "*", ".": "*", "₊": "+"}))
    return re.sub(r"[\s_-]", "", name.replace("σ", "sigma"))


_SAME = {_plainly(other): _plainly(name) for name, more in SPELLINGS.items() for other in more}


def drop(key: str | None = None, *, origin: str | None = None) -> None:
    """Remove the entry of a key, or all entries of an origin; those of this package stay."""
    for entry in own_entries():
        if entry.key == key or entry.origin == origin:
            del _entries[entry.key]
