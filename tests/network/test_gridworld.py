"""Worlds of the grid: geometry, rules, pictures, and what is drawn."""

import numpy as np
import pytest
import torch

from stable_nalu.task.gridworld_time import (
    ACTIONS,
    CELLS,
    Rules,
    Starts,
    TimeGridworldBatch,
    distance,
    picture,
)

UP, DOWN, LEFT, RIGHT, PASS = range(5)


def started(stimulus, player, target, **rules) -> TimeGridworldBatch:
    stimulus, player, target = np.broadcast_arrays(stimulus, player, target)
    worlds = TimeGridworldBatch(player.shape, Rules(**rules))
    worlds.start(Starts(stimulus, player, target))
    return worlds


def test_placements_and_their_distances():
    player, target = np.divmod(np.arange(CELLS**2), CELLS)
    steps = distance(player, target)[player != target]
    assert len(steps) == 600
    assert np.bincount(steps).tolist() == [0, 80, 124, 136, 120, 80, 40, 16, 4]
    assert steps.mean() == pytest.approx(3.33, abs=0.005)


def test_moves_by_hand():
    """From the middle, and from a corner, whose walls hold two of the directions."""
    assert ACTIONS == ("up", "down", "left", "right", "pass")
    middle = started(9, np.full(5, 12), 0)
    middle.step(torch.arange(5))
    assert middle.player.tolist() == [7, 17, 11, 13, 12]
    corner = started(9, np.full(5, 24), 0)
    corner.step(torch.arange(5))
    assert corner.player.tolist() == [19, 24, 23, 24, 24]
    assert corner.t.tolist() == [1] * 5


@pytest.mark.parametrize(
    ("rules", "paid"),
    [
        ({}, [9, 10, 9, -2]),
        ({"reward_shape": "exact"}, [0, 10, 0, 0]),
        ({"late": "zero"}, [9, 10, 0, -2]),
        ({"max_reward": 3.0}, [2, 3, 2, -9]),
    ],
)
def test_rewards_of_an_arrival_at_step_two(rules, paid):
    worlds = started(np.array([3, 2, 1, 14]), 12, 14, **rules)
    first = worlds.step(torch.full((4,), RIGHT))
    assert first.reward.tolist() == [0] * 4
    second = worlds.step(torch.full((4,), RIGHT))
    assert second.terminated.all()
    assert second.reward.tolist() == paid


def test_worlds_end_and_then_stay():
    worlds = started(5, np.array([12, 0]), np.array([13, 24]), time_limit=3)
    ends = [worlds.step(torch.tensor([RIGHT, LEFT])) for _ in range(5)]
    assert [end.terminated.tolist() for end in ends[:3]] == [[True, False]] + [[False] * 2] * 2
    assert [end.truncated.tolist()[1] for end in ends] == [False, False, True, False, False]
    assert worlds.t.tolist() == [1, 3]
    # An arrival at the limit is no time out.
    last = started(5, 12, 13, time_limit=1).step(torch.tensor(RIGHT))
    assert (bool(last.terminated), bool(last.truncated)) == (True, False)
    assert worlds.player.tolist() == [13, 0]
    assert sum(end.reward for end in ends).tolist() == [6, 0]


def test_one_picture_pixel_by_pixel():
    wanted = np.full((56, 56, 3), 255)
    for line in (0, 11, 22, 33, 44, 55):
        wanted[line] = wanted[:, line] = 0
    wanted[12:22, 34:44] = (255, 0, 0)
    wanted[45:55, 1:11] = 128
    assert picture(player=20, target=8).tobytes() == wanted.astype(np.uint8).tobytes()
    wanted[12:22, 34:44] = 128
    wanted[45:55, 1:11] = 255
    assert (picture(8, 8) == wanted).all()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"stimulus_range": (0, 5)}, {"stimulus_range": (6, 5)}, {"time_limit": 0}),
        *({"reward_shape": "square"}, {"late": "never"}),
    ],
)
def test_rules_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Rules(**wrong)
