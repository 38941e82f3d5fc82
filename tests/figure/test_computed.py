"""What is computed without runs: loss landscapes, exact solutions, class counts, surfaces."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.figure.digits import accuracies, matrix
from stable_nalu.figure.entries import find
from stable_nalu.figure.surfaces import RAMP, TARGET, chain_output, landscape, published_ramp


def test_the_landscapes_have_their_zero_where_the_task_is_solved():
    assert pytest.approx(13.2) == TARGET
    one = np.array([1.0])
    for part in find("loss_landscape").parts:
        error = landscape(part.loss, one, one, part.epsilon)[0]
        z = np.array([2.2, 6.0]) + part.epsilon
        assert error == pytest.approx(abs(np.prod(z) - TARGET), abs=1e-9)


def test_units_of_the_landscapes():
    z, w = np.array([[2.0], [-3.0]]), np.array([0.5])
    assert chain_output("nmu", z, w, 0.0)[0] == pytest.approx(1.5 * -1.0)
    assert chain_output("nac-mul", z, w, 0.0)[0] == pytest.approx(np.sqrt(6))
    nru = (np.sqrt(2) * 0.5 + 0.5) * (-np.sqrt(3) * 0.5 + 0.5)
    assert chain_output("nru", z, w, 0.0)[0] == pytest.approx(nru)
    assert chain_output("nru-tanh", z, w, 0.0)[0] == pytest.approx(-np.sqrt(6))


def test_counts_of_classes():
    table = pd.DataFrame({"true": [0, 0, 1], "predicted": [0, 9, 1], "count": [3, 1, 2]})
    counts = matrix(table)
    assert counts.tolist() == [[3, 1], [0, 2]]
    assert accuracies(counts)["accuracy"].tolist() == [0.75, 1.0]


def test_the_ramp_begins_and_ends_as_published():
    found = published_ramp(20)
    for place, name in ((0, RAMP[0]), (-1, RAMP[-1])):
        rgb = [int(name[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        np.testing.assert_allclose(found[place], rgb, atol=1e-6)
