"""The grid world that a network plays: worlds, the network, and what it learns from episodes.

Section 4.5 of the NALU paper. A red square is to be reached at a step that an instruction names.
How much is paid, when a world ends and how players and squares are placed is not published: `Rules`
holds what is assumed here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import linear, lstm_step
from stable_nalu.layer.generalized import GeneralizedCell, GeneralizedLayer

from .dense import Convolution, Dense

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
    down, right = np.subtract(np.divmod(player, SIZE), np.divmod(target, SIZE))
    return np.abs(down) + np.abs(right)


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
    """Worlds of any shape, such as `(episodes,)`, that take their steps together.

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


ALONE = "LSTM"
"""The baseline: an LSTM with no unit beside it."""

ENCODING = 64


class TimeGridworldNetwork(ExtendedTorchModule):
    """An LSTM on what is seen, T and a register, with heads for actions and for the value.

    The register is what a unit makes of T. feedforward: unit(T), the same at every step.
    recurrent: n_t = unit([T, 1, n_{t-1}]) from n = 0, where T is there at the first step alone, so
    that it can count down. The baseline has no register.

    Shapes: frames `(frames, ...)`; stimulus, frame `(batch)`; h, c `(batch, hidden)`.
    """

    def __init__(
        self,
        unit_name: str = "NAC",
        wiring: str = "recurrent",
        observation: str = "symbolic",
        hidden_size: int = 64,
        register_size: int = 4,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name, self.wiring = unit_name, wiring
        self.hidden_size = hidden_size
        self.register_size = 0 if unit_name == ALONE else register_size
        self.encoder = PictureEncoder() if observation == "pixels" else Dense(50, ENCODING, "ReLU")
        size = ENCODING + 1 + self.register_size
        self.core = GeneralizedCell(size, hidden_size, "LSTM", name="core")
        self.counter: torch.nn.Module | None = None
        if unit_name != ALONE and wiring == "recurrent":
            self.counter = GeneralizedCell(
                2, register_size, unit_name, name="counter", **layer_options
            )
        elif unit_name != ALONE:
            self.counter = GeneralizedLayer(
                1, register_size, unit_name, name="counter", **layer_options
            )
        self.policy = Dense(hidden_size, len(ACTIONS), name="policy")
        self.value = Dense(hidden_size, 1, name="value")

    @property
    def weight_of_hidden(self) -> torch.Tensor:
        """Return what the LSTM multiplies its last output by."""
        return self.core.cell.weight_hh

    def seen(self, frames: torch.Tensor) -> torch.Tensor:
        """Return what each frame adds to the LSTM's gates, `(frames, 4 hidden)`."""
        cell = self.core.cell
        weight = cell.weight_ih[..., :ENCODING]
        return linear(self.encoder(frames), weight, cell.bias_ih + cell.bias_hh)

    def counted(
        self, stimulus: torch.Tensor, register: torch.Tensor | None, step: int
    ) -> torch.Tensor | None:
        """Return the register at a step, given that of the step before."""
        number = stimulus.unsqueeze(-1)
        if self.counter is None or (register is not None and self.wiring == "feedforward"):
            return register
        if self.wiring == "feedforward":
            return self.counter(number)
        if register is None:
            register = number.new_zeros(*stimulus.shape, self.register_size)
        shown = number if step == 0 else torch.zeros_like(number)
        return self.counter(torch.cat((shown, torch.ones_like(number)), -1), register)

    def from_stimulus(self, stimulus: torch.Tensor, register: torch.Tensor | None) -> torch.Tensor:
        """Return what T and the register add to the LSTM's gates, `(batch, 4 hidden)`."""
        x = stimulus.unsqueeze(-1)
        x = x if register is None else torch.cat((x, register), -1)
        return linear(x, self.core.cell.weight_ih[..., ENCODING:])

    def heads(self, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits of the actions, `(batch, 5)`, and values, `(batch)`."""
        return self.policy(h), self.value(h).squeeze(-1)


class PictureEncoder(ExtendedTorchModule):
    """x `(frames, 3, 56, 56)` -> `(frames, 64)`: two convolutions and a dense layer."""

    def __init__(self):
        super().__init__("encoder")
        self.first = Convolution(3, 16, 5, 3, "first")
        self.second = Convolution(16, 32, 3, 2, "second")
        self.dense = Dense(2048, ENCODING, "ReLU")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.dense(x.flatten(1))


Choose = Callable[[torch.Tensor, int, torch.Tensor], torch.Tensor]
"""From the logits of a step, its number and the episodes that take it to an action each."""

_WORTH_LEAVING_OUT = 0.9
"""Episodes that have ended are left out where no run has more than this part of its rows left."""


@dataclass
class Walk:
    """Episodes from their start to their end; where gradients are taken, a list entry per step.

    reward, arrived: of whole episodes, `(batch,)`.

    Of a step, shaped `(rows,)`: episode, the one of each row; frame, what was seen; from_stimulus,
    what T and the register added to the gates, with gradients; action; live, whether the episode
    was going on; rows, which of those of the step before these are, if not all.
    """

    reward: torch.Tensor
    arrived: torch.Tensor
    episode: list[torch.Tensor] = field(default_factory=list)
    frame: list[torch.Tensor] = field(default_factory=list)
    from_stimulus: list[torch.Tensor] = field(default_factory=list)
    action: list[torch.Tensor] = field(default_factory=list)
    live: list[torch.Tensor] = field(default_factory=list)
    rows: list[torch.Tensor | None] = field(default_factory=list)


def walk(
    model: TimeGridworldNetwork, seen: torch.Tensor, worlds: TimeGridworldBatch, choose: Choose
) -> Walk:
    """Play all worlds to their ends. seen: what each frame adds to the gates."""
    table = seen.detach()
    hidden_weight = model.weight_of_hidden.detach().mT
    h = c = seen.new_zeros(*worlds.shape, model.hidden_size)
    stimulus = worlds.stimulus.to(seen)
    episode = torch.arange(worlds.shape[-1], device=seen.device).expand(worlds.shape)
    found = Walk(torch.zeros_like(stimulus), torch.zeros_like(worlds.done))
    register, step = None, 0
    while not bool(worlds.done.all()):
        rows = _going_on(worlds.done.gather(-1, episode))
        if rows is not None:
            h, c, episode = _chosen(h, rows), _chosen(c, rows), episode.gather(-1, rows)
            register = None if register is None else _chosen(register, rows)
        asked = stimulus.gather(-1, episode)
        register = model.counted(asked, register, step)
        from_stimulus = model.from_stimulus(asked, register)
        with torch.no_grad():
            frame = worlds.frame.gather(-1, episode)
            own = table.index_select(0, frame)
            gates = own.add_(from_stimulus).add_(h @ hidden_weight)
            h, c = lstm_step(gates, c)
            action = choose(model.heads(h)[0], step, episode)
        if torch.is_grad_enabled():
            live = ~worlds.done.gather(-1, episode)
            found.episode.append(episode)
            found.frame.append(frame)
            found.from_stimulus.append(from_stimulus)
            found.action.append(action)
            found.live.append(live)
            found.rows.append(rows)
        change = worlds.step(torch.zeros_like(worlds.player).scatter(-1, episode, action))
        found.reward = found.reward + change.reward
        found.arrived = found.arrived | change.terminated
        step += 1
    return found


def _chosen(of_rows: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
    return of_rows if rows is None else of_rows.index_select(0, rows)


def _going_on(done: torch.Tensor) -> torch.Tensor | None:
    """Return the rows that are not done; None: leaving the others out is not worth while."""
    rows = (~done).nonzero().squeeze(-1)
    return None if len(rows) > _WORTH_LEAVING_OUT * len(done) else rows


def _hidden(model: TimeGridworldNetwork, inputs: torch.Tensor, played: Walk) -> torch.Tensor:
    """Return the outputs of the LSTM in all steps, given what the gates add up besides W h."""
    found: list[torch.Tensor] = []
    h = c = inputs.new_zeros(*played.episode[0].shape, model.hidden_size)
    lengths = [one.shape[-1] for one in played.episode]
    for gates, rows in zip(inputs.split(lengths, -2), played.rows, strict=True):
        h, c = _chosen(h, rows), _chosen(c, rows)
        h, c = lstm_step(gates + h @ model.weight_of_hidden.mT, c)
        found.append(h)
    return torch.cat(found, -2)


@dataclass(frozen=True)
class Learned:
    """What a batch of episodes teaches, each a mean over the steps taken."""

    policy: torch.Tensor
    value: torch.Tensor
    entropy: torch.Tensor


def learn(
    model: TimeGridworldNetwork,
    seen: torch.Tensor,
    worlds: TimeGridworldBatch,
    played: Walk,
    discount: float,
) -> Learned:
    """Return the losses of the advantage actor-critic on episodes that were played.

    The return of a step is the reward over m, discounted by the steps to the end.
    """
    frame, from_stimulus = torch.cat(played.frame, -1), torch.cat(played.from_stimulus, -2)
    inputs = seen.index_select(0, frame) + from_stimulus
    logits, value = model.heads(_hidden(model, inputs, played))
    log_p = torch.log_softmax(logits, dim=-1)
    episode, live = torch.cat(played.episode, -1), torch.cat(played.live, -1)
    number = torch.cat([torch.full_like(one, k) for k, one in enumerate(played.episode)], -1)
    left = worlds.t.gather(-1, episode) - 1 - number
    paid = (played.reward / worlds.rules.max_reward).gather(-1, episode)
    expected = paid * discount ** left.clamp(min=0)
    advantage = expected - value.detach()
    taken = log_p.gather(-1, torch.cat(played.action, -1).unsqueeze(-1)).squeeze(-1)

    def mean(of_steps: torch.Tensor) -> torch.Tensor:
        return torch.where(live, of_steps, 0.0).sum(-1) / live.sum(-1)

    return Learned(
        mean(-taken * advantage),
        mean(0.5 * (expected - value) ** 2),
        mean(-(log_p.exp() * log_p).sum(-1)),
    )


def sampled(noise: torch.Tensor) -> Choose:
    """Return what draws actions by uniform numbers `(steps, batch)`."""

    def choose(logits: torch.Tensor, step: int, episode: torch.Tensor) -> torch.Tensor:
        bounds = torch.softmax(logits, dim=-1).cumsum(-1)[..., :-1]
        own = noise[..., step, :].gather(-1, episode)
        return (bounds < own.unsqueeze(-1)).sum(-1)

    return choose


def greedy(logits: torch.Tensor, step: int, episode: torch.Tensor) -> torch.Tensor:
    """Return the most likely actions."""
    del step, episode
    return logits.argmax(-1)
