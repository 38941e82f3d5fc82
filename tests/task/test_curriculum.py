"""Ranges of the curriculum: streams, thresholds, one step at a time, and their saved state."""

import pytest
import torch

from stable_nalu.task import arithmetic
from stable_nalu.task.arithmetic import build_dataset
from tests.training.configurations import configurations

RANGES = ((1.1, 1.125), (1.1, 1.15), (1.1, 1.175), (1.1, 1.2))


def build(*words):
    configs = configurations("single_layer_curriculum", *words)
    return arithmetic.SingleLayerCurriculum(configs[0], torch.device("cpu"), *configs[1:])


def advance(task, *losses):
    """Numbers of the runs that moved."""
    return list(task.advance(torch.tensor(losses, dtype=torch.float64)))


def streams(run=0):
    """The four training streams of a run, anew: forks of the parent in order."""
    config = configurations("single_layer_curriculum", "--seed", str(run))[0]
    parent = build_dataset(config)
    return [parent.fork(list(interval)) for interval in RANGES]


def test_every_published_range_has_a_stream_with_its_own_position():
    assert arithmetic.RANGES == RANGES
    task, expected = build(), streams()
    for stage in (0, 0, 1, 0, 1, 3, 2):
        task._move(0, stage)
        x, t = task.feed.next()
        want_x, want_t = expected[stage][0:128]
        assert torch.equal(x, want_x)
        assert torch.equal(t, want_t)
        low, high = RANGES[stage]
        assert low <= x.min() < low + 0.001
        assert high - 0.001 < x.max() <= high


def test_validation_uses_the_ranges_of_the_flags():
    validation, test = build("--interpolation-range", "[3,4]").evaluation
    assert validation._x.min() >= 3
    assert test._x.max() > 5


@pytest.mark.parametrize(
    ("losses", "stages"),
    [
        ((1e-2, 9e-3, 9e-3, 1.1e-3, 9e-4, 9e-5, 0.0, 0.0), [0, 1, 1, 1, 2, 3, 3, 3]),
        ((0.0, 0.0, 0.0, 0.0), [1, 2, 3, 3]),
        ((float("nan"),), [0]),
    ],
    ids=["thresholds shrink by ten", "one range at a time", "not a number"],
)
def test_a_small_loss_opens_the_next_range(losses, stages):
    task, found = build(), [0]
    for loss in losses:
        moved = advance(task, loss)
        found.append(task.stage[0])
        assert bool(moved) == (found[-1] != found[-2])
    assert found[1:] == stages


def test_runs_advance_alone():
    task = build("--seed", "0-2")
    assert advance(task, 1.0, 0.0, 5e-3) == [1, 2]
    assert task.stage == [0, 1, 1]
    x, t = task.feed.draw([0, 1, 2], 1)
    assert x.shape == (1, 3, 128, 2)
    assert t.shape == (1, 3, 128, 1)
    for run, stage in enumerate(task.stage):
        assert torch.equal(torch.from_numpy(x[0, run]), streams(run)[stage][0:128][0])
