"""Samples of arithmetic scripts: blocks of batches are the single batches of each run's stream."""

import pytest
import torch

from stable_nalu.dataset.simple_function import Feed
from stable_nalu.task.arithmetic import build_dataset
from tests.training.configurations import built, configurations

BATCH = 5


def forks(*words):
    configs = configurations("single_layer", *words)
    return [build_dataset(config).fork(config.interpolation_range) for config in configs]


def expected_batches(count, *words):
    """Batches of every run, one by one."""
    return [[stream[0:BATCH] for _ in range(count)] for stream in forks(*words)]


@pytest.mark.parametrize(
    "ranges",
    [
        pytest.param(("[1,2]",), id="one range"),
        pytest.param(("[1,2]", "[[-6,-2],[2,6]]"), id="with generators of their own"),
        pytest.param(("[1,2]", "[-2,2]", "[0.1,0.2]"), id="of one generator"),
    ],
)
@pytest.mark.parametrize("cuts", [(7,), (3, 1, 3)])
def test_batches_of_some_runs(ranges, cuts):
    """Whichever runs draw together and however many batches at once, each gets its own."""
    words = ("--operation", "div", "--seed", "0-2", "--interpolation-range", *ranges)
    expected = expected_batches(7, *words)
    feed = Feed(forks(*words), BATCH, 2)
    for runs in ([*range(len(expected))][::2], [*range(len(expected))][1::2]):
        at = 0
        for count in cuts:
            x, t = feed.draw(runs, count)
            for place, run in enumerate(runs):
                for k in range(count):
                    assert torch.equal(torch.from_numpy(x[k, place]), expected[run][at + k][0])
                    assert torch.equal(torch.from_numpy(t[k, place]), expected[run][at + k][1])
            at += count


@pytest.mark.parametrize(
    "script", ["single_layer", "single_layer_benchmark", "simple_function_static"]
)
def test_training_validation_and_test_fork_in_this_order(script):
    one = built(script, "--seed 4 --input-size 10")
    parent = build_dataset(one.config)
    train = parent.fork([1, 2])
    assert torch.equal(one.feed.next()[0], train[0:128][0])
    validation, test = one.evaluation
    assert torch.equal(validation._x[0], parent.fork([1, 2], seed=43953907)[0:10_000][0])
    assert torch.equal(test._x[0], parent.fork([2, 6], seed=8689336)[0:10_000][0])


def test_single_layer_tests_with_the_extrapolating_normal_distribution():
    words = "--sample-distribution truncated-normal 1 3 10 3"
    ranges = "--interpolation-range [-5,10] --extrapolation-range [-5,15]"
    validation, test = built("single_layer", f"{words} {ranges}").evaluation
    assert validation._x.mean() < 4
    assert test._x.mean() > 8
