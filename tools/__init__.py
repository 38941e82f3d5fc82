"""What the maintainers make of the package: the page of results, the gallery, generated files."""

from collections.abc import Callable, ItemsView, Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from stable_nalu.base.files import cells_of

FOLDER = Path(__file__).parent / "templates"
TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)
"""Templates of pages in HTML, in which texts are escaped, and of scripts."""
TEMPLATES.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}


def rows_in(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none of one that is not there."""
    return cells_of(path) if path.exists() else []


Items = ItemsView[Any, list[Any]]


def grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> Items:
    """Return items by their keys, both in order of appearance."""
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found.items()
