"""Compiled iterations on a hundred inputs or hidden units against plain ones, to the last bit."""

import pytest

from stable_nalu import native
from stable_nalu.training.arithmetic import data
from stable_nalu.training.compiled.errors import ROWS

from .test_errors import assert_same, both
from .test_step import RAMP, as_recorded, assert_same_training, session, train_both

RUNS = ("--seed", "0-5", "--input-size", "100")
NAU = ("--operation", "add", "--layer-type", "ReRegualizedLinearNAC")
NMU = ("--operation", "mul", "--layer-type", "ReRegualizedLinearNAC", "--nac-mul", "mnac")
NALU = ("--operation", "mul", "--layer-type", "NALU")


@pytest.fixture(autouse=True)
def products_in_cpp():
    if not (native.load() and native.calls_torch()):
        pytest.skip("no C++ for wide products")


def trained(*words, script="simple_function_static", runs=RUNS):
    """Train both ways, and return the operations of the compiled one."""
    seen = []

    def note(graph):
        seen.append(graph)
        return graph

    both = train_both(*runs, *words, compiler=note, script=script)
    assert_same_training(*both)
    return {str(node.target).removesuffix(".default") for node in seen[-1].graph.nodes}


@pytest.mark.parametrize(
    "words",
    [
        (*NMU, "--regualizer", "10", *RAMP),
        (*NAU, *RAMP),
        (*NAU, "--oob-mode", "regualized", "--hidden-size", "3", *RAMP),
        ("--operation", "mul", "--layer-type", "NAC", "--nac-mul", "normal"),
        ("--operation", "mul", "--layer-type", "NAC", "--nac-mul", "max-safe"),
        ("--operation", "add", "--layer-type", "NAC"),
        ("--operation", "add", "--layer-type", "linear"),
        NALU,
    ],
    ids=lambda words: "_".join(words[3:]),
)
def test_every_number_is_that_of_plain_training(words):
    operations = trained(*words)
    assert {"stable_nalu.wide_product", "stable_nalu.wide_gradient"} <= operations
    assert not operations & {"aten.bmm", "aten.baddbmm", "aten.sum.dim_IntList"}


@pytest.mark.parametrize(
    ("words", "hidden_size"),
    [
        ((*NMU, "--regualizer", "10", *RAMP), 5),
        ((*NMU, *RAMP), 8),
        (NALU, 10),
        (("--operation", "add", "--layer-type", "linear"), 4),
    ],
    ids=lambda words: str(words) if isinstance(words, int) else "_".join(words[3:]),
)
def test_larger_hidden_layers_take_their_products_from_torch(words, hidden_size):
    operations = trained(*words, "--hidden-size", str(hidden_size))
    assert "stable_nalu.product" in operations
    assert not operations & {"stable_nalu.wide_product", "aten.bmm", "aten.baddbmm"}


@pytest.mark.parametrize(
    "words",
    [
        ("--operation", "add", "--layer-type", "ReRegualizedLinearNAC", *RAMP),
        ("--operation", "sub", "--layer-type", "NAC"),
    ],
    ids=lambda words: words[3],
)
def test_single_layers_with_one_output_take_their_products_from_torch(words):
    operations = trained(*words, script="single_layer")
    assert "stable_nalu.product" in operations
    assert not operations & {"stable_nalu.wide_product", "aten.bmm"}


@pytest.mark.parametrize("activation", ["ReLU", "Tanh", "Sigmoid", "Softsign", "linear"])
@pytest.mark.parametrize(
    "words",
    [
        ("--input-size", "2", "--mlp-bias", "--hidden-size", "100"),
        ("--input-size", "2", "--mlp-bias", "--hidden-size", "40", "--mlp-depth", "1"),
        ("--input-size", "100", "--hidden-size", "100"),
    ],
    ids=lambda words: "_".join(words),
)
def test_wide_hidden_layers(activation, words):
    words = ("--operation", "mul", "--layer-type", activation, *words)
    operations = trained(*words, script="single_layer_benchmark", runs=("--seed", "0-2"))
    assert "stable_nalu.product" in operations
    assert not operations & {"aten.bmm", "aten.baddbmm"}


@pytest.mark.parametrize(
    "words",
    [NMU, (*NMU, "--hidden-size", "5"), NALU, ("--operation", "add", "--layer-type", "linear")],
    ids=lambda words: "_".join(words[3:]),
)
@pytest.mark.parametrize("ranges", [(), ("--interpolation-range", "[1,2]", "[2,6]")])
def test_errors_are_those_of_the_model(monkeypatch, words, ranges):
    """Inputs that all runs share are not copied for each; others are."""
    monkeypatch.setattr(data, "EVALUATION_ROWS", 2 * ROWS + 100)
    ours = session("--seed", "0-2", *words, *ranges, script="simple_function_static")
    found, expected, code = both(ours, as_recorded)
    assert_same(found, expected)
    assert code._works


@pytest.mark.parametrize("depth", ["0", "1"])
def test_errors_of_wide_hidden_layers_are_those_of_the_model(monkeypatch, depth):
    monkeypatch.setattr(data, "EVALUATION_ROWS", 2 * ROWS + 100)
    words = ("--layer-type", "ReLU", "--mlp-bias", "--hidden-size", "50", "--mlp-depth", depth)
    ours = session("--seed", "0-2", *words, script="single_layer_benchmark")
    found, expected, code = both(ours, as_recorded)
    assert_same(found, expected)
    assert code._works


def test_a_first_layer_that_multiplies_is_trained_as_it_is():
    """It is recorded, and found to be none that is faster compiled: nothing warns."""
    words = ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC")

    def refuse(graph):
        raise AssertionError("this was to be left alone")

    ours, plain = train_both(
        *RUNS, *words, compiler=refuse, iterations=4, script="simple_function_static"
    )
    assert_same_training(ours, plain)
