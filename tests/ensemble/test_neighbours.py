"""Runs of a stack do not notice each other: bit for bit what they are in other company."""

import pytest
import torch

from tests.experiments.scripts import (
    assert_same_state,
    load_script,
    read,
    run,
    run_names,
    saved,
)

SHORT = ("--max-iterations", "24", "--log-interval", "6")
LINEAR = ("--operation", "add", "--layer-type", "linear", "--optimizer", "sgd")
REINIT = (
    *("--operation", "mul", "--layer-type", "iNALU", "--reinit", "--clip-grad-value", "0.1"),
    *("--reinit-epoch-interval", "4", "--reinit-max-stored-losses", "6"),
    *("--reinit-loss-thr", "1"),
)


def assert_same_figures(name, other):
    one, two = read(name), read(other)
    assert repr(one.values) == repr(two.values)
    assert_same_state(saved(name)["model_state_dict"], saved(other)["model_state_dict"])


def train(prefix, script, *words):
    """Names of the runs, under a name prefix of their own."""
    code = load_script(script).main(["--no-cuda", "--name-prefix", prefix, *words])
    names = run_names(script, *words)
    return code, [f"{prefix}/{name.removeprefix('t/')}" for name in names]


def test_a_run_that_diverges_leaves_its_neighbours_alone():
    rates = ("0.001", "0.002", "0.003")
    calm = train("calm", "single_layer", *LINEAR, *SHORT, "--learning-rate", *rates)
    rates = ("0.001", "1e30", "0.003")
    wild = train("wild", "single_layer", *LINEAR, *SHORT, "--learning-rate", *rates)
    assert (calm[0], wild[0]) == (0, 3)
    for k in (0, 2):
        assert_same_figures(calm[1][k], wild[1][k])
    assert "/diverged/text_summary" in read(wild[1][1]).tags


@pytest.mark.parametrize(
    "words",
    [
        ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC", "--nmu-noise"),
        ("--operation", "mul", "--layer-type", "NALU"),
        ("--operation", "div", "--layer-type", "SignNMRU", "--clip-grad-norm", "1"),
        ("--operation", "add", "--layer-type", "GumbelNAC"),
    ],
)
def test_company_does_not_matter(words):
    _, few = train("few", "single_layer", *words, *SHORT, "--seed", "1-2")
    _, many = train("many", "single_layer", *words, *SHORT, "--seed", "0-4")
    for k, name in enumerate(few):
        assert_same_figures(name, many[k + 1])


@pytest.mark.parametrize(
    "words",
    [
        ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC", "--nmu-noise"),
        ("--operation", "add", "--layer-type", "GumbelNAC"),
        (*REINIT, "--learning-rate", "1e-12"),
    ],
)
def test_runs_of_a_stack_are_single_runs(words):
    words = (*words, *SHORT)
    _, names = train("stack", "single_layer_benchmark", *words, "--seed", "0-3")
    for seed, name in enumerate(names):
        _, (alone,) = train("alone", "single_layer_benchmark", *words, "--seed", str(seed))
        one, other = read(alone), read(name)
        assert list(one.values) == list(other.values)
        for key, (value,) in one.values.items():
            same = value == other.values[key][0] if isinstance(value, bytes) else None
            assert same or other.values[key][0] == pytest.approx(value, rel=1e-5)
        for key, value in saved(alone)["model_state_dict"].items():
            torch.testing.assert_close(
                saved(name)["model_state_dict"][key], value, rtol=1e-5, atol=1e-7
            )
        assert torch.equal(saved(alone)["torch_rng_state"], saved(name)["torch_rng_state"])


def test_each_run_restarts_by_itself():
    # So small a rate that the error stays: such a run is stuck, the others improve.
    words = (*REINIT, *SHORT, "--learning-rate", "1e-12", "0.001")
    _, names = train("stack", "single_layer_benchmark", *words)
    counts = [saved(name)["progress"]["task"]["count"] for name in names]
    assert counts[0] > counts[1] == 0
    for name, count in zip(names, counts, strict=True):
        texts = read(name).series("reinit/text_summary")
        assert list(texts.values()) == [str(k).encode() for k in range(count)]


def test_penalties_of_each_run():
    words = ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC")
    swept = ("--regualizer", "1", "10", "--regualizer-scaling-start", "0", "12")
    words = (*words, *swept, "--regualizer-scaling-end", "20", *SHORT)
    assert run("single_layer", *words) == 0
    names = run_names("single_layer", *words)
    assert len(names) == 4
    for name in names:
        config = saved(name)["config"]
        start = config["regualizer_scaling_start"]
        penalty = read(name).series("loss/train/regualizer")
        assert [step for step, value in penalty.items() if value == 0] == (
            [0] if start == 0 else [0, 6, 12]
        )
