"""Layers by their names in papers: classes whose weights stay in range by default.

`NMU` is the published class `NMULayer` with `nac_oob="clip"`. A name may also set options (sNMU),
or add logarithms (NAC•). Published classes, and scripts, keep the published defaults.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import new_class
from typing import Any

import torch

from stable_nalu.base.errors import UsageError, did_you_mean
from stable_nalu.functional import in_log_space

from .registry import LayerEntry, entries, spelled

_BOUNDED: dict[str, object] = {"nac_oob": "clip", "npu_clip": "g"}
"""Options that keep weights in their range, in place of the published defaults."""

_PRODUCTS = {"NAC•": "NAC", "NAC•,σ": "PosNAC", "NAC•,NMU": "ReRegualizedLinearPosNAC"}
"""Units that add logarithms, and the keys of the layers that add them."""
_ALSO: dict[str, tuple[str, dict[str, object]]] = {
    "NAC+": ("NAC", {}),
    "Sign NMRU": ("SignNMRU", {}),
    "NALU (separate)": ("NALU", {"nalu_two_nac": True}),
}
"""Further names, with the keys of their layers and the options that they set."""
_PYTHON_NAMES = {"NAC+": "NAC", "NAC•": "NACmul", "NAC•,σ": "NACsigma", "NAC•,NMU": "NACnmu"}
_LOGARITHM_EPSILON = 1e-7


@dataclass(frozen=True)
class _Name:
    """The meaning of a name: a layer with options, or what adds logarithms by this layer."""

    label: str
    entry: LayerEntry
    options: Mapping[str, object] = field(default_factory=dict)
    is_product: bool = False

    @property
    def in_python(self) -> str:
        """Return the name of the class: the letters and digits of the name in papers."""
        return _PYTHON_NAMES.get(self.label) or re.sub(r"[^A-Za-z0-9]", "", self.label)

    @property
    def built(self) -> Any:
        """Return the class, always the same one."""
        entry = self.entry
        if entry.layer is None or entry.origin is not None:
            return entry.cell if entry.layer is None else entry.module
        bounds = {k: v for k, v in _BOUNDED.items() if k in entry.options}
        defaults = entry.fixed_options | bounds | dict(self.options)
        if not (defaults or self.is_product):
            return entry.layer
        if self.label not in _CLASSES:
            bases = (_Product, entry.layer) if self.is_product else (entry.layer,)
            members = {"option_defaults": defaults, "__module__": __package__}
            members["__doc__"] = entry.layer.__doc__
            _CLASSES[self.label] = new_class(
                self.in_python, bases, exec_body=lambda own: own.update(members)
            )
        return _CLASSES[self.label]


_CLASSES: dict[str, type[torch.nn.Module]] = {}
"""Classes that differ from the published ones, by their names in papers."""


class _Product:
    """Multiply by adding logarithms: exp(layer(log(|x| + 1e-7)))."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the product of powers of the inputs."""
        sums: Any = super()
        return in_log_space(sums.forward, x, "normal", _LOGARITHM_EPSILON)


def layer_class(name: str) -> Any:
    """Return the class of a layer, or of a cell, by its name in papers, else by its key."""
    if not isinstance(name, str):
        raise UsageError(f"name: {name!r} is not text; write one such as 'NMU'")
    labels, keys = _names()
    for word in (str, spelled):
        for known, found in chain(labels.items(), keys.items()):
            if word(known) == word(name):
                return found.built
    remedy = did_you_mean(name, {**labels, **keys}, "stable_nalu.layers() lists them all")
    raise UsageError(f"there is no layer {name!r}; {remedy}")


def imported_class(name: str) -> Any:
    """Return the class of a name as Python writes it, such as RealNPU or SNMU, or None."""
    for found in _names()[0].values():
        own = found.in_python
        if name in (own, own[:1].upper() + own[1:]):
            return found.built
    return None


def script_name(layer: object) -> str | None:
    """Return how scripts call one of these classes: by its key, or by its name in papers."""
    labels, keys = _names()
    for known, found in {**keys, **labels}.items():
        if found.built is layer:
            return known
    return None


def _names() -> tuple[dict[str, _Name], dict[str, _Name]]:
    """Return all names of papers, and all keys."""
    known = {k: e for k, e in entries().items() if e.layer or e.has_cell}
    labels: dict[str, _Name] = {}
    for entry in known.values():
        labels.setdefault(entry.label, _Name(entry.label, entry))
        labels |= {v.label: _Name(v.label, entry, v.options) for v in entry.variants}
    for label, (key, options) in _ALSO.items():
        labels[label] = _Name(label if options else known[key].label, known[key], options)
    labels |= {n: _Name(n, known[key], is_product=True) for n, key in _PRODUCTS.items()}
    return labels, {key: _Name(entry.label, entry) for key, entry in known.items()}
