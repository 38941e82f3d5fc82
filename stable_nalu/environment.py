"""One grid world of the NALU paper with the methods of Gymnasium: arrive at a given step.

Without Gymnasium, this module defines the parts of it that an environment needs. It is also called
`stable_nalu.environment.time_gridworld`.
"""

import sys
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from .task import gridworld_time as worlds
from .task.gridworld_time import ACTIONS, CELLS, PIXELS, SIZE, Rules, Starts, TimeGridworldBatch

__all__ = ["ID", "TimeGridworld", "TimeGridworldBatch"]

gymnasium: Any
try:
    import gymnasium  # pyright: ignore[reportMissingImports]
except ImportError:
    gymnasium = None
"""The package, or None where it is not installed."""


class _Environment:
    """An environment with a generator of its own, seeded as Gymnasium seeds it."""

    render_mode: str | None = None

    @cached_property
    def np_random(self) -> np.random.Generator:
        return np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:
            self.np_random = np.random.default_rng(seed)

    @property
    def unwrapped(self) -> "_Environment":
        return self

    def close(self) -> None:
        """Release nothing."""


def _box(low: float, high: float, shape: tuple[int, ...], dtype: Any) -> SimpleNamespace:
    def contains(x: Any) -> bool:
        same = isinstance(x, np.ndarray) and x.shape == shape and x.dtype == dtype
        return same and bool(((x >= low) & (x <= high)).all())

    return SimpleNamespace(low=low, high=high, shape=shape, dtype=dtype, contains=contains)


def _discrete(n: int) -> SimpleNamespace:
    def contains(x: Any) -> bool:
        return isinstance(x, int | np.integer) and 0 <= int(x) < n

    return SimpleNamespace(n=n, contains=contains)


class _Dict(dict[str, Any]):
    def contains(self, x: Any) -> bool:
        same = isinstance(x, dict) and x.keys() == self.keys()
        return same and all(space.contains(x[key]) for key, space in self.items())


Environment: Any = gymnasium.Env if gymnasium else _Environment
_OWN = SimpleNamespace(Box=_box, Discrete=_discrete, Dict=_Dict)
spaces: Any = gymnasium.spaces if gymnasium else _OWN

ID = "StableNALU/TimeGridworld-v0"
_LARGEST_STIMULUS = 1e6


class TimeGridworld(Environment):
    """A player on 5 x 5 cells who is to step on a red square at step T, neither before nor after.

    Observations: `view`, two planes (symbolic) or a picture (pixels), and `stimulus`, T at every
    step. Actions: up, down, left, right, pass. The world ends on the square or at the time limit.

    observation: `symbolic` or `pixels`. render_mode: `rgb_array`, `ansi` or None. `Rules` lists the
    other options. The reward of an arrival is an assumption, because it is not published.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        observation: str = "symbolic",
        stimulus_range: tuple[int, int] = (5, 12),
        max_reward: float = 10.0,
        time_limit: int = 24,
        reward_shape: str = "linear",
        late: str = "symmetric",
        reachable_only: bool = True,
        render_mode: str | None = None,
    ):
        if observation not in ("symbolic", "pixels"):
            raise ValueError(f"observation is symbolic or pixels, not {observation}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode is rgb_array, ansi or None, not {render_mode}")
        low, high = stimulus_range
        self.rules = Rules((low, high), max_reward, time_limit, reward_shape, late, reachable_only)
        self.observation, self.render_mode = observation, render_mode
        self.world = TimeGridworldBatch((), self.rules)
        self._planes = worlds.planes().numpy()
        view = spaces.Box(0, 1, (2, SIZE, SIZE), np.float32)
        if observation == "pixels":
            view = spaces.Box(0, 255, (PIXELS, PIXELS, 3), np.uint8)
        stimulus = spaces.Box(0, _LARGEST_STIMULUS, (1,), np.float32)
        self.observation_space = spaces.Dict({"view": view, "stimulus": stimulus})
        self.action_space = spaces.Discrete(len(ACTIONS))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Draw a world; `options` may fix `stimulus`, and `player` and `target` by row and column.

        A fixed stimulus counts when the placement is drawn; a fixed cell is put in afterwards.
        """
        super().reset(seed=seed)
        fixed = dict(options or {})
        unknown = fixed.keys() - {"stimulus", "player", "target"}
        if unknown:
            raise ValueError(f"options fix stimulus, player, target, not {', '.join(unknown)}")
        stimulus = fixed.get("stimulus")
        cells = {k: _cell(k, fixed[k]) for k in ("player", "target") if k in fixed}
        self.world.start(self._drawn(stimulus, cells))
        steps = int(worlds.distance(self.world.player.numpy(), self.world.target.numpy()))
        stimulus = int(self.world.stimulus)
        return self._observed(), {"t": 0, "stimulus": stimulus, "distance": steps}

    def _drawn(self, stimulus: int | None, cells: dict[str, int]) -> Starts:
        """Return a world with what is fixed, redrawn until it is one that the rules allow."""
        rules = self.rules
        if stimulus is not None:
            rules = replace(rules, stimulus_range=(int(stimulus), int(stimulus)))
        for _ in range(1000):
            found = worlds.draw_starts(self.np_random, rules, 1)
            found = Starts(*(part[0] for part in found))._replace(**cells)
            steps = worlds.distance(found.player, found.target)
            if steps > 0 and (not rules.reachable_only or steps <= found.stimulus):
                return found
        raise ValueError(f"no world has {cells} and stimulus {stimulus}, as these rules demand it")

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Take a step and return what is seen, the reward, both endings, and what happened."""
        if not self.action_space.contains(action):
            raise ValueError(f"actions are 0 to {len(ACTIONS) - 1}, not {action}")
        change = self.world.step(torch.tensor(int(action)))
        t, stimulus, arrived = int(self.world.t), int(self.world.stimulus), bool(change.terminated)
        information = {"t": t, "stimulus": stimulus, "arrival": t if arrived else None}
        information["exact"] = arrived and t == stimulus
        reward, truncated = float(change.reward), bool(change.truncated)
        return self._observed(), reward, arrived, truncated, information

    def _observed(self) -> dict[str, np.ndarray]:
        is_picture = self.observation == "pixels"
        view = self._picture() if is_picture else self._planes[int(self.world.frame)].copy()
        return {"view": view, "stimulus": np.array([int(self.world.stimulus)], np.float32)}

    def _picture(self) -> np.ndarray:
        return worlds.picture(int(self.world.player), int(self.world.target))

    def render(self) -> np.ndarray | str | None:
        """Return the picture, or a grid of letters: `P` player, `T` target, `.` floor."""
        if self.render_mode == "rgb_array":
            return self._picture()
        if self.render_mode is None:
            return None
        cells = ["."] * CELLS
        cells[int(self.world.target)], cells[int(self.world.player)] = "T", "P"
        return "\n".join("".join(cells[row : row + SIZE]) for row in range(0, CELLS, SIZE))


def _cell(name: str, place: Any) -> int:
    row, column = (int(part) for part in place)
    if not (0 <= row < SIZE and 0 <= column < SIZE):
        raise ValueError(f"{name} is a row and a column of 0 to {SIZE - 1}, not {place}")
    return row * SIZE + column


if gymnasium is not None and ID not in gymnasium.registry:
    gymnasium.register(ID, f"{__name__}:TimeGridworld")

sys.modules[f"{__name__}.time_gridworld"] = sys.modules[__name__]
