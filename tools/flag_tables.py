"""Render the generated tables of docs/flags.md and docs/layers.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.files import with_part
from stable_nalu.layer import entries
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
_TYPE = "--layer-type "
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
    """Return docs/layers.md with its table rendered anew."""
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
    """Return a row for every name of a layer in papers, and a list of the keys of other layers."""
    rows: list[dict[str, str]] = []
    for name in dict.fromkeys((*UNITS, *MODELS)):
        if registered(name) is None:
            key = (UNITS.get(name) or MODELS[name]).split()[1]
            rows.append(_layer_row(name, entries()[key], UNITS.get(name)))
    ordered = sorted(entries().values(), key=lambda e: (e.layer is None, e.label.lower()))
    for entry in ordered:
        if entry.tier != "core":
            continue
        rows.append(_layer_row(entry.label, entry, f"{_TYPE}{entry.key}"))
        for variant in entry.variants:
            words = " ".join([entry.key, *option_words(variant.options)])
            rows.append(_layer_row(variant.label, entry, f"{_TYPE}{words}", variant.cites))
    others = [e for e in ordered if e.tier == "extra"]
    cells = [_key_and_label(e) for e in others if e.cell]
    units = [_key_and_label(e) for e in others if not e.cell]
    more = f"Keys of further layers of the published code, with a cell: {', '.join(cells)}."
    return f"{table(rows)}\n\n{more} Without one: {', '.join(units)}."


def _key_and_label(entry: LayerEntry) -> str:
    """Return the key of a layer, with its label if this is more than the key in words."""
    same = entry.label.replace(" ", "").replace("-", "").lower() == entry.key.lower()
    return f"`{entry.key}`" if same else f"`{entry.key}` ({entry.label})"


def _layer_row(
    name: str, entry: LayerEntry, unit: str | None, cites: Paper | None = None
) -> dict[str, str]:
    """Return the row of a name; unit: its flags where a script has one unit, if it has any."""
    pair = MODELS.get(name, unit if registered(name) else None)
    also = ", ".join(f"`{other}`" for other in SPELLINGS.get(name, ()))
    cell = UNKNOWN if entry.cell is None else "yes" if entry.layer else "only"
    paper = cites or entry.cites
    brief = f"{paper.authors} {paper.year}"
    number = paper.reference.removeprefix("arXiv:")
    linked = f"[{brief}](https://arxiv.org/abs/{number})"
    return {
        "name": f"{name} ({also})" if also else name,
        "one unit": f"`{unit.removeprefix(_TYPE)}`" if unit else UNKNOWN,
        "two layers": "" if pair == unit else f"`{pair.removeprefix(_TYPE)}`" if pair else UNKNOWN,
        "cell": cell,
        "paper": linked if number != paper.reference else f"{brief}, {paper.short_title}",
    }


def option_words(options: Mapping[str, object]) -> list[str]:
    """Return the command-line words that set layer options; an option needs a flag."""
    names = {f.layer_option: f.name for s in SCRIPTS.values() for f in s.flags if f.layer_option}
    words: list[str] = []
    for option, value in options.items():
        words += [names[option]] if value is True else [names[option], f"{value}".replace(" ", "")]
    return words


def linked(text: str) -> str:
    """Return a text in which every arXiv number leads to its paper."""
    return re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)
