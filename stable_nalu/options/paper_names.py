"""Names that papers give to models, as values of flags that name a unit, and what they stand for.

A key of a layer always means that layer. A name of the papers stands for flags: where a script has
one unit, for that unit; where `--nac-mul` decides how a model multiplies, for the published model.
`layer_options.with_flags` puts them in the place of a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from stable_nalu.layer import entries

MODELS = {
    "Linear": "--layer-type linear",
    "NAC+": "--layer-type NAC",
    "NAC•": "--layer-type NAC --nac-mul normal",
    "NAC•,σ": "--layer-type PosNAC --nac-mul normal --first-layer NAC",
    "NAC•,NMU": "--layer-type ReRegualizedLinearPosNAC --nac-mul normal "
    "--first-layer ReRegualizedLinearNAC",
    "NALU (separate)": "--layer-type NALU --nalu-two-nac",
    "NAU": "--layer-type ReRegualizedLinearNAC",
    "NMU": "--layer-type ReRegualizedLinearNAC --nac-mul mnac",
    "sNMU": "--layer-type ReRegualizedLinearNAC --nac-mul mnac --nmu-noise",
    "batch sNMU": "--layer-type ReRegualizedLinearNAC --nac-mul mnac --nmu-noise "
    "--noise-range [1,0]",
    "Gated NAU/NMU": "--layer-type ReRegualizedLinearNALU --nalu-two-nac --nalu-mul mnac",
    "NPU": "--layer-type ReRegualizedLinearNAC --nac-mul npu",
    "Real NPU": "--layer-type ReRegualizedLinearNAC --nac-mul real-npu",
}
"""Model -> its flags where --nac-mul decides how a model multiplies."""

UNITS = {
    "Linear": "--layer-type linear",
    "NAC+": "--layer-type NAC",
    "NAC•": "--layer-type MNAC",
    "NALU (separate)": "--layer-type NALU --nalu-two-nac",
    "Real NPU": "--layer-type RealNPU",
    "Sign NMRU": "--layer-type SignNMRU",
}
"""Model -> its flags where a script has one unit, beside the names in the table of layers."""

SPELLINGS = {
    "NAC+": ("NAC₊", "NAC-add"),
    "NAC•": ("NAC*", "NAC.", "NAC-mul"),
    "NAC•,σ": ("NAC*,sigma", "NAC-sigma"),
    "NAC•,NMU": ("NAC*,NMU", "NAC-nmu"),
}
"""Model -> other ways to write it; case, blanks, `-` and `_` never matter."""


def _spelled(name: str) -> str:
    """Return one spelling for all that mean the same."""
    name = name.casefold().translate(str.maketrans({"•": "*", "·": "*", ".": "*", "₊": "+"}))
    return re.sub(r"[\s_-]", "", name.replace("σ", "sigma"))


_SAME = {_spelled(other): _spelled(name) for name, more in SPELLINGS.items() for other in more}


def found_in(table: Mapping[str, str], word: str) -> str | None:
    """Return the name in a table that a word means."""
    wanted = _SAME.get(_spelled(word), _spelled(word))
    return next((name for name in table if _spelled(name) == wanted), None)


def is_paper_name(word: str) -> bool:
    """Return whether papers call a model so, in any script; a key in another case is a slip."""
    if word in UNITS:
        return True
    if key_in_another_case(word) is not None:
        return False
    return any(found_in(table, word) for table in (MODELS, UNITS)) or registered(word) is not None


def key_in_another_case(word: str) -> str | None:
    """Return the key that differs from a word in its case alone, if in anything."""
    return next((key for key in entries() if key.lower() == word.lower()), None)


def two_meanings(word: str, allowed: Sequence[Any]) -> str | None:
    """Return what to type for a word that is a key but for its case, and another unit's name."""
    key, found = key_in_another_case(word), registered(word)
    if found is None or key == found[0] or not {key, found[0]} <= set(allowed):
        return None
    return f"type {found[0]} for what papers call {word}, {key} for the layer of this key"


def registered(word: str) -> tuple[str, Mapping[str, object]] | None:
    """Return the key and the options of a name in the table of layers."""
    wanted = _spelled(word)
    for key, entry in entries().items():
        if _spelled(entry.label) == wanted:
            return key, {}
        for variant in entry.variants:
            if _spelled(variant.label) == wanted:
                return key, variant.options
    return None
