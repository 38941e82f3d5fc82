"""The table of layers by key: label, citation, class, cell; and the classes of names in papers.

Command-line choices, tables, legends and tests read it. `NMU` is the published class `NMULayer`
with `nac_oob="clip"`: classes of names in papers keep weights in range. A name may also set options
(sNMU), or add logarithms (NAC•). Published classes, and scripts, keep the published defaults.
"""

import inspect
import re
import warnings
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import new_class
from typing import Any, NamedTuple

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base import papers
from stable_nalu.base.errors import UsageError, did_you_mean
from stable_nalu.base.papers import HOEDT_2021, MADSEN_2020, TRASK_2018, Paper
from stable_nalu.base.papers import MISTRY_2022_DIVISION as _DIVISION
from stable_nalu.functional import in_log_space

from . import base, equations, nalu, nau_nmu, npu, trials
from .base import option_parameters, recurrent
from .nalu import GatedNAUNMULayer as _GatedNAU
from .nau_nmu import ConcatReciprocalNMUGatedSignRetrievalLayer as _GatedNMRU
from .nau_nmu import ConcatReciprocalNMULayer as _PlainNMRU
from .nau_nmu import ConcatReciprocalNMUSignRetrievalLayer as _SignNMRU
from .nau_nmu import PosNAULayer as _PosNAU
from .npu import MulMCFCSignINALU as _OfINALU
from .npu import MulMCFCSignRealNPU as _OfNPU

ColorAndMarker = tuple[str, str]
"""Colour and marker in every figure; colours that colour-blind readers tell apart."""

BLUE, VERMILION, GREEN, PURPLE, AMBER = "#0072B2", "#D55E00", "#009E73", "#AA3377", "#E69F00"
SKY, BLACK, WINE, OLIVE, GREY = "#56B4E9", "#000000", "#882255", "#999933", "#777777"
COLORS = (BLUE, VERMILION, GREEN, PURPLE, AMBER, SKY, BLACK, WINE, OLIVE, GREY)


class LabelledOptions(NamedTuple):
    """A label that depends on options, such as sNMU = NMU with noise."""

    label: str
    options: dict[str, object]
    cites: Paper
    look: ColorAndMarker | None = None


@dataclass(frozen=True)
class LayerEntry:
    """All facts about one layer key.

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
        return recurrent(self.layer) if self.recurs and self.layer else self.own_cell

    @property
    def shown(self) -> str:
        """Return the name of the layer in figures and tables of runs."""
        return f"${self.latex}$" if self.latex else self.label

    @cached_property
    def options(self) -> frozenset[str]:
        """Return the names of the keyword-only options that the layer, or the cell, reads."""
        return frozenset(self.parameters) - set(self.fixed_options)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        built = self.layer or self.cell
        return {} if built is None else option_parameters(built)

    @property
    def formula(self) -> str:
        """Return the first formula of the docstring, in one line."""
        found = re.search(r"\n\n((?: {4}.*\n?)+)", inspect.getdoc(self.layer or self.cell) or "")
        lines = found[1].strip().splitlines() if found else []
        return "; ".join(" ".join(line.split()) for line in lines)

    @property
    def module(self) -> Any:
        """Return the class of a layer, of a user's plain module its own class."""
        return getattr(self.layer, "Module", self.layer)

    @property
    def is_plain(self) -> bool:
        """Return whether flags set none of its options: what these mean is not known."""
        held = getattr(self.layer, "Module", None)
        return held is not None and not issubclass(held, ExtendedTorchModule)


TIERS = ("core", "extra", "own")
"""Layers of figures, those of published code alone, and those of users, in the order of lists."""

_SNMU: dict[str, object] = {"nmu_noise": True}
_NALU2IMG: dict[str, object] = {"nalu_init": "uniform", "eps": 1e-10}
_FREE_GATE: dict[str, object] = {"nalu_gate": "independent"}
_G_NALU = dict.fromkeys(("nalu_gate", "nalu_mul", "nac_weight"), "golden-ratio")
_MODIFIED: dict[str, object] = {
    **{"npu_clip": "wg", "npu_Wr_init": "xavier-uniform-constrained"},
    **{"regualizer_npu_w": 1, "regualizer_gate": 1},
}
_VARIANTS = {
    "ReRegualizedLinearMNAC": (
        LabelledOptions("sNMU", _SNMU, papers.MISTRY_2022_ROBUST, (SKY, "P")),
        LabelledOptions("batch sNMU", _SNMU | {"noise_range": [1, 0]}, papers.MISTRY_2022_ROBUST),
    ),
    "NALU": (
        LabelledOptions("G-NALU", {**_G_NALU}, papers.RANA_2019, (GREY, "h")),
        LabelledOptions("NALU2M", _NALU2IMG | {"nalu_two_nac": True}, TRASK_2018),
        LabelledOptions("NALUIG", _NALU2IMG | _FREE_GATE, TRASK_2018),
        LabelledOptions("NALU2MIG", _NALU2IMG | {"nalu_two_nac": True} | _FREE_GATE, TRASK_2018),
    ),
    "ReRegualizedLinearNALU": (
        LabelledOptions("Gated NAU/NMU", {"nalu_two_nac": True, "nalu_mul": "mnac"}, MADSEN_2020),
    ),
    "NPU": (LabelledOptions("NaiveNPU", {"npu_gate": "open"}, papers.HEIM_2020, (GREY, "s")),),
    "RealNPU": (LabelledOptions("Real NPU (modified)", _MODIFIED, _DIVISION, (BLUE, "P")),),
    "DMU": (
        LabelledOptions("DMU add", {"operands": "add"}, papers.CURRY_2025, (WINE, "p")),
        LabelledOptions("DMU sub", {"operands": "sub"}, papers.CURRY_2025, (WINE, "h")),
    ),
}
_SILLY = r"\mathrm{NMU},\ \mathbf{z} = \mathbf{W} \odot \mathbf{x}"
_FORMULAS = {
    "NAC": r"\mathrm{NAC}_{+}",
    "PosNAC": r"\mathrm{NAC}_{+,\sigma}",
    "ReRegualizedLinearPosNAC": r"\mathrm{NAC}_{+,\mathrm{NMU}}",
    "RegualizedLinearNAC": r"\mathrm{NAU},\ \mathbf{W} = \mathbf{\hat{W}}",
    "RegualizedLinearMNAC": r"\mathrm{NMU},\ \mathbf{W} = \mathbf{\hat{W}}",
    "RegualizedLinearNALU": r"\mathrm{NALU},\ \mathbf{W} = \mathbf{\hat{W}}",
    **{f"SillyReRegualizedLinear{name}": _SILLY for name in ("MNAC", "NAC", "NALU")},
}
_LINEAR: dict[str, object] = {"activation": "linear"}
_PAIRED = "NMU, z = W x (layer 2 only)"
"""Of keys that only name a pair of layers."""


def _activation(key: str, cites: Paper, label: str | None = None) -> LayerEntry:
    fixed: dict[str, object] = {"activation": key}
    return LayerEntry(key, label or key, cites, base.BasicLayer, fixed_options=fixed)


def _layer(key: str, label: str, cites: Paper, layer: Any, *look: str, **more: Any) -> LayerEntry:
    """Return an entry of this package; look: its colour and marker in figures, if it has any."""
    known = {"latex": _FORMULAS.get(key), "variants": _VARIANTS.get(key, ())}
    return LayerEntry(key, label, cites, layer, look=look or None, **known, **more)  # pyright: ignore


def _cell(key: str, cites: Paper, cell: type[base.Cell], *look: str) -> LayerEntry:
    return LayerEntry(key, key, cites, own_cell=cell, look=look or None)  # pyright: ignore


def _trial(label: str, name: str, cites: Paper = MADSEN_2020, **more: Any) -> LayerEntry:
    """Return the entry of a layer that no figure shows; its key is the name of its class."""
    layer = getattr(trials, f"{name}Layer", None)
    return _layer(name, label, cites, layer, tier="extra", **more)


_OF_PACKAGE = (
    _layer("NAC", "NAC", TRASK_2018, nau_nmu.NACLayer, WINE, "<", recurs=True),
    _layer("PosNAC", "PosNAC", MADSEN_2020, nau_nmu.PosNACLayer, PURPLE, "X", recurs=True),
    _layer("MNAC", "MNAC", MADSEN_2020, nau_nmu.MNACLayer, WINE, "<", recurs=True),
    _layer("ReRegualizedLinearNAC", "NAU", MADSEN_2020, nau_nmu.NAULayer, BLUE, "^", recurs=True),
    _layer("ReRegualizedLinearPosNAC", "PosNAU", MADSEN_2020, _PosNAU, GREEN, "P", recurs=True),
    _layer("ReRegualizedLinearMNAC", "NMU", MADSEN_2020, nau_nmu.NMULayer, BLUE, "o", recurs=True),
    _activation("Tanh", papers.RUMELHART_1986),
    _activation("Sigmoid", papers.RUMELHART_1986),
    _activation("ReLU6", papers.KRIZHEVSKY_2010),
    _activation("Softsign", papers.GLOROT_2010),
    _activation("SELU", papers.KLAMBAUER_2017),
    _activation("ELU", papers.CLEVERT_2016),
    _activation("ReLU", papers.NAIR_2010),
    _activation("linear", TRASK_2018, "Linear"),
    replace(_cell("RNN-linear", MADSEN_2020, recurrent(base.BasicLayer)), fixed_options=_LINEAR),
    _layer("NRU", "NRU", _DIVISION, nau_nmu.ReciprocalNMULayer, GREEN, "s"),
    _layer("NMRU", "NMRU (no sign retrieval)", _DIVISION, _PlainNMRU, PURPLE, "*"),
    _layer("SignNMRU", "NMRU", _DIVISION, _SignNMRU, PURPLE, "D"),
    _layer("GatedSignNMRU", "NMRU (gated)", _DIVISION, _GatedNMRU, PURPLE, "P"),
    _layer("iNALU", "iNALU", papers.SCHLOER_2020, nalu.INALULayer, OLIVE, "X"),
    _layer("MCFC", "MCFC", HOEDT_2021, npu.MCFullyConnected, GREEN, "h"),
    _layer("MulMCFC", "MulMCFC", HOEDT_2021, npu.MulMCFC, GREEN, "h"),
    _layer("MulMCFCSignINALU", "MulMCFC (sign: iNALU)", HOEDT_2021, _OfINALU, OLIVE, "h"),
    _layer("MulMCFCSignRealNPU", "MulMCFC (sign: Real NPU)", HOEDT_2021, _OfNPU, VERMILION, "h"),
    _layer("NALU", "NALU", TRASK_2018, nalu.NALULayer, AMBER, "v", recurs=True),
    _layer("ReRegualizedLinearNALU", "Gated NAU", MADSEN_2020, _GatedNAU, OLIVE, "D", recurs=True),
    _layer("NPU", "NPU", papers.HEIM_2020, npu.NPULayer, SKY, "s"),
    _layer("RealNPU", "Real NPU", papers.HEIM_2020, npu.RealNPULayer, VERMILION, "^"),
    _layer("DMU", "DMU", papers.CURRY_2025, nalu.DMULayer, WINE, "D"),
    _layer("ProductUnit", "Product unit", papers.DURBIN_1989, npu.ProductUnitLayer, GREY, "p"),
    _layer("EML", "EML", papers.ODRZYWOLEK_2026, equations.EMLLayer, BLACK, "D"),
    _layer("EQL", "EQL", papers.MARTIUS_2016, equations.EQLLayer, SKY, "v"),
    _layer("EQLDiv", "EQL-div", papers.SAHOO_2018, equations.EQLDivLayer, WINE, "s"),
    _layer("NSR", "NSR", papers.FABER_2023, equations.NSRLayer, SKY, "D"),
    _cell("GRU", papers.CHO_2014, base.GRUCell, OLIVE, "P"),
    _cell("LSTM", papers.HOCHREITER_1997, base.LSTMCell, GREY, "o"),
    _cell("RNN-tanh", papers.ELMAN_1990, base.RNNTanhCell, GREEN, "X"),
    _cell("RNN-ReLU", papers.ELMAN_1990, base.RNNReLUCell, VERMILION, "D"),
    _trial("Linear NAC", "LinearNAC"),
    _trial("NAU, W = W_hat", "RegualizedLinearNAC", recurs=True),
    _trial("NMU, W = W_hat", "RegualizedLinearMNAC"),
    _trial("NMU, z = W x", "SillyReRegualizedLinearMNAC"),
    _trial(_PAIRED, "SillyReRegualizedLinearNAC"),
    _trial(_PAIRED, "SillyReRegualizedLinearNALU"),
    _trial("Independent NAC", "IndependentNAC", recurs=True),
    _trial("Multi-weight NAU", "MultiWeightNAU", _DIVISION),
    _trial("Sigmoid NAU", "SigmoidNAU", _DIVISION),
    _trial("Scaled sigmoid NAU", "ScaledSigmoidNAU", _DIVISION),
    _trial("Softmax NAC", "SoftmaxNAC", recurs=True),
    _trial("Hard softmax NAC", "HardSoftmaxNAC", recurs=True),
    _trial("Gumbel NAC", "GumbelNAC", recurs=True),
    _trial("Gumbel MNAC", "GumbelMNAC", recurs=True),
    _trial("Gradient bandit NAC", "GradientBanditNAC", recurs=True),
    _trial("Ensemble Gumbel NAU", "EnsembleGumbelNAU", _DIVISION),
    _trial("Gradient bandit NALU", "GradientBanditNALU", recurs=True),
    _trial("Gumbel NALU", "GumbelNALU", recurs=True),
    _trial("Hard softmax NALU", "HardSoftmaxNALU", recurs=True),
    _trial("Independent NALU", "IndependentNALU", recurs=True),
    _trial("Linear NALU", "LinearNALU"),
    _trial("Pos NALU", "PosNALU", recurs=True),
    _trial("NALU over NAU, W = W_hat", "RegualizedLinearNALU", recurs=True),
    _trial("Softmax NALU", "SoftmaxNALU", recurs=True),
)
_entries = {entry.key: entry for entry in _OF_PACKAGE}


class Brought(NamedTuple):
    """What a program brings besides layers: a function, a factory, or the text of a table.

    key: the word by which configurations name it. sha256: of a file that it is.
    """

    key: str
    module: Any
    origin: str
    sha256: str = ""
    cell: None = None


_brought: dict[str, Brought] = {}


def bring(one: Brought) -> None:
    _brought[one.key] = one


def brought(word: str) -> Any:
    """Return the object that a word of a configuration names. Refuse an unknown one.

    Names of a program's objects end with (), names of this package do not.
    """
    found = owned(word)
    if found is None:
        problem = f"{word.partition('-')[0]} is of the program that trained this, which defines it"
        raise UsageError(f"{problem}; define it there again, or in a --task-file")
    return found.module


def owned(word: str) -> "LayerEntry | Brought | None":
    """Return what a word of a configuration names: a layer, or something else of a program."""
    return _entries.get(word) or _brought.get(word)


def put(entry: LayerEntry) -> None:
    """Make an entry the last one of the table, in place of one of the same key."""
    drop(entry.key)
    _entries[entry.key] = entry


def drop(key: str | None = None, *, origin: str | None = None) -> None:
    """Remove the entry of a key, or all entries of an origin. This package's own entries stay."""
    for entry in all_owned():
        if entry.key == key or entry.origin == origin:
            (_entries if entry.key in _entries else _brought).pop(entry.key)


def entries() -> dict[str, LayerEntry]:
    """Return all entries by key, by tier and then in order of registration."""
    return dict(sorted(_entries.items(), key=lambda item: TIERS.index(item[1].tier)))


def own_entries() -> list[LayerEntry]:
    return [entry for entry in _entries.values() if entry.origin is not None]


def all_owned() -> "list[LayerEntry | Brought]":
    """Return all layers and other things that are not of this package."""
    return [*own_entries(), *_brought.values()]


def activation_names() -> tuple[str, ...]:
    return tuple(key for key, e in _entries.items() if e.layer is base.BasicLayer)


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

_BOUNDED: dict[str, dict[str, object]] = {
    "nac_oob": {"nac_oob": "clip", "regualizer_shape": "linear"},
    "npu_clip": {"npu_clip": "g"},
}
"""Options that keep weights in their range, by a penalty as in papers, not as published code."""
_PRODUCTS = {"NAC•": "NAC", "NAC•,σ": "PosNAC", "NAC•,NMU": "ReRegualizedLinearPosNAC"}
"""Units that add logarithms, and the keys of the layers that add them."""
_ALSO: dict[str, tuple[str, dict[str, object]]] = {
    "NAC+": ("NAC", {}),
    "Sign NMRU": ("SignNMRU", {}),
    "NALU (separate)": ("NALU", {"nalu_two_nac": True}),
}
"""Further names, with the keys of their layers and the options that they set."""
_PYTHON_NAMES = {"NAC+": "NAC", "NAC•": "NACmul", "NAC•,σ": "NACsigma", "NAC•,NMU": "NACnmu"}
_classes: dict[str, type[torch.nn.Module]] = {}
"""Classes that differ from the published ones, by their names in papers."""


class _Product:
    """Multiply by adding logarithms: exp(layer(log(|x| + 1e-7)))."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sums: Any = super()
        return in_log_space(sums.forward, x, "normal", 1e-7)


def _class_of(label: str, entry: LayerEntry, options: Mapping[str, object], product: bool) -> Any:
    """Return the class of a layer with options, or of one that adds logarithms by this layer.

    It is always the same one.
    """
    if entry.layer is None or entry.origin is not None:
        return entry.cell if entry.layer is None else entry.module
    bounds = [own for option, own in _BOUNDED.items() if option in entry.options]
    defaults = dict(ChainMap({**options}, *bounds, entry.fixed_options))
    if not (defaults or product):
        return entry.layer
    if label not in _classes:
        bases = (_Product, entry.layer) if product else (entry.layer,)
        members = {"option_defaults": defaults, "__doc__": entry.layer.__doc__}
        members |= {"__module__": __package__}
        name = _in_python(label)
        _classes[label] = new_class(name, bases, exec_body=lambda own: own.update(members))
    return _classes[label]


def _in_python(label: str) -> str:
    """Return the name of a class: the letters and digits of the name in papers."""
    return _PYTHON_NAMES.get(label) or re.sub(r"[^A-Za-z0-9]", "", label)


def _names() -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Any]]]:
    """Return what makes the class of each name of papers, and of each key."""
    known = {k: e for k, e in entries().items() if e.layer or e.cell}
    found: dict[str, tuple[str, LayerEntry, Mapping[str, object], bool]] = {}
    for entry in known.values():
        found.setdefault(entry.label, (entry.label, entry, {}, False))
        found |= {v.label: (v.label, entry, v.options, False) for v in entry.variants}
    for label, (key, options) in _ALSO.items():
        found[label] = (label if options else known[key].label, known[key], options, False)
    found |= {label: (label, known[key], {}, True) for label, key in _PRODUCTS.items()}
    labels = {label: partial(_class_of, *one) for label, one in found.items()}
    return labels, {k: partial(_class_of, e.label, e, {}, False) for k, e in known.items()}


def layer_class(name: str, argument: str = "name") -> Any:
    """Return the class of a layer, or of a cell, by its name in papers, else by its key."""
    if not isinstance(name, str):
        raise UsageError(f"name: {name!r} is not text; write one such as 'NMU'")
    labels, keys = _names()
    for word in (str, spelled):
        for known, made in (*labels.items(), *keys.items()):
            if word(known) == word(name):
                return made()
    remedy = did_you_mean(name, {**labels, **keys}, "stable_nalu.layers() lists them all")
    raise UsageError(f"{argument}: there is no layer {name!r}; {remedy}")


def imported_class(name: str) -> Any:
    """Return the class of a name as Python writes it, such as RealNPU or SNMU, or None."""
    for label, made in _names()[0].items():
        own = _in_python(label)
        if name in (own, own[:1].upper() + own[1:]):
            return made()
    return None


def script_name(layer: object) -> str | None:
    """Return how scripts call one of these classes: by its key, or by its name in papers."""
    labels, keys = _names()
    return next((name for name, made in {**keys, **labels}.items() if made() is layer), None)


def select_options(entry: LayerEntry, options: dict[str, object]) -> dict[str, object]:
    """Return those options that the layer of `entry` reads; refuse names that no layer reads.

    `own_options`, which scripts give, are those that no flag sets. A torch module that was not
    written for this package reads no others: what its options mean cannot be known.
    """
    options = dict(options)
    own: dict[str, object] | None = options.pop("own_options", None)  # pyright: ignore
    if own is None and not options.keys() <= entry.options:  # what flags set is known
        known = frozenset().union(*(e.options for e in entries().values()))
        unknown = options.keys() - known
        if unknown:
            listed = ", ".join(sorted(unknown))
            warnings.warn(f"no layer reads the option(s) {listed}", stacklevel=3)
    own = own or {}
    options = own if entry.is_plain else own | options
    return {k: v for k, v in options.items() if k in entry.options} | entry.fixed_options


class UnitNames:
    """A class attribute: the keys of all layers, or of all recurrent cells."""

    def __init__(self, kind: str):
        self.kind = kind

    def __get__(self, instance: object, owner: type) -> set[str]:
        return {key for key, entry in entries().items() if getattr(entry, self.kind) is not None}


class _Generalized(ExtendedTorchModule):
    """A module of a key, given those options that it reads."""

    def build(self, inputs: int, outputs: int, options: dict[str, Any], **cell: Any) -> Any:
        """Return the layer, or the cell if that is given a name."""
        entry = entries().get(self.unit_name)
        made = entry and (entry.cell if cell else entry.layer)
        if entry is None or made is None:
            kind = "recurrent cell" if cell else "layer"
            raise ValueError(f"{self.unit_name!r} is not a {kind}; see docs/layers.md")
        own: Any = getattr(entry.layer, "Module", None)
        if "own_options" not in options and not cell and getattr(own, "is_as_published", False):
            # Published loops give it all options, and it is the child itself.
            options["writer"] = self.writer
            taken = inspect.signature(own.__init__).parameters.values()
            if all(p.kind is not p.VAR_KEYWORD for p in taken):
                options = {p.name: options[p.name] for p in taken if p.name in options}
            return own(inputs, outputs, **options)
        logs_text = options.pop("use_robustness_exp_logging", False)
        selected = select_options(entry, options)
        if entry.origin is not None and entry.layer is not None:
            from .user_code import obstacle

            width = inputs + outputs if cell else inputs
            self.obstacle = obstacle(entry.layer, width, outputs, selected)
        module = made(inputs, outputs, **cell, **selected)
        for part in module.extended_modules() if logs_text else ():
            part.use_robustness_exp_logging = True
        return module


class GeneralizedLayer(_Generalized):
    """The registered layer `unit_name`, given those options that it reads."""

    UNIT_NAMES = UnitNames("layer")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        unit_name: str,
        writer: Any = None,
        name: str | None = None,
        **options,
    ):
        super().__init__("layer", writer=writer, name=name)
        self.unit_name = unit_name
        self.layer = self.build(in_features, out_features, options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class GeneralizedCell(_Generalized):
    """The registered recurrent cell `unit_name`, given those options that it reads."""

    UNIT_NAMES = UnitNames("cell")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        unit_name: str,
        writer: Any = None,
        name: str | None = None,
        **options,
    ):
        super().__init__("cell", writer=writer, name=name)
        self.unit_name = unit_name
        self.cell = self.build(input_size, hidden_size, options, name=name)

    def forward(self, x_t: torch.Tensor, h_tm1):
        return self.cell(x_t, h_tm1)

    def unroll(self, x: torch.Tensor, state: Any) -> torch.Tensor:
        """Return h behind the last step of x `(*runs, batch, time, input_size)`."""
        return self.cell.unroll(x, state)
