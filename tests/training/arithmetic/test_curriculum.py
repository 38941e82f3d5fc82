"""Stages of the curriculum: streams, thresholds, one step at a time, and their saved state."""

import torch

from stable_nalu.task import single_layer_curriculum
from stable_nalu.training.arithmetic.data import build_dataset
from tests.training.configurations import configurations

CPU = torch.device("cpu")
TASK = single_layer_curriculum.SingleLayerCurriculum()
RANGES = ((1.1, 1.125), (1.1, 1.15), (1.1, 1.175), (1.1, 1.2))


def build(*words):
    configs = configurations("single_layer_curriculum", *words)
    return TASK.data(configs, CPU)


def streams(run=0):
    """The four training streams of a run, anew: forks of the parent in order."""
    config = configurations("single_layer_curriculum", "--seed", str(run))[0]
    parent = build_dataset(config)
    return [parent.fork(list(interval)) for interval in RANGES]


def test_stages_are_the_published_ranges():
    assert single_layer_curriculum.RANGES == RANGES
    feed = build().feed
    for stage, (low, high) in enumerate(RANGES):
        feed.streams[0] = feed.stages[0][stage]
        x, _ = feed.next()
        assert low <= x.min() < low + 0.001
        assert high - 0.001 < x.max() <= high


def test_every_stage_has_a_stream_with_its_own_position():
    feed = build().feed
    expected = streams()
    for stage in (0, 0, 1, 0, 1, 3):
        feed.streams[0] = feed.stages[0][stage]
        x, t = feed.next()
        want_x, want_t = expected[stage][0:128]
        assert torch.equal(x, want_x)
        assert torch.equal(t, want_t)


def test_validation_uses_the_ranges_of_the_flags():
    data = build("--interpolation-range", "[3,4]")
    validation, test = data.evaluation
    assert validation._x.min() >= 3
    assert test._x.max() > 5


def test_thresholds_shrink_by_ten():
    feed = build().feed
    moves = []
    for loss in (1e-2, 9e-3, 9e-3, 1.1e-3, 9e-4, 9e-5, 0.0, 0.0):
        moves.append((feed.advance([loss]), feed.current[0]))
    stages = [stage for _, stage in moves]
    assert stages == [0, 1, 1, 1, 2, 3, 3, 3]
    assert [bool(moved) for moved, _ in moves] == [
        stage != before for before, stage in zip([0, *stages], stages, strict=False)
    ]


def test_one_stage_at_a_time():
    feed = build().feed
    assert [feed.advance([0.0]) for _ in range(4)] == [[0], [0], [0], []]
    assert feed.current == [3]


def test_a_loss_that_is_not_a_number_stays():
    feed = build().feed
    assert feed.advance([float("nan")]) == []


def test_runs_advance_alone():
    feed = build("--seed", "0-2").feed
    assert feed.advance([1.0, 0.0, 5e-3]) == [1, 2]
    assert feed.current == [0, 1, 1]
    x, t = feed.draw([0, 1, 2], 1)
    assert x.shape == (1, 3, 128, 2)
    assert t.shape == (1, 3, 128, 1)
    for run, stage in enumerate(feed.current):
        assert torch.equal(torch.from_numpy(x[0, run]), streams(run)[stage][0:128][0])


def test_a_saved_state_continues():
    going = build("--seed", "0-1").feed
    for loss in (1.0, 1e-3, 1.0):
        going.draw([0, 1], 1)
        going.advance([loss] * 2)
    resumed = build("--seed", "0-1").feed
    for run in (0, 1):
        resumed.set_state(run, going.get_state(run))
    assert resumed.thresholds == going.thresholds
    for _ in range(3):
        assert (going.draw([0, 1], 1)[0] == resumed.draw([0, 1], 1)[0]).all()
        assert going.advance([0.0] * 2) == resumed.advance([0.0] * 2)
