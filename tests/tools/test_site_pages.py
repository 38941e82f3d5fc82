"""The site that `make docs` builds: every page is in its menu, and every layer has a page."""

from stable_nalu.layer import entries
from tools.site_pages import CHECKOUT, layer_pages


def test_every_page_of_the_documentation_is_in_the_menu():
    menu = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    folder = CHECKOUT / "docs"
    for path in (*folder.glob("*.md"), *folder.glob("*/README.md")):
        assert f"- {path.relative_to(folder)}\n" in menu or f"[{path.name}]" in menu


def test_every_layer_has_a_page_with_key_class_formula_and_paper():
    pages = layer_pages()
    for key, entry in entries().items():
        built = entry.layer or entry.cell
        if built is not None:
            page = pages[f"layer/{key}.md"]
            assert page.startswith(f"# {entry.label}\n\n| `--layer-type` | `{key}` |")
            assert f"`{built.__module__}.{built.__qualname__}`" in page
            assert " = " in page.partition("|---|---|")[2], key
            assert f"{entry.cites.authors} {entry.cites.year}" in page
