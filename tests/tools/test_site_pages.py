"""Pages of the site made from the package: every layer has one, and all are in the menu."""

from stable_nalu.layer import entries
from tools.response import response
from tools.site_pages import CHECKOUT, described, layer_page


def test_every_page_of_the_documentation_is_in_the_menu():
    menu = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    folder = CHECKOUT / "docs"
    for path in (*folder.glob("*.md"), *folder.glob("*/README.md")):
        assert f"- {path.relative_to(folder)}\n" in menu or f"[{path.name}]" in menu


def test_every_layer_is_described_by_key_class_and_paper():
    for key, entry in entries().items():
        built = entry.layer or entry.cell
        if built is not None:
            page = "\n".join(described(entry))
            assert page.startswith(f"# {entry.label}\n\n| `--layer-type` | `{key}` |")
            assert f"`{built.__module__}.{built.__qualname__}`" in page
            assert f"{entry.cites.authors} {entry.cites.year}" in page


def test_a_page_has_response_and_stored_success_rates():
    page = layer_page(entries()["SignNMRU"])
    assert 'aria-label="Output of NMRU against x"' in page
    assert "With ideal weights it is x · a and a / x for all inputs." in page
    link = "[Division without redundancy](../reproduction/README.md#division)"
    assert f"| {link} | NMRU | 100 % (225/225) [98–100] |" in page


def test_what_a_layer_computes_with_ideal_weights_is_found():
    def sentence(key):
        found = response(entries()[key])
        return found and found.sentence.partition(".")[0]

    assert sentence("linear") == "With ideal weights it is x + a and x − a for all inputs"
    assert sentence("ReLU") == "With ideal weights it is x + a for positive inputs only"
    assert sentence("PosNALU").endswith("x + a and x · a for positive inputs only")
    assert sentence("Tanh").startswith("No weights of −1, 0 and 1")
    assert sentence("HardSoftmaxNAC") == "Grey: start weights"
    assert sentence("GRU") is None
