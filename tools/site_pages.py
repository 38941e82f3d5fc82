"""Pages of the site that are not in docs/: the start, each layer, the API.

MkDocs calls the functions `on_…` when `make docs` builds the site; mkdocs.yml names this file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import stable_nalu
from stable_nalu.layer import entries
from stable_nalu.layer.registry import LayerEntry
from stable_nalu.machine import CHECKOUT

BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")
LINKED = ("lfs_batch_jobs/**/*.sh", "examples/*.*")
"""Files outside of docs/ that pages link to."""


def on_config(config: Any) -> Any:
    """List the layers in the navigation."""
    (layers,) = (part["Layers"] for part in config.nav or () if "Layers" in part)
    layers += [_page_of(entry) for entry in sorted(_published(), key=lambda e: e.label.lower())]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the README as the start, files that pages link to, and a page for every layer."""
    from mkdocs.structure.files import File  # pyright: ignore[reportMissingImports]

    linked = [str(p.relative_to(CHECKOUT)) for form in LINKED for p in CHECKOUT.glob(form)]
    for path in (*BESIDE, *linked):
        files.append(File.generated(config, path, abs_src_path=str(CHECKOUT / path)))
    texts = {"index.md": (CHECKOUT / "README.md").read_text("utf-8"), **layer_pages()}
    for path, text in texts.items():
        files.append(File.generated(config, path, content=text))
    return files


def layer_pages() -> dict[str, str]:
    """Return the page of every layer by its path."""
    return {_page_of(entry): "\n".join(_layer(entry)) for entry in _published()}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links work from where the page is, link layers to their pages, and add the API."""
    path = page.file.src_uri
    if path == "index.md" or path in BESIDE:
        markdown = markdown.replace("](docs/", "](").replace("/index.html)", "/README.md)")
    elif "/" not in path:
        markdown = markdown.replace("](../README.md", "](index.md").replace("](../", "](")
    # A folder is not a page.
    markdown = re.sub(r"\[([^]]+)\]\(((\.\./)?reproduction/)?data(/models)?\)", r"\1", markdown)
    if path == "layers.md":
        for entry in _published():
            row = f"| {entry.label} | `{entry.key}` |"
            markdown = markdown.replace(row, row.replace(entry.label, _link(entry), 1))
    if path == "api.md":
        markdown += "\n## Public names in full\n\n" + "\n\n".join(_names())
    return markdown


def _published() -> list[LayerEntry]:
    """Return the layers and cells of the package, without halves of names."""
    return [e for e in entries().values() if e.tier != "own" and (e.layer or e.cell)]


def _page_of(entry: LayerEntry) -> str:
    return f"layer/{entry.key}.md"


def _link(entry: LayerEntry) -> str:
    return f"[{entry.label}]({_page_of(entry)})"


def _layer(entry: LayerEntry) -> Iterator[str]:
    """Yield the lines of a layer's page: what it is called, and its docstring with the formula."""
    built = entry.layer or entry.cell
    paper = re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", entry.cites.citation)
    yield from (f"# {entry.label}", "", f"| `--layer-type` | `{entry.key}` |", "|---|---|")
    for kind, found in (("class", entry.layer), ("cell", entry.cell)):
        if found is not None:
            yield f"| {kind} | `{found.__module__}.{found.__qualname__}` |"
    if entry.options:
        yield f"| options | {', '.join(f'`{option}`' for option in sorted(entry.options))} |"
    for variant in entry.variants:
        options = ", ".join(f"{name}={value!r}" for name, value in variant.options.items())
        yield f"| {variant.label} | `{options}` |"
    text = (inspect.getdoc(built) or "").replace("(*runs", "(\\*runs")
    yield from (f"| paper | {paper} |", "", text, "")
    yield "[All layers](../layers.md) · [flags](../flags.md)"


def _names() -> Iterator[str]:
    for name in stable_nalu.__all__:
        if name != "layer":  # The package of layers, which is a function, too.
            yield f"::: {getattr(stable_nalu, name).__module__}.{name}"
