"""The lines of docs/samples.md draw the samples of the scripts, bit by bit."""

import doctest
import re

import pytest

from stable_nalu.base.files import CHECKOUT

PAGE = (CHECKOUT / "docs" / "samples.md").read_text(encoding="utf-8")
LINES, EXAMPLE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def page():
    """What the lines define, from NumPy and the standard library alone."""
    assert re.findall(r"import (\w+)", LINES) == ["math", "numpy"]
    assert len(LINES.splitlines()) <= 60
    names = {}
    exec(compile(LINES, "docs/samples.md", "exec"), names)
    return names


def test_the_example_of_the_page_is_right(page):
    example = doctest.DocTestParser().get_doctest(EXAMPLE, dict(page), "samples", None, None)
    assert doctest.DocTestRunner().run(example).failed == 0
    assert len(example.examples) == 3
