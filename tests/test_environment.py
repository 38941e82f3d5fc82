"""The grid world with the methods of Gymnasium, beside its batched form."""

import numpy as np
import pytest
import torch

from stable_nalu.environment import ID, TimeGridworld, TimeGridworldBatch, gymnasium
from stable_nalu.task.gridworld_time import Rules, draw_starts


def test_random_episodes_are_those_of_the_batch():
    """A hundred episodes, compared in every field at every step."""
    random = np.random.default_rng(3)
    rules = Rules((5, 12), time_limit=13)
    starts = draw_starts(random, rules, 100)
    actions = random.integers(5, size=(rules.time_limit, 100))
    batch = TimeGridworldBatch(100, rules)
    batch.start(starts)
    fields = []
    for action in actions:
        change = batch.step(torch.from_numpy(action))
        parts = (batch.t, batch.player, batch.target, batch.stimulus, batch.done, *change)
        fields.append([part.tolist() for part in parts])
    assert batch.done.all()
    world = TimeGridworld(time_limit=13)
    for episode, (stimulus, player, target) in enumerate(zip(*starts, strict=True)):
        fixed = {"stimulus": stimulus, "player": divmod(player, 5), "target": divmod(target, 5)}
        world.reset(options=fixed)
        for step, action in enumerate(actions[:, episode]):
            _, reward, terminated, truncated, info = world.step(action)
            t, at, to, asked, done, paid, arrived, cut = (f[episode] for f in fields[step])
            assert (info["t"], info["stimulus"]) == (t, asked) == (step + 1, stimulus)
            assert (int(world.world.player), int(world.world.target)) == (at, to)
            assert (reward, terminated, truncated) == (paid, arrived, cut)
            assert info["arrival"] == (t if arrived else None)
            assert info["exact"] == (arrived and t == asked)
            assert done == (terminated or truncated)
            if done:
                break


@pytest.mark.parametrize(
    ("problem", "call"),
    [
        ("observation", lambda: TimeGridworld("words")),
        ("render_mode", lambda: TimeGridworld(render_mode="human")),
        ("stimulus_range", lambda: TimeGridworld(stimulus_range=(9, 5))),
        ("options fix", lambda: TimeGridworld().reset(options={"goal": 3})),
        ("player is a row", lambda: TimeGridworld().reset(options={"player": (5, 0)})),
        (
            "no world has",
            lambda: TimeGridworld().reset(options={"player": (1, 1), "target": (1, 1)}),
        ),
        ("actions are", lambda: TimeGridworld().step(5)),
    ],
)
def test_bad_input(problem, call):
    with pytest.raises(ValueError, match=problem):
        call()


@pytest.mark.skipif(gymnasium is None, reason="gymnasium is optional and not installed")
@pytest.mark.parametrize("observation", ["symbolic", "pixels"])
def test_gymnasium_makes_and_checks_it(observation):
    from gymnasium.utils.env_checker import check_env

    world = gymnasium.make(ID, observation=observation, render_mode="rgb_array")
    check_env(world.unwrapped)
