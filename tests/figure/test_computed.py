"""What is computed without runs: loss landscapes, exact solutions, class counts, surfaces."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stable_nalu.figure.entries import find
from stable_nalu.figure.entries.landscapes import ENTRIES
from stable_nalu.figure.kinds.classes import accuracies, matrix
from stable_nalu.figure.kinds.distances import configuration, distance, relevant
from stable_nalu.figure.kinds.landscape import TARGET, loss, predict
from stable_nalu.figure.kinds.path import moves
from stable_nalu.figure.kinds.surface import RAMP, colors


def test_the_landscapes_have_their_zero_where_the_task_is_solved():
    assert pytest.approx(13.2) == TARGET
    one = np.array([1.0])
    for entry in ENTRIES:
        for part in entry.parts:
            error = loss(part, one, one)[0]
            z = np.array([2.2, 6.0]) + part.epsilon
            wanted = abs(np.prod(z) - TARGET)
            assert error == pytest.approx(wanted if part.shape == "rmse" else wanted**2, abs=1e-9)


def test_units_of_the_landscapes():
    z, w = np.array([[2.0], [-3.0]]), np.array([0.5])
    assert predict("nmu", z, w, 0.0)[0] == pytest.approx(1.5 * -1.0)
    assert predict("nac-mul", z, w, 0.0)[0] == pytest.approx(np.sqrt(6))
    nru = (np.sqrt(2) * 0.5 + 0.5) * (-np.sqrt(3) * 0.5 + 0.5)
    assert predict("nru", z, w, 0.0)[0] == pytest.approx(nru)
    assert predict("nru-tanh", z, w, 0.0)[0] == pytest.approx(-np.sqrt(6))


@pytest.mark.parametrize("seed", range(4))
def test_relevant_inputs_follow_from_the_seed(seed):
    first = np.random.RandomState(seed).randint(0, 9)
    assert relevant(seed) == (first, first + 1)


def weights(name, values):
    return {f"param.{name}.{place}": value for place, value in enumerate(values)}


def test_distances_to_exact_weights():
    i, j = relevant(3)
    exact = np.zeros(10)
    exact[[i, j]] = 1
    assert distance("NMU", "mul", 3, weights("W", exact)) == 0
    assert distance("NAU", "sub", 3, weights("W", exact)) == pytest.approx(0.2)
    off = exact.copy()
    off[(j + 1) % 10] = 0.5
    assert distance("NMU", "mul", 3, weights("W", off)) == pytest.approx(0.05)


def test_idle_inputs_of_power_and_reciprocal_units():
    i, j = relevant(0)
    power = np.full(10, 0.7)
    power[[i, j]] = 1, -1
    gate = np.zeros(10)
    gate[[i, j]] = 1
    row = weights("W_real", power) | weights("gate", gate)
    assert distance("Real NPU", "div", 0, row) == 0
    both = np.ones(20)
    both[[i, j + 10]] = 1
    both[[i + 10, j]] = 0
    assert distance("Sign NMRU", "div", 0, weights("W", both)) == 0


def test_configurations_name_what_was_varied():
    row = {
        "learning.rate": 0.001,
        "regualizer": 10.0,
        "regualizer.scaling.start": 1.0,
        "regualizer.scaling.end": 2.0,
        "noise.range": "U[1,5]",
    }
    assert configuration("NMU", row) == "LR:0.001 Reg:10-1-2"
    assert configuration("sNMU", row) == "LR:0.001 Reg:10-1-2 Noise:U[1,5]"


def test_counts_of_classes():
    table = pd.DataFrame({"true": [0, 0, 1], "predicted": [0, 9, 1], "count": [3, 1, 2]})
    counts = matrix(table)
    assert counts.tolist() == [[3, 1], [0, 2]]
    assert accuracies(counts)["accuracy"].tolist() == [0.75, 1.0]


def test_the_ramp_begins_and_ends_as_published():
    found = colors(20)
    for place, name in ((0, RAMP[0]), (-1, RAMP[-1])):
        rgb = [int(name[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        np.testing.assert_allclose(found[place], rgb, atol=1e-6)


def test_moves_of_weights_over_those_of_gates():
    part = find("weight2gate_ratio").parts[0]
    run = pd.DataFrame({"w0": [0, 3, 3.0], "w1": [0, 4, 4.0], "g0": [0, 0, 1.0], "g1": [0, 0, 0.0]})
    ratio = moves(part, run, [("w0", "w1"), ("g0", "g1")])
    np.testing.assert_allclose(ratio, [5.01 / 0.01, 0.01 / 1.01])
    plain = moves(replace(part, show="distance"), run, [("w0", "w1")])
    np.testing.assert_allclose(plain, [5.0, 0.0])
