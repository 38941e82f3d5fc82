"""Render the generated tables of docs/flags.md and docs/layers.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stable_nalu.files import with_part
from stable_nalu.machine import CHECKOUT
from stable_nalu.options import Flag, ScriptSpec
from stable_nalu.options.paper_names import MODELS, SPELLINGS, UNITS, registered
from stable_nalu.result.document import UNKNOWN, filled, table
from stable_nalu.task import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stable_nalu.layer.registry import LayerEntry
    from stable_nalu.papers import Paper

FLAGS = CHECKOUT / "docs" / "flags.md"
LAYERS = CHECKOUT / "docs" / "layers.md"
MARKS = {
    FLAGS: (
        "<!-- Generated from stable_nalu/options; rewrite with `make generated`. -->",
        "<!-- End of the generated tables. -->",
    ),
    LAYERS: (
        "<!-- Generated from stable_nalu/layer; rewrite with `make generated`. -->",
        "<!-- End of the generated table. -->",
    ),
}
"""Path of a document -> the lines before and behind its generated part."""
NAMES = (
    "<!-- Generated from stable_nalu/options/paper_names.py; rewrite with `make generated`. -->",
    "<!-- End of the names. -->",
)
TEMPLATE = Path(__file__).parent / "templates" / "flags.md"
_ARITHMETIC = ("S", "SN", "L", "R", "C", "B")


def render_flag_tables() -> str:
    """Return tables of scripts, of flags by group, and of flags that scripts make less of."""
    notes: dict[tuple[str, str], list[ScriptSpec]] = {}
    for spec in SCRIPTS.values():
        for flag in spec.flags:
            if flag.note:
                notes.setdefault((flag.name, flag.note), []).append(spec)
    refused = {name: why for spec in SCRIPTS.values() for name, why in spec.refused.items()}
    return filled(
        TEMPLATE,
        scripts=[
            {"short": s.short, "script": f"`{s.name}`", "what it does": s.summary}
            for s in SCRIPTS.values()
        ],
        arithmetic=_ARITHMETIC,
        groups={
            title: [_flag_row(name, uses) for name, uses in flags.items()]
            for title, flags in _uses().items()
        },
        notes=[
            {"flag": f"`{name}`", "scripts": _shorts(specs), "what they do with it": note}
            for (name, note), specs in notes.items()
        ],
        refused=[{"flag": f"`{name}`", "why": why} for name, why in refused.items()],
    )


def refreshed_flags(document: str) -> str:
    """Return docs/flags.md with its generated tables rendered anew."""
    return with_part(document, *MARKS[FLAGS], f"{render_flag_tables()}\n")


def refreshed_layers(document: str) -> str:
    """Return docs/layers.md with its tables of models and of layers rendered anew."""
    document = with_part(document, *NAMES, f"{render_model_table()}\n\n")
    return with_part(document, *MARKS[LAYERS], f"{render_layer_table()}\n\n")


def _uses() -> dict[str, dict[str, list[tuple[ScriptSpec, Flag]]]]:
    """Return the scripts that have each flag, by its first title and its name."""
    uses: dict[str, dict[str, list[tuple[ScriptSpec, Flag]]]] = {
        group.title: {} for spec in SCRIPTS.values() for group in spec.groups
    }
    home: dict[str, str] = {}
    for spec in SCRIPTS.values():
        for group in spec.groups:
            for flag in group:
                title = home.setdefault(flag.name, group.title)
                uses[title].setdefault(flag.name, []).append((spec, flag))
    return {title: flags for title, flags in uses.items() if flags}


def _flag_row(name: str, uses: list[tuple[ScriptSpec, Flag]]) -> dict[str, str]:
    flag = uses[0][1]
    metavar = "" if flag.kind is None else f" {flag.kind.metavar}"
    choices = _by_script([(spec, _choices(f)) for spec, f in uses])
    swept = "*Sweep*." if flag.sweep else ""
    return {
        "flag": f"`{name}{metavar}`",
        "default": _by_script([(spec, f"`{f.default_text}`") for spec, f in uses]),
        "scripts": _shorts([spec for spec, _ in uses]),
        "in the run name of": _named(uses),
        "meaning": " ".join(filter(None, [flag.help, choices and f"{choices}.", swept])),
    }


def _choices(flag: Flag) -> str:
    if flag.choices is None:
        return ""
    if callable(flag.choices):
        return "See [layers.md](layers.md)"
    return "One of " + ", ".join(f"`{choice}`" for choice in flag.choices)


def _by_script(values: list[tuple[ScriptSpec, str]]) -> str:
    """Return the one value of all scripts, or each value with the scripts that have it."""
    by_value: dict[str, list[ScriptSpec]] = {}
    for spec, value in values:
        by_value.setdefault(value, []).append(spec)
    if len(by_value) == 1:
        return next(iter(by_value))
    return "; ".join(f"{value} ({_shorts(specs)})" for value, specs in by_value.items())


def _named(uses: list[tuple[ScriptSpec, Flag]]) -> str:
    fully = [(spec, "") for spec, flag in uses if flag.dest in spec.fully_named]
    partly = [(s, s.partly_named[f.dest]) for s, f in uses if f.dest in s.partly_named]
    if not fully and not partly:
        return f"none: {uses[0][1].unnamed}"
    by_reason: dict[str, list[ScriptSpec]] = {}
    for spec, reason in (*fully, *partly):
        by_reason.setdefault(reason, []).append(spec)
    return "; ".join(
        f"{_shorts(specs)} ({reason})" if reason else _shorts(specs)
        for reason, specs in by_reason.items()
    )


def _shorts(specs: list[ScriptSpec]) -> str:
    if [spec.name for spec in specs] == list(SCRIPTS):
        return "all"
    shorts = [spec.short for spec in specs]
    if set(_ARITHMETIC) <= set(shorts):
        shorts = ["arithmetic", *(short for short in shorts if short not in _ARITHMETIC)]
    return " ".join(shorts)


def render_layer_table() -> str:
    """Return a row for every entry of the registry and for every paper name that options make."""
    from stable_nalu.layer import entries

    rows: list[dict[str, str]] = []
    for entry in sorted(entries().values(), key=_layer_order):
        rows.append(_layer_row(entry, entry.label, {}, entry.cites))
        rows += [_layer_row(entry, v.label, v.options, v.cites) for v in entry.variants]
    return table(rows)


def render_model_table() -> str:
    """Return a row for every name of the papers, with what it stands for in each kind of script."""
    rows: list[dict[str, str]] = []
    for name in dict.fromkeys((*UNITS, *MODELS)):
        pair, unit = MODELS.get(name), UNITS.get(name)
        if unit is None and (found := registered(name)) is not None:
            unit = " ".join(["--layer-type", found[0], *option_words(found[1])])
        rows.append(
            {
                "in the papers": name,
                "also": ", ".join(f"`{other}`" for other in SPELLINGS.get(name, ())),
                "two layers, sequences of digits": f"`{pair}`" if pair else UNKNOWN,
                "one unit": f"`{unit}`" if unit else UNKNOWN,
            }
        )
    return table(rows)


def option_words(options: Mapping[str, object]) -> list[str]:
    """Return the command-line words that set layer options; an option needs a flag."""
    names = {f.layer_option: f.name for s in SCRIPTS.values() for f in s.flags if f.layer_option}
    words: list[str] = []
    for option, value in options.items():
        words += [names[option]] if value is True else [names[option], f"{value}".replace(" ", "")]
    return words


def _layer_order(entry: LayerEntry) -> tuple[bool, int, str]:
    """Return a sort key: layers before mere cells, published ones first, then by name."""
    from stable_nalu.layer.registry import TIERS

    only_cell = entry.layer is None and entry.cell is not None
    return only_cell, TIERS.index(entry.tier), entry.label.lower()


def _layer_row(
    entry: LayerEntry, name: str, options: Mapping[str, Any], cites: Paper
) -> dict[str, str]:
    return {
        "name": name,
        "`--layer-type` and further flags": f"`{' '.join([entry.key, *option_words(options)])}`",
        "layer": UNKNOWN if entry.layer is None else "yes",
        "cell": UNKNOWN if entry.cell is None else "yes",
        "reference": linked(cites.citation),
    }


def linked(text: str) -> str:
    """Return a text in which every arXiv number leads to its paper."""
    return re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)
