"""Formulas of docstrings, typeset: worked cases, and well-formed MathML for every layer."""

import re
from xml.etree import ElementTree

import pytest

from stable_nalu.layer import entries
from tools.mathml import formula
from tools.site_pages import described


def row(*children):
    return f"<mrow>{''.join(children)}</mrow>"


Y = f"<msub><mi>y</mi>{row('<mi>o</mi>')}</msub>"


@pytest.mark.parametrize(
    ("text", "xml"),
    [
        ("y_o = 2", f"{Y}<mo>=</mo><mn>2</mn>"),
        ("a = 1 / (x + eps)", f"<mi>a</mi><mo>=</mo><mfrac>{row('<mn>1</mn>')}"
         f"{row('<mi>x</mi>', '<mo>+</mo>', '<mi>ε</mi>')}</mfrac>"),
        ("W in [0, 1]", "<mi>W</mi><mo>∈</mo>" + row(
            '<mo stretchy="true">[</mo>', "<mn>0</mn>", "<mo>,</mo>", "<mn>1</mn>",
            '<mo stretchy="true">]</mo>')),
        ("c = -2^-23", '<mi>c</mi><mo>=</mo><mo form="prefix">−</mo>'
         f"<msup><mn>2</mn>{row('<mo>−</mo>', '<mn>23</mn>')}</msup>"),
        ("W_hat = A'", '<mover accent="true"><mi>W</mi><mo>^</mo></mover><mo>=</mo>'
         "<msup><mi>A</mi><mo>′</mo></msup>"),
        ("k = t mod K", "<mi>k</mi><mo>=</mo><mi>t</mi>"
         '<mo lspace="0.3em" rspace="0.3em">mod</mo><mi>K</mi>'),
    ],
)  # fmt: skip
def test_worked_cases(text, xml):
    wanted = f'<div class="formula"><math display="block">{xml}</math></div>'
    assert formula(f"    {text}\n") == wanted


def test_words_stay_words_and_blanks_part_formulas():
    html = formula("    sNMU, in training:  y_o = 2,    x = 1\n    after step t:\n")
    assert html.count("<math") == 2
    assert "<span>sNMU, in training:</span>" in html
    assert "<span>after step t:</span>" in html


def test_brackets_that_are_no_pairs_are_refused():
    with pytest.raises(ValueError, match="no pairs: y = "):
        formula("    y = (x + 1]")


def test_every_layer_has_a_formula_that_is_well_formed():
    for key, entry in entries().items():
        if entry.layer or entry.cell:
            found = re.findall(r"<math.*?</math>", "\n".join(described(entry)))
            assert found, key
            for xml in found:
                assert ElementTree.fromstring(xml).tag == "math"
