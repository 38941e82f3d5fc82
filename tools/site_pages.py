"""Pages of the site that are not in docs/: the start, each layer, each script, the API.

MkDocs calls the functions `on_…` when `make docs` builds the site; mkdocs.yml names this file.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import stable_nalu
from stable_nalu.api.zoo import card
from stable_nalu.base.files import CHECKOUT
from stable_nalu.layer import entries
from stable_nalu.layer.registry import LayerEntry
from stable_nalu.options import Flag, ScriptSpec
from stable_nalu.paper.experiment import Model
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.document import filled, plain, rate
from stable_nalu.result.stored import kept_keys, read
from stable_nalu.statistics.summary import solved_of
from stable_nalu.statistics.table import groups
from stable_nalu.task.table import SCRIPTS
from tools import FOLDER
from tools.long_table import anchor_of
from tools.mathml import formula
from tools.notes import and_last
from tools.response import response

_BLOCK = re.compile(r"(?:^ {4}.*\n?)+", re.MULTILINE)
NAMES = (
    *("train", "task", "read_runs", "summarize", "compare", "plot", "load", "formula"),
    *("layers", "layer", "register", "Layer", "penalty", "constrain", "wrap", "submit"),
)
"""Public names as a reader needs them: examples go on with what earlier ones have made."""
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")
EMPTY = "''"
LINKED = ("lfs_batch_jobs/**/*.sh", "examples/*.*", "tools/templates/tuning.csv")
"""Files outside of docs/ that pages link to."""


def on_config(config: Any) -> Any:
    """List layers and training scripts in the navigation."""
    parts = {title: part for one in config.nav or () for title, part in one.items()}
    ordered = sorted(_published(), key=lambda entry: entry.label.lower())
    core, extra = ([_page_of(e) for e in ordered if e.tier == tier] for tier in ("core", "extra"))
    parts["Layers"] += [*core, {"In no figure": extra}]
    parts["Train"].append({"Scripts": [f"task/{name}.md" for name in SCRIPTS]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the README as the start, files that pages link to, and a page for every layer."""
    from mkdocs.structure.files import File  # pyright: ignore[reportMissingImports]

    linked = [str(p.relative_to(CHECKOUT)) for form in LINKED for p in CHECKOUT.glob(form)]
    for path in (*BESIDE, *linked):
        files.append(File.generated(config, path, abs_src_path=str(CHECKOUT / path)))
    shown = {"index.md": CHECKOUT / "README.md", "site.css": FOLDER / "site.css"}
    texts = {name: path.read_text("utf-8") for name, path in shown.items()}
    texts |= {_page_of(entry): layer_page(entry) for entry in _published()}
    texts |= {f"task/{name}.md": task_page(spec) for name, spec in SCRIPTS.items()}
    for path, text in texts.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_build(config: Any) -> None:
    """Let the board lead to its page."""
    path = Path(config.site_dir) / "board.html"
    path.write_text(path.read_text("utf-8").replace('href="board.md"', 'href="board/"'), "utf-8")


def task_page(spec: ScriptSpec) -> str:
    """Return the page of a script: an example, and what each of its flags means there."""
    groups = {group.title: [_explained(spec, flag) for flag in group] for group in spec.groups}
    refused = [{"flag": f"`{name}`", "why": why} for name, why in spec.refused.items()]
    return filled(FOLDER / "task.md", spec=spec, groups=groups, refused=refused)


def _explained(spec: ScriptSpec, flag: Flag) -> dict[str, str]:
    metavar = "" if flag.kind is None else f" {flag.kind.metavar}"
    choices = flag.choices if isinstance(flag.choices, tuple) else ()
    reason = spec.partly_named.get(flag.dest)
    named = flag.dest in spec.fully_named or reason
    meaning = {
        "{}": flag.help,
        "One of the [layers](../layers.md).": callable(flag.choices),
        "One of {}.": ", ".join(f"`{choice}`" for choice in choices),
        "*Sweep*.": flag.sweep,
        "Also {}.": ", ".join(f"`{a}`" for a in flag.aliases if "--regularizer" not in a),
        "Here: {}.": flag.note,
        "Run names: {}.": reason,
        "In no run name: {}.": not named and f"{flag.unnamed}",
    }
    return {
        "flag": f"`{flag.name}{metavar}`",
        "default": f"`{flag.default_text or EMPTY}`",
        "meaning": " ".join(form.format(text) for form, text in meaning.items() if text),
    }


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links work from where the page is, link layers to their pages, and add the API."""
    path = page.file.src_uri
    if path == "index.md" or path in BESIDE:
        markdown = markdown.replace("](docs/", "](").replace("/index.html)", "/README.md)")
    elif "/" not in path:
        markdown = markdown.replace("](../README.md", "](index.md").replace("](../", "](")
    # A folder is not a page, and hidden files are not published.
    left = r"(((\.\./)?reproduction/)?data(/\w+)?|board|\.github/[^)]+)"
    markdown = re.sub(rf"\[([^]]+)\]\({left}\)", r"\1", markdown)
    if path == "flags.md":
        for name in SCRIPTS:
            markdown = markdown.replace(f"- `{name}`:", f"- [`{name}`](task/{name}.md):")
    if path == "layers.md":
        for entry in _published():
            key = f"| `{entry.key}`"
            linked_name = f"| [{entry.label}]({_page_of(entry)}) {key}"
            markdown = markdown.replace(f"| {entry.label} {key}", linked_name)
            alone = f"`{entry.key}` ("
            markdown = markdown.replace(alone, f"[`{entry.key}`]({_page_of(entry)}) (")
    if path == "api.md":
        markdown += "\n## Public names in full\n\n" + "\n\n".join(_names())
    return markdown


def _published() -> list[LayerEntry]:
    return [e for e in entries().values() if e.tier != "own" and (e.layer or e.cell)]


def _page_of(entry: LayerEntry) -> str:
    return f"layer/{entry.key}.md"


def layer_page(entry: LayerEntry) -> str:
    """Return a layer's page: what it says of itself, its response and its stored results."""
    facts = [{name: f"{fact}" for name, fact in card(entry).items()}]
    rates = kept_rates().get(entry.key)
    return described(entry, drawn=response(entry), facts=facts, rates=rates)


def linked(text: str) -> str:
    return re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def described(entry: LayerEntry, **more: Any) -> str:
    """Return the names of a layer, its docstring with formulas, and what else is given."""
    text = inspect.getdoc(entry.layer or entry.cell) or ""
    text = re.sub(r"docs/([-\w]+)\.md", r"[\1](../\1.md)", text.replace("(*runs", "(\\*runs"))
    # Indented blocks are formulas.
    text = _BLOCK.sub(lambda found: f"<div>{formula(found[0])}</div>\n", text)
    built = {"class": entry.layer, "cell": entry.cell}
    parts = {"drawn": None, "facts": None, "rates": None, "linked": linked, "and_last": and_last}
    return filled(FOLDER / "layer.md", entry=entry, built=built, text=text, **parts | more)


@cache
def kept_rates() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for key in kept_keys(measured=False):
        experiment = EXPERIMENTS[key]
        figure = f"[{experiment.title}](../reproduction/README.md#{anchor_of(experiment)})"
        for (name,), runs in groups(read(key), ["model"]):
            model = experiment.model(name)
            solved = rate(solved_of(runs), len(runs))
            row = {"figure": figure, "model": plain(model.label), "solved": solved}
            found.setdefault(layer_of(model), []).append(row)
    return found


def layer_of(model: Model) -> str:
    """Return the key of a model's layer; where `--nac-mul` decides, of the one that multiplies."""
    (config, *_) = SCRIPTS[model.script].plan(model.commands([0])[0].words).configs
    layer, multiplies = str(config.layer_type), getattr(config, "nac_mul", "none")
    layer = {"npu": "NPU", "real-npu": "RealNPU"}.get(multiplies, layer)
    return f"{layer[:-3]}MNAC" if multiplies == "mnac" and layer[-4:] != "MNAC" else layer


def _names() -> Iterator[str]:
    yield "The examples follow each other, after `import torch` and `import stable_nalu as sn`."
    for name in NAMES:
        if name in ("layer", "task"):  # Packages that are functions, too.
            options = f"heading: {name}\n      toc_label: {name}\n      show_signature: false"
            yield f"::: stable_nalu.{name}._{name.title()}s.__call__\n    options:\n      {options}"
        else:
            yield f"::: {getattr(stable_nalu, name).__module__}.{name}"
