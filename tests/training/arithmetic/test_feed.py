"""Blocks of batches are the single batches of each run's stream."""

import pytest
import torch

from stable_nalu import native
from stable_nalu.training.arithmetic import data
from stable_nalu.training.arithmetic.data import Feed
from stable_nalu.training.arithmetic.task import TASKS, build_data, build_dataset
from tests.training.configurations import configurations

CPU = torch.device("cpu")
BATCH = 5


def forks(*words, script="single_layer"):
    configs = configurations(script, *words)
    return [build_dataset(config).fork(config.interpolation_range) for config in configs]


def build(*words, remaining, stacked):
    return Feed(forks(*words), BATCH, 2, stacked=stacked, device=CPU, remaining=remaining)


def expected_batches(count, *words):
    """Batches of every run, one by one."""
    return [[stream[0:BATCH] for _ in range(count)] for stream in forks(*words)]


@pytest.mark.parametrize("block", [1, 3, 512])
def test_a_single_run(monkeypatch, block):
    monkeypatch.setattr(data, "MAX_BLOCK", block)
    batches = build("--seed", "3", remaining=10, stacked=False)
    for x, t in expected_batches(10, "--seed", "3")[0]:
        actual = batches.next()
        assert actual[0].shape == (BATCH, 2)
        assert torch.equal(actual[0], x)
        assert torch.equal(actual[1], t)


@pytest.mark.parametrize("block", [1, 3, 512])
def test_stacked_runs(monkeypatch, block):
    monkeypatch.setattr(data, "MAX_BLOCK", block)
    words = ("--seed", "0-2", "--interpolation-range", "[1,2]", "[-2,2]")
    runs = expected_batches(7, *words)
    batches = build(*words, remaining=7, stacked=True)
    for step in range(7):
        x, t = batches.next()
        assert x.shape == (6, BATCH, 2)
        for run, drawn in enumerate(runs):
            assert torch.equal(x[run], drawn[step][0])
            assert torch.equal(t[run], drawn[step][1])


def test_the_batch_can_be_contiguous_in_memory():
    words = ("--seed", "0-1", "--interpolation-range", "[1,2]", "[-2,2]")
    batches = build(*words, remaining=2, stacked=True)
    batches.batch_last = True
    x, t = batches.next()
    assert x.mT.is_contiguous()
    for run, drawn in enumerate(expected_batches(1, *words)):
        assert torch.equal(x[run], drawn[0][0])
        assert torch.equal(t[run], drawn[0][1])


def test_no_more_is_drawn_than_remains():
    streams = forks("--seed", "3")
    batches = Feed(streams, BATCH, 2, stacked=False, device=CPU, remaining=4)
    for _ in range(4):
        batches.next()
    assert batches.drawn_ahead == 0
    expected = expected_batches(5, "--seed", "3")[0][4]
    assert torch.equal(streams[0][0:BATCH][0], expected[0])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_block_is_bounded_in_bytes(monkeypatch, compiled):
    monkeypatch.setattr(native, "_library", None)
    if compiled and not native.load():
        pytest.skip("no C++ compiler")
    monkeypatch.setattr(data, "BLOCK_BYTES", 10 * BATCH * (2 + 1) * 4)
    monkeypatch.setattr(data, "NATIVE_BLOCK_BYTES", 4 * BATCH * (2 + 1) * 4)
    batches = build("--seed", "3", remaining=100, stacked=False)
    batches.next()
    assert batches.drawn_ahead == (3 if compiled else 9)


OPERATIONS = ("mul", "add", "squared", "root", "div")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("batch_last", [False, True])
@pytest.mark.parametrize(
    "ranges",
    [
        pytest.param(("[1,2]",), id="one range"),
        pytest.param(("[1,2]", "[[-6,-2],[2,6]]"), id="with generators of their own"),
        pytest.param(("[1,2]", "[-2,2]", "[0.1,0.2]"), id="of one generator"),
    ],
)
def test_feeds_that_share_draw_inputs_once(monkeypatch, compiled, batch_last, ranges):
    """And hand out what each draws alone, from where they stand."""
    monkeypatch.setattr(native, "_library", None)
    monkeypatch.setattr(data, "MAX_BLOCK", 4)
    if compiled and not native.load():
        pytest.skip("no C++ compiler")
    words = [
        ("--operation", operation, "--seed", "0-1", "--interpolation-range", *ranges)
        for operation in OPERATIONS
    ]
    feeds = [build(*one, remaining=9, stacked=True) for one in words]
    for feed in feeds:
        feed.batch_last = batch_last
    for feed in feeds[1:]:
        feed.next()  # What it has drawn beyond is dropped.
    feeds[0].skip(1)
    feeds[0].share(feeds[1:])
    alone = [expected_batches(10, *one) for one in words]
    for step in range(1, 10):
        batches = [feed.next() for feed in feeds]
        assert len({x.data_ptr() for x, _ in batches}) == 1
        for (x, t), runs in zip(batches, alone, strict=True):
            for run, drawn in enumerate(runs):
                assert torch.equal(x[run], drawn[step][0])
                assert t[run].numpy().tobytes() == drawn[step][1].numpy().tobytes()


def test_skipping_is_drawing():
    words = ("--seed", "0-1")
    batches = build(*words, remaining=2, stacked=True)
    batches.skip(6)
    x, _ = batches.next()
    for run, drawn in enumerate(expected_batches(7, *words)):
        assert torch.equal(x[run], drawn[6][0])


def test_float64():
    torch.set_default_dtype(torch.float64)
    batches = build("--seed", "3", remaining=2, stacked=False)
    x, t = batches.next()
    assert x.dtype == t.dtype == torch.float64
    assert torch.equal(x, expected_batches(1, "--seed", "3")[0][0][0])


def test_training_validation_and_test_fork_in_this_order():
    configs = configurations("single_layer", "--seed", "4", "--input-size", "10")
    data = build_data(TASKS["single_layer"], configs, stacked=False, device=CPU, iterations=3)
    parent = build_dataset(configs[0])
    train = parent.fork([1, 2])
    assert torch.equal(data.feed.next()[0], train[0:128][0])
    validation, test = data.evaluation
    assert torch.equal(validation._x[0], parent.fork([1, 2], seed=43953907)[0:10_000][0])
    assert torch.equal(test._x[0], parent.fork([2, 6], seed=8689336)[0:10_000][0])


def test_single_layer_tests_with_the_extrapolating_normal_distribution():
    words = ("--sample-distribution", "truncated-normal", "1", "3", "10", "3")
    ranges = ("--interpolation-range", "[-5,10]", "--extrapolation-range", "[-5,15]")
    configs = configurations("single_layer", *words, *ranges)
    data = build_data(TASKS["single_layer"], configs, stacked=False, device=CPU, iterations=1)
    validation, test = data.evaluation
    assert validation._x.mean() < 4
    assert test._x.mean() > 8


def test_the_robustness_script_has_no_evaluation_sets():
    configs = configurations("single_layer_robust")
    task = TASKS["single_layer_robust"]
    assert build_data(task, configs, stacked=False, device=CPU, iterations=1).evaluation == []
