"""Render the generated tables of docs/flags.md and docs/layers.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.fair_play import card
from stable_nalu.files import with_part
from stable_nalu.layer import entries
from stable_nalu.machine import CHECKOUT
from stable_nalu.options import Flag, ScriptSpec
from stable_nalu.options.layer_options import option_words
from stable_nalu.options.paper_names import MODELS, SPELLINGS, UNITS, registered
from stable_nalu.result.document import UNKNOWN, filled, table
from stable_nalu.task import SCRIPTS

if TYPE_CHECKING:
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
CARD_MARKS = (
    "<!-- Generated from stable_nalu/fair_play.py; rewrite with `make generated`. -->",
    "<!-- End of the generated cards. -->",
)
_FLAGS = [flag for spec in SCRIPTS.values() for flag in spec.flags]
_TYPE = "--layer-type "
TEMPLATE = Path(__file__).parent / "templates" / "flags.md"
_SETS = {
    "A": ("S", "SN", "L", "R", "C", "B"),
    "T": ("SR", "NT", "IA", "ED", "MC", "GW", "PE", "NA", "CMP", "EML", "MA"),
}
"""Short name of scripts that share many flags -> their own short names."""
SHARED_BY = 4
"""The number of scripts from which the page explains a flag; of others it gives the defaults."""
EMPTY = "''"
OTHERS = "Others"
"""Title of shared flags whose own title would have one flag alone."""
MARK = "°"
"""Mark of a flag that no run name holds."""

Use = tuple[ScriptSpec, Flag]


def render_flag_tables() -> str:
    """Return tables of scripts, of shared flags, of each script's own, and of refused ones."""
    shared, own = _uses()
    return filled(
        TEMPLATE,
        scripts=[
            {"short": s.short, "script": f"`{s.name}`", "what it does": s.summary}
            for s in SCRIPTS.values()
        ],
        sets={name: ", ".join(shorts) for name, shorts in _SETS.items()},
        shared={t: [_row(uses) for uses in flags] for t, flags in shared.items()},
        own=[
            {
                "script": scripts,
                "flags and defaults": ", ".join(
                    f"`{uses[0][1].name}`{_mark(uses)} {_default(uses)}" for uses in flags
                ),
            }
            for scripts, flags in own.items()
        ],
    )


def task_page(spec: ScriptSpec) -> str:
    """Return the site's page of a script: an example, and what each of its flags means there."""
    parts = [f"# {spec.name}", spec.summary]
    parts += [f"    python3 {spec.folder}/{spec.name}.py {spec.example}"]
    parts += ["[All scripts and flags](../flags.md) · [your own layer](../your-layer.md)"]
    for group in spec.groups:
        parts += [f"## {group.title}", table([_explained(spec, flag) for flag in group])]
    if spec.refused:
        rows = [{"flag": f"`{name}`", "why": why} for name, why in spec.refused.items()]
        parts += ["## Refused flags of the published script", table(rows)]
    return "\n\n".join(parts).replace("](layers.md", "](../layers.md") + "\n"


def _explained(spec: ScriptSpec, flag: Flag) -> dict[str, str]:
    """Return the row of a flag on the page of one script."""
    row = _row([(spec, flag)])
    reason = spec.partly_named.get(flag.dest)
    more = [
        f"Here: {flag.note}." if flag.note else "",
        f"Run names: {reason}." if reason else "",
        "" if _named((spec, flag)) else f"In no run name: {flag.unnamed}.",
    ]
    return {
        "flag": row["flag"].removesuffix(MARK),
        "default": row["default"],
        "meaning": " ".join(filter(None, [row["meaning"], *more])),
    }


def refreshed_flags(document: str) -> str:
    """Return docs/flags.md with its generated tables rendered anew."""
    return with_part(document, *MARKS[FLAGS], f"{render_flag_tables()}\n")


def refreshed_layers(document: str) -> str:
    """Return docs/layers.md with its table rendered anew."""
    document = with_part(document, *MARKS[LAYERS], f"{render_layer_table()}\n\n")
    return with_part(document, *CARD_MARKS, f"{render_cards()}\n\n")


def render_cards() -> str:
    """Return the card of every unit that papers have a name for, and of its named options."""
    rows: list[dict[str, str]] = []
    for entry in sorted(entries().values(), key=lambda e: (e.layer is None, e.label.lower())):
        if entry.tier == "core":
            for variant in (None, *entry.variants):
                name = f"{entry.label if variant is None else variant.label}"
                cells = {column: f"{cell}" for column, cell in card(entry, variant).items()}
                rows.append({"name": name, **cells})
    return table(rows)


def _uses() -> tuple[dict[str, list[list[Use]]], dict[str, list[list[Use]]]]:
    """Return the uses of each flag: of shared ones by title, of others by their scripts."""
    titles: dict[str, str] = {}
    uses: dict[str, list[Use]] = {}
    for spec in SCRIPTS.values():
        for group in spec.groups:
            for flag in group:
                titles.setdefault(flag.name, group.title)
                uses.setdefault(flag.name, []).append((spec, flag))
    shared: dict[str, list[list[Use]]] = {title: [] for title in titles.values()}
    own: dict[str, list[list[Use]]] = {}
    for name, found in uses.items():
        if len(found) < SHARED_BY:
            own.setdefault(_shorts([spec for spec, _ in found]), []).append(found)
        else:
            shared[titles[name]].append(found)
    few = [uses for found in shared.values() if len(found) == 1 for uses in found]
    return {**{title: found for title, found in shared.items() if len(found) > 1}, OTHERS: few}, own


def _row(uses: list[Use]) -> dict[str, str]:
    flag = uses[0][1]
    metavar = "" if flag.kind is None else f" {flag.kind.metavar}"
    also = {f"`{a}`": None for _, use in uses for a in use.aliases if "--regularizer" not in a}
    swept = [spec for spec, use in uses if use.sweep]
    meaning = [
        _by_count([(spec, f.help) for spec, f in uses])[0][0],
        _choices(uses),
        "*Sweep*." if len(swept) == len(uses) else f"*Sweep*: {_shorts(swept)}." if swept else "",
        also and f"Also {', '.join(also)}.",
    ]
    return {
        "flag": f"`{flag.name}{metavar}`{_mark(uses)}",
        "default": _default(uses),
        "scripts": _scripts(uses),
        "meaning": " ".join(filter(None, meaning)),
    }


def _mark(uses: list[Use]) -> str:
    return "" if any(map(_named, uses)) else MARK


def _default(uses: list[Use]) -> str:
    return _by_script([(spec, f"`{flag.default_text or EMPTY}`") for spec, flag in uses])


def _choices(uses: list[Use]) -> str:
    lists: list[tuple[ScriptSpec, str]] = []
    for spec, flag in uses:
        if flag.choices is None:
            return ""
        if callable(flag.choices):
            return "See [layers.md](layers.md)."
        lists.append((spec, ", ".join(f"`{choice}`" for choice in flag.choices)))
    most = _by_count(lists)[0][0]
    return f"One of {_by_script(lists).replace(f': {most}, ', ': also ')}."


def _by_script(values: list[tuple[ScriptSpec, str]]) -> str:
    """Return the value of most scripts, then each other value with the scripts that have it."""
    (most, _), *others = _by_count(values)
    return "; ".join([most, *(f"{_shorts(specs)}: {value}" for value, specs in others)])


def _by_count(values: list[tuple[ScriptSpec, str]]) -> list[tuple[str, list[ScriptSpec]]]:
    """Return each value with its scripts, that of most scripts first."""
    found: dict[str, list[ScriptSpec]] = {}
    for spec, value in values:
        found.setdefault(value, []).append(spec)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _named(use: Use) -> bool:
    spec, flag = use
    return flag.dest in spec.fully_named or flag.dest in spec.partly_named


def _scripts(uses: list[Use]) -> str:
    """Return the scripts of a flag; in brackets those whose run names alone do not hold it."""
    named = [spec for spec, flag in uses if _named((spec, flag))]
    others = [spec for spec, flag in uses if not _named((spec, flag))]
    if named and others:
        return f"{_shorts(named)} ({_shorts(others)})"
    return _shorts(named or others)


def _shorts(specs: list[ScriptSpec]) -> str:
    shorts = [spec.short for spec in specs]
    if len(shorts) == len(SCRIPTS):
        return "all"
    for name, members in _SETS.items():
        if set(members) <= set(shorts):
            place = shorts.index(members[0])
            shorts = [short for short in shorts if short not in members]
            shorts.insert(place, name)
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
            words = " ".join([entry.key, *option_words(_FLAGS, variant.options)])
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
        "paper": linked if number != paper.reference else brief,
    }


def linked(text: str) -> str:
    """Return a text in which every arXiv number leads to its paper."""
    return re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)
