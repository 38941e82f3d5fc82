"""Pages of the site made from the package: every layer and script has one, with its formulas."""

import re
from xml.etree import ElementTree

import pytest

from stable_nalu.layer import entries
from stable_nalu.task.table import SCRIPTS
from tools.mathml import formula
from tools.site_pages import CHECKOUT, EMPTY, described, task_page

LAYERS = {key: entry for key, entry in entries().items() if entry.layer or entry.cell}


def test_every_page_of_the_documentation_is_in_the_menu():
    menu = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    folder = CHECKOUT / "docs"
    for path in (*folder.glob("*.md"), *folder.glob("*/README.md")):
        assert f"- {path.relative_to(folder)}\n" in menu or f"[{path.name}]" in menu


def test_every_layer_is_described_by_key_class_paper_and_formulas():
    for key, entry in LAYERS.items():
        built = entry.layer or entry.cell
        page = described(entry)
        assert page.startswith(f"# {entry.label}\n\n| `--layer-type` | `{key}` |")
        assert f"`{built.__module__}.{built.__qualname__}`" in page
        assert f"{entry.cites.authors} {entry.cites.year}" in page
        formulas = re.findall(r"<math.*?</math>", page)
        assert formulas, key
        assert {ElementTree.fromstring(xml).tag for xml in formulas} == {"math"}


def row(*children):
    return f"<mrow>{''.join(children)}</mrow>"


Y = f"<msub><mi>y</mi>{row('<mi>o</mi>')}</msub>"


@pytest.mark.parametrize(
    ("text", "xml"),
    [
        ("y_o = 2", f"{Y}<mo>=</mo><mn>2</mn>"),
        (
            "a = 1 / (x + eps)",
            f"<mi>a</mi><mo>=</mo><mfrac>{row('<mn>1</mn>')}"
            f"{row('<mi>x</mi>', '<mo>+</mo>', '<mi>ε</mi>')}</mfrac>",
        ),
        (
            "W in [0, 1]",
            "<mi>W</mi><mo>∈</mo>"
            + row(
                '<mo stretchy="true">[</mo>',
                "<mn>0</mn>",
                "<mo>,</mo>",
                "<mn>1</mn>",
                '<mo stretchy="true">]</mo>',
            ),
        ),
        (
            "c = -2^-23",
            '<mi>c</mi><mo>=</mo><mo form="prefix">−</mo>'
            f"<msup><mn>2</mn>{row('<mo>−</mo>', '<mn>23</mn>')}</msup>",
        ),
        (
            "W_hat = A'",
            '<mover accent="true"><mi>W</mi><mo>^</mo></mover><mo>=</mo>'
            "<msup><mi>A</mi><mo>′</mo></msup>",
        ),
        (
            "k = t mod K",
            '<mi>k</mi><mo>=</mo><mi>t</mi><mo lspace="0.3em" rspace="0.3em">mod</mo><mi>K</mi>',
        ),
    ],
)
def test_worked_cases(text, xml):
    wanted = f'<div class="formula"><math display="block">{xml}</math></div>'
    assert formula(f"    {text}\n") == wanted


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_page_of_a_script_says_what_each_of_its_flags_means_there(script):
    spec = SCRIPTS[script]
    rows = dict(re.findall(r"^\| `(--[-\w]+).*?` \| (.*) \|$", task_page(spec), re.M))
    assert [*rows] == [*(flag.name for flag in spec.flags), *spec.refused]
    assert all(rows[name] == why for name, why in spec.refused.items())
    for flag in spec.flags:
        wanted = (
            f"`{flag.default_text or EMPTY}` | ",
            flag.help,
            f"Here: {flag.note}." if flag.note else "",
            "*Sweep*." if flag.sweep else "",
            *(f"`{a}`" for a in flag.aliases if "--regularizer" not in a),
            *(f"`{c}`" for c in (flag.choices if isinstance(flag.choices, tuple) else ())),
        )
        assert all(part in rows[flag.name] for part in wanted)
        holds = flag.dest in spec.fully_named | {*spec.partly_named}
        assert holds == ("In no run name: " not in rows[flag.name])
