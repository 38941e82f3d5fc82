"""The lines of docs/samples.md draw the samples of the scripts, bit by bit."""

import doctest
import json
import re

import numpy as np
import pytest

from stable_nalu.base.files import CHECKOUT
from tests.training.configurations import built

PAGE = (CHECKOUT / "docs" / "samples.md").read_text(encoding="utf-8")
LINES, EXAMPLE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
HALVES = ["[[-2,-0.1],[0.1,2],[]]", "[[-6,-2],[2,6],[]]"]


@pytest.fixture(scope="module")
def page():
    """What the lines define, from NumPy and the standard library alone."""
    assert re.findall(r"import (\w+)", LINES) == ["math", "numpy"]
    assert len(LINES.splitlines()) <= 60
    names = {}
    exec(compile(LINES, "docs/samples.md", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("script", "operation", "ranges", "sizes"),
    [
        ("single_layer", "mul", ["[1,2]", "[2,6]"], {}),
        ("single_layer", "add", ["[-2,2]", "[[-6,-2],[2,6]]"], {}),
        ("single_layer", "div", HALVES, {}),
        ("single_layer", "reciprocal", ["[0,0.0001]", "[0,0.0001]"], {"inputs": 2, "subsets": 1}),
        ("single_layer_benchmark", "sub", ["[1.1,1.2]", "[1.2,6]"], {"inputs": 10, "subset": 0.1}),
        ("simple_function_static", "add", ["[1,2]", "[2,6]"], {"inputs": 100, "overlap": 0.5}),
        ("simple_function_static", "root", ["[-1,1]", "[2,6]"], {"inputs": 9, "subset": 0.3}),
        ("simple_function_static", "squared", ["[[-2,-1],[1,2]]", "[2,6]"], {"inputs": 5}),
    ],
)
def test_lines_draw_what_a_run_is_trained_and_measured_on(script, operation, ranges, sizes, page):
    seed = 7
    sizes = {"inputs": 2, "subset": 0.5, "overlap": 0.0, "subsets": 2} | sizes
    words = (
        f"--operation {operation} --seed {seed} --interpolation-range {ranges[0]} "
        f"--extrapolation-range {ranges[1]} --input-size {sizes['inputs']} --subset-ratio "
        f"{sizes['subset']} --overlap-ratio {sizes['overlap']} --num-subsets {sizes['subsets']}"
    )
    run = built(script, words)
    training, *fixed = page["streams"](seed, operation, *map(json.loads, ranges), **sizes)
    for _ in range(3):
        for own, lines in zip(run.feed.next(), training.batch(), strict=True):
            np.testing.assert_array_equal(own.numpy(), lines, strict=True)
    for rows, stream in zip(run.evaluation, fixed, strict=True):
        x, t = stream.batch(page["FIXED_ROWS"])
        np.testing.assert_array_equal(rows._x[0].numpy(), x, strict=True)
        np.testing.assert_array_equal(rows._t[0].numpy(), t, strict=True)


def test_the_example_of_the_page_is_right(page):
    example = doctest.DocTestParser().get_doctest(EXAMPLE, dict(page), "samples", None, None)
    assert doctest.DocTestRunner().run(example).failed == 0
    assert len(example.examples) == 3
