"""Grid worlds in which a red square is to be reached at a step that an instruction names.

Section 4.5 of the NALU paper. How much is paid, when a world ends and how players and squares are
placed is not published: `Rules` holds what is assumed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

SIZE = 5
CELLS = SIZE * SIZE
ACTIONS = ("up", "down", "left", "right", "pass")
_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))

_LINE, _FLOOR, _PLAYER, _TARGET = (0, 0, 0), (255, 255, 255), (128, 128, 128), (255, 0, 0)
_PITCH = 11
PIXELS = SIZE * _PITCH + 1
"""Height and width of a picture: cells of ten pixels within lines of one."""

REWARD_SHAPES, LATE = ("linear", "exact"), ("symmetric", "zero")


@dataclass(frozen=True)
class Rules:
    """What is asked for and what is paid.

    stimulus_range: smallest and largest step that is asked for. time_limit: steps until a world
    ends. reward_shape: an arrival at t, where T was asked for, pays m - |T - t| (linear), or m at
    t = T and 0 otherwise (exact). late: whether an arrival behind T is paid so (symmetric), or not
    at all (zero). reachable_only: whether every square is within T steps.
    """

    stimulus_range: tuple[int, int] = (5, 12)
    max_reward: float = 10.0
    time_limit: int = 24
    reward_shape: str = "linear"
    late: str = "symmetric"
    reachable_only: bool = True

    def __post_init__(self) -> None:
        low, high = self.stimulus_range
        if not 1 <= low <= high:
            raise ValueError(f"stimulus_range is from 1 upwards, not ({low}, {high})")
        if self.time_limit < 1:
            raise ValueError(f"time_limit is 1 or more, not {self.time_limit}")
        for name, known in (("reward_shape", REWARD_SHAPES), ("late", LATE)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}, not {getattr(self, name)}")

    def reward(self, t: torch.Tensor, stimulus: torch.Tensor) -> torch.Tensor:
        """Return what an arrival at step t pays."""
        error = (stimulus - t).abs()
        if self.reward_shape == "exact":
            paid = self.max_reward * (error == 0)
        else:
            paid = self.max_reward - error
        return paid * (t <= stimulus) if self.late == "zero" else paid


class Starts(NamedTuple):
    """Worlds at their start: steps asked for, and cells of players and squares, of one shape."""

    stimulus: np.ndarray
    player: np.ndarray
    target: np.ndarray


def draw_starts(random: np.random.Generator, rules: Rules, count: int) -> Starts:
    """Draw T, then a player among 25 cells and a square among the others, near enough for T."""
    low, high = rules.stimulus_range
    stimulus = random.integers(low, high + 1, count)
    player, target = np.zeros((2, count), dtype=np.int64)
    missing = np.arange(count)
    while len(missing):
        player[missing] = random.integers(CELLS, size=len(missing))
        other = random.integers(CELLS - 1, size=len(missing))
        target[missing] = other + (other >= player[missing])
        far = distance(player[missing], target[missing]) > stimulus[missing]
        missing = missing[far & rules.reachable_only]
    return Starts(stimulus, player, target)


def distance(player: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the steps from cells to cells."""
    rows, columns = (np.abs(f(player) - f(target)) for f in (_row, _column))
    return rows + columns


def _row(cell: np.ndarray) -> np.ndarray:
    return cell // SIZE


def _column(cell: np.ndarray) -> np.ndarray:
    return cell % SIZE


def _table_of_moves() -> torch.Tensor:
    """Return the cell that an action leads to, `(cells, actions)`; walls leave a player there."""
    rows, columns = np.divmod(np.arange(CELLS)[:, None], SIZE)
    down, right = np.array(_STEPS).T
    to = (rows + down).clip(0, SIZE - 1) * SIZE + (columns + right).clip(0, SIZE - 1)
    # A step has one direction, so that a clipped one stays in its cell.
    return torch.from_numpy(to)


class Change(NamedTuple):
    """What a step gave, in the shape of the worlds; nothing in worlds that had ended before."""

    reward: torch.Tensor
    terminated: torch.Tensor
    truncated: torch.Tensor


class TimeGridworldBatch:
    """Worlds of any shape, such as `(*runs, episodes)`, that take their steps together.

    stimulus, player, target, t: integers. done: whether a world has ended; its state then stays.
    """

    def __init__(
        self,
        shape: int | tuple[int, ...],
        rules: Rules | None = None,
        device: torch.device | str | None = None,
    ):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.rules = rules or Rules()
        self.device = torch.device(device or "cpu")
        self._moves = _table_of_moves().to(self.device)
        self.stimulus, self.player, self.target, self.t = torch.zeros(
            4, *self.shape, dtype=torch.int64, device=self.device
        )
        self.done = torch.ones(self.shape, dtype=torch.bool, device=self.device)

    def start(self, starts: Starts) -> None:
        """Begin anew, at step 0 of worlds that were drawn."""
        for name, values in starts._asdict().items():
            given = torch.as_tensor(values, dtype=torch.int64, device=self.device)
            setattr(self, name, given.expand(self.shape).clone())
        self.t = torch.zeros_like(self.t)
        self.done = torch.zeros_like(self.done)

    def step(self, action: torch.Tensor) -> Change:
        """Move every player whose world goes on."""
        live = ~self.done
        self.t = self.t + live
        self.player = torch.where(live, self._moves[self.player, action], self.player)
        terminated = live & (self.player == self.target)
        truncated = live & ~terminated & (self.t >= self.rules.time_limit)
        self.done = self.done | terminated | truncated
        paid = self.rules.reward(self.t, self.stimulus)
        return Change(torch.where(terminated, paid, 0.0), terminated, truncated)

    @property
    def frame(self) -> torch.Tensor:
        """Return the number of what is seen of each world, a row of `planes()` or `pictures()`."""
        return self.player * CELLS + self.target


def planes() -> torch.Tensor:
    """Return all frames as planes of player and square, float32 `(625, 2, 5, 5)`."""
    one_hot = torch.eye(CELLS).view(CELLS, 1, SIZE, SIZE)
    player, target = one_hot.repeat_interleave(CELLS, 0), one_hot.repeat(CELLS, 1, 1, 1)
    return torch.cat((player, target), 1)


def pictures() -> torch.Tensor:
    """Return all frames as pictures, uint8 `(625, 56, 56, 3)`."""
    drawn = [picture(player, target) for player in range(CELLS) for target in range(CELLS)]
    return torch.from_numpy(np.stack(drawn))


def picture(player: int, target: int) -> np.ndarray:
    """Return a world as pixels, uint8 `(56, 56, 3)`: the player is drawn over the square."""
    pixels = np.full((PIXELS, PIXELS, 3), _FLOOR, dtype=np.uint8)
    pixels[::_PITCH] = pixels[:, ::_PITCH] = _LINE
    for cell, colour in ((target, _TARGET), (player, _PLAYER)):
        row, column = (_PITCH * place + 1 for place in divmod(cell, SIZE))
        pixels[row : row + _PITCH - 1, column : column + _PITCH - 1] = colour
    return pixels
