"""Render the generated tables of docs/flags.md and docs/layers.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from stable_nalu.files import with_part
from stable_nalu.machine import CHECKOUT
from stable_nalu.options import Flag, ScriptSpec
from stable_nalu.options.paper_names import MODELS, SPELLINGS, UNITS, registered
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
_ARITHMETIC = ("S", "SN", "L", "R", "C", "B")


def render_flag_tables() -> str:
    """Return tables of scripts, of flags by group, and of flags that scripts make less of."""
    return "\n".join([*_scripts(), *_flags(), *_compatibility()])


def refreshed_flags(document: str) -> str:
    """Return docs/flags.md with its generated tables rendered anew."""
    return with_part(document, *MARKS[FLAGS], f"{render_flag_tables()}\n")


def refreshed_layers(document: str) -> str:
    """Return docs/layers.md with its tables of models and of layers rendered anew."""
    document = with_part(document, *NAMES, f"{render_model_table()}\n\n")
    return with_part(document, *MARKS[LAYERS], f"{render_layer_table()}\n\n")


def _scripts() -> list[str]:
    lines = ["## Scripts", "", "| short | script | what it does |", "|---|---|---|"]
    lines += [f"| {s.short} | `{s.name}` | {s.summary} |" for s in SCRIPTS.values()]
    return [*lines, "", f"Below, *arithmetic* means {', '.join(_ARITHMETIC)}.", ""]


def _titles() -> list[str]:
    return list(dict.fromkeys(g.title for s in SCRIPTS.values() for g in s.groups))


def _uses() -> dict[str, dict[str, list[tuple[ScriptSpec, Flag]]]]:
    """Return the scripts that have each flag, by its first title and its name."""
    uses: dict[str, dict[str, list[tuple[ScriptSpec, Flag]]]] = {t: {} for t in _titles()}
    home: dict[str, str] = {}
    for spec in SCRIPTS.values():
        for group in spec.groups:
            for flag in group:
                title = home.setdefault(flag.name, group.title)
                uses[title].setdefault(flag.name, []).append((spec, flag))
    return {title: flags for title, flags in uses.items() if flags}


def _flags() -> list[str]:
    lines: list[str] = []
    for title, flags in _uses().items():
        lines += [f"## {title}", "", "| flag | default | scripts | in the run name of | meaning |"]
        lines += ["|---|---|---|---|---|"]
        lines += [_flag_row(name, uses) for name, uses in flags.items()]
        lines.append("")
    return lines


def _flag_row(name: str, uses: list[tuple[ScriptSpec, Flag]]) -> str:
    flag = uses[0][1]
    metavar = "" if flag.kind is None else f" {flag.kind.metavar}"
    choices = _by_script([(spec, _choices(f)) for spec, f in uses])
    cells = [
        f"`{name}{metavar}`",
        _by_script([(spec, f"`{f.default_text}`") for spec, f in uses]),
        _shorts([spec for spec, _ in uses]),
        _named(uses),
        " ".join(filter(None, [flag.help, choices and f"{choices}.", _sweep(flag)])),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _choices(flag: Flag) -> str:
    if flag.choices is None:
        return ""
    if callable(flag.choices):
        return "See [layers.md](layers.md)"
    return "One of " + ", ".join(f"`{choice}`" for choice in flag.choices)


def _sweep(flag: Flag) -> str:
    return "*Sweep*." if flag.sweep else ""


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


def _compatibility() -> list[str]:
    by_note: dict[tuple[str, str], list[ScriptSpec]] = {}
    for spec in SCRIPTS.values():
        for flag in spec.flags:
            if flag.note:
                by_note.setdefault((flag.name, flag.note), []).append(spec)
    refused = {name: why for spec in SCRIPTS.values() for name, why in spec.refused.items()}
    return [
        "## Accepted for compatibility",
        "",
        "Published commands pass these flags to scripts that make less of them than the help says.",
        "",
        "| flag | scripts | what they do with it |",
        "|---|---|---|",
        *(f"| `{name}` | {_shorts(specs)} | {note} |" for (name, note), specs in by_note.items()),
        "",
        "## Refused flags of the published scripts",
        "",
        "| flag | why |",
        "|---|---|",
        *(f"| `{name}` | {why} |" for name, why in refused.items()),
        "",
    ]


def render_layer_table() -> str:
    """Return a row for every entry of the registry and for every paper name that options make."""
    from stable_nalu.layer import entries

    lines = ["| name | `--layer-type` and further flags | layer | cell | reference |"]
    lines.append("|---|---|---|---|---|")
    for entry in sorted(entries().values(), key=_layer_order):
        lines.append(_layer_row(entry, entry.label, {}, entry.cites))
        lines += [_layer_row(entry, v.label, v.options, v.cites) for v in entry.variants]
    return "\n".join(lines)


def render_model_table() -> str:
    """Return a row for every name of the papers, with what it stands for in each kind of script."""
    lines = ["| in the papers | also | two layers, sequences of digits | one unit |"]
    lines.append("|---|---|---|---|")
    for name in dict.fromkeys((*UNITS, *MODELS)):
        also = ", ".join(f"`{other}`" for other in SPELLINGS.get(name, ()))
        pair, unit = MODELS.get(name), UNITS.get(name)
        if unit is None and (found := registered(name)) is not None:
            unit = " ".join(["--layer-type", found[0], *option_words(found[1])])
        cells = [f"`{flags}`" if flags else "–" for flags in (pair, unit)]
        lines.append(f"| {name} | {also} | {' | '.join(cells)} |")
    return "\n".join(lines)


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


def _layer_row(entry: LayerEntry, name: str, options: Mapping[str, Any], cites: Paper) -> str:
    words = " ".join([entry.key, *option_words(options)])
    marks = ["yes" if unit is not None else "–" for unit in (entry.layer, entry.cell)]
    reference = re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", cites.citation)
    return f"| {name} | `{words}` | {' | '.join(marks)} | {reference} |"
