"""The grid world of the NALU paper: arrive at a given step, also beyond those trained on.

Section 4.5 and figure 5 of the paper, which trains by A3C; here by the advantage actor-critic on
batches of whole episodes. A red square is to be reached at a step that an instruction names. How
much is paid, when a world ends and how players and squares are placed is not published: `Rules`
holds what is assumed here.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import linear, lstm_step
from stable_nalu.layer.registry import GeneralizedCell, GeneralizedLayer
from stable_nalu.network.dense import Convolution, Dense
from stable_nalu.options import Config, Flag, flag, switch
from stable_nalu.options.flag import and_layers, cell_names, choice, integer, number
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS, refuse
from stable_nalu.training import floats
from stable_nalu.training.task import Batch, Kind, Task

from .shared import TESTING, settings, task_script

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
    down, right = np.subtract(np.divmod(player, SIZE), np.divmod(target, SIZE))
    return np.abs(down) + np.abs(right)


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
        rows, columns = np.divmod(np.arange(CELLS)[:, None], SIZE)
        down, right = np.array(_STEPS).T
        # Walls leave a player there: a step has one direction, a clipped one stays in its cell.
        to = (rows + down).clip(0, SIZE - 1) * SIZE + (columns + right).clip(0, SIZE - 1)
        self._moves = torch.from_numpy(to).to(self.device)
        self.stimulus, self.player, self.target, self.t = torch.zeros(
            4, *self.shape, dtype=torch.int64, device=self.device
        )
        self.done = torch.ones(self.shape, dtype=torch.bool, device=self.device)

    def start(self, starts: Starts) -> None:
        """Begin again, at step 0 of worlds that were drawn."""
        for name, values in starts._asdict().items():
            given = torch.as_tensor(values, dtype=torch.int64, device=self.device)
            setattr(self, name, given.expand(self.shape).clone())
        self.t = torch.zeros_like(self.t)
        self.done = torch.zeros_like(self.done)

    def step(self, action: torch.Tensor) -> Change:
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
    """An LSTM on the frame, T and a register, with heads for actions and for the value.

    A unit makes the register from T. feedforward: unit(T), the same at every step. recurrent:
    n_t = unit([T, 1, n_{t-1}]) from n = 0, with T at the first step alone, so that it can count
    down. The baseline has no register.

    Shapes: frames `(frames, ...)`; stimulus, frame `(batch)`; h, c `(batch, hidden)`.
    """

    def __init__(self, c: Config, **layer_options: Any):
        super().__init__("network")
        self.unit_name = unit = c.layer_type
        self.wiring, self.hidden_size = c.nac_wiring, c.hidden_size
        self.register_size = 0 if unit == ALONE else c.register_size
        pixels = c.observation == "pixels"
        self.encoder = PictureEncoder() if pixels else Dense(50, ENCODING, "ReLU")
        size = ENCODING + 1 + self.register_size
        self.core = GeneralizedCell(size, c.hidden_size, "LSTM", name="core")
        self.counter: torch.nn.Module | None = None
        if unit != ALONE:
            recurrent = c.nac_wiring == "recurrent"
            build, inputs = (GeneralizedCell, 2) if recurrent else (GeneralizedLayer, 1)
            self.counter = build(inputs, c.register_size, unit, name="counter", **layer_options)
        self.policy = Dense(c.hidden_size, len(ACTIONS), name="policy")
        self.value = Dense(c.hidden_size, 1, name="value")

    def seen(self, frames: torch.Tensor) -> torch.Tensor:
        """Return what each frame adds to the LSTM's gates, `(frames, 4 hidden)`."""
        cell = self.core.cell
        weight = cell.weight_ih[..., :ENCODING]
        return linear(self.encoder(frames), weight, cell.bias_ih + cell.bias_hh)

    def counted(
        self, stimulus: torch.Tensor, register: torch.Tensor | None, step: int
    ) -> torch.Tensor | None:
        """Return the register at a step, given the register at the step before."""
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


class Step(NamedTuple):
    """A step of episodes, for gradients, shaped `(rows,)`.

    episode: of each row. frame: the observation. from_stimulus: what T and the register add to the
    gates, with gradients. live: whether the episode was going on. rows: the places of these rows
    in the step before, if it had more.
    """

    episode: torch.Tensor
    frame: torch.Tensor
    from_stimulus: torch.Tensor
    action: torch.Tensor
    live: torch.Tensor
    rows: torch.Tensor | None


@dataclass
class Walk:
    """Episodes from their start to their end: what whole ones paid, and which arrived, `(batch,)`.

    Where gradients are taken, it has all steps, too.
    """

    reward: torch.Tensor
    arrived: torch.Tensor
    steps: list[Step] = field(default_factory=list)


def walk(
    model: TimeGridworldNetwork, seen: torch.Tensor, worlds: TimeGridworldBatch, choose: Choose
) -> Walk:
    """Play all worlds to their ends. seen: what each frame adds to the gates."""
    table = seen.detach()
    hidden_weight = model.core.cell.weight_hh.detach().mT
    h = c = seen.new_zeros(*worlds.shape, model.hidden_size)
    stimulus = worlds.stimulus.to(seen)
    episode = torch.arange(worlds.shape[-1], device=seen.device).expand(worlds.shape)
    found = Walk(torch.zeros_like(stimulus), torch.zeros_like(worlds.done))
    register, step = None, 0
    while not bool(worlds.done.all()):
        left = (~worlds.done.gather(-1, episode)).nonzero().squeeze(-1)
        rows = None if len(left) > _WORTH_LEAVING_OUT * episode.shape[-1] else left
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
            found.steps.append(Step(episode, frame, from_stimulus, action, live, rows))
        change = worlds.step(torch.zeros_like(worlds.player).scatter(-1, episode, action))
        found.reward = found.reward + change.reward
        found.arrived = found.arrived | change.terminated
        step += 1
    return found


def _chosen(of_rows: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
    return of_rows if rows is None else of_rows.index_select(0, rows)


def learn(
    model: TimeGridworldNetwork,
    seen: torch.Tensor,
    worlds: TimeGridworldBatch,
    played: Walk,
    discount: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the losses of the advantage actor-critic for policy and value, and the entropy.

    Each is a mean over the steps of the episodes that were played. The return of a step is the
    reward over m, discounted by the steps to the end.
    """
    steps = played.steps
    frame = torch.cat([step.frame for step in steps])
    from_stimulus = torch.cat([step.from_stimulus for step in steps], -2)
    inputs = seen.index_select(0, frame) + from_stimulus
    # The outputs of the LSTM, given what the gates add up besides W h.
    hidden: list[torch.Tensor] = []
    h = c = inputs.new_zeros(*steps[0].episode.shape, model.hidden_size)
    for gates, step in zip(inputs.split([len(s.action) for s in steps], -2), steps, strict=True):
        h, c = _chosen(h, step.rows), _chosen(c, step.rows)
        h, c = lstm_step(gates + h @ model.core.cell.weight_hh.mT, c)
        hidden.append(h)
    logits, value = model.heads(torch.cat(hidden, -2))
    log_p = torch.log_softmax(logits, dim=-1)
    episode = torch.cat([step.episode for step in steps])
    action, live = torch.cat([s.action for s in steps]), torch.cat([s.live for s in steps])
    number = torch.cat([torch.full_like(one.episode, k) for k, one in enumerate(steps)])
    left = worlds.t.gather(-1, episode) - 1 - number
    paid = (played.reward / worlds.rules.max_reward).gather(-1, episode)
    expected = paid * discount ** left.clamp(min=0)
    advantage = expected - value.detach()
    taken = log_p.gather(-1, action.unsqueeze(-1)).squeeze(-1)

    def mean(of_steps: torch.Tensor) -> torch.Tensor:
        return torch.where(live, of_steps, 0.0).sum(-1) / live.sum(-1)

    policy, of_value = mean(-taken * advantage), mean(0.5 * (expected - value) ** 2)
    return policy, of_value, mean(-(log_p.exp() * log_p).sum(-1))


def sampled(noise: torch.Tensor) -> Choose:
    """Return what draws actions by uniform numbers `(steps, batch)`."""

    def choose(logits: torch.Tensor, step: int, episode: torch.Tensor) -> torch.Tensor:
        bounds = torch.softmax(logits, dim=-1).cumsum(-1)[..., :-1]
        own = noise[..., step, :].gather(-1, episode)
        return (bounds < own.unsqueeze(-1)).sum(-1)

    return choose


def greedy(logits: torch.Tensor, *_: Any) -> torch.Tensor:
    return logits.argmax(-1)


WINDOW = 100
"""Updates over which logged values of training are averaged."""

LAST_ENTROPY = 0.1
"""The part of the entropy's weight that is left at the end."""

TEST_SEED = 20180802
BEHIND = 12
"""Steps behind T that a tested episode may take, so that late arrivals are seen."""

SHOWN = (16, 0, 18)
"""The episode that is logged step by step: T = 16, from a corner six steps off the square."""

_LOGGED = ("metric/train/reward", "metric/train/entropy", "loss/train/policy", "loss/train/value")
_WITHIN, _BEYOND = "metric/test/within", "metric/test/beyond"


class GridworldTask(Task):
    """Learn to arrive at step T of a range, and be tested on every T of a longer one."""

    kind = Kind(cost=1000, errors=(_WITHIN, _BEYOND))

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        self.random = np.random.default_rng(config.seed)
        own = settings(config, "max_reward", "time_limit", "reward_shape", "late")
        low, high = config.stimulus_range
        self.rules = Rules((low, high), **own, reachable_only=not config.no_reachable_only)
        self._window: deque[list[float]] = deque(maxlen=WINDOW)
        if config.observation == "pixels":
            frames = pictures().permute(0, 3, 1, 2) / 255
        else:
            frames = planes().flatten(1)
        self._frames = floats(frames, device)
        shape = config.reward_shape
        self.about = f"world: arrive at a step from {low} to {high}, reward {shape} (assumed)"

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return TimeGridworldNetwork(config, **layer_options)

    def batches(self) -> Iterator[Batch]:
        episodes = self.config.episodes_per_update
        starts = draw_starts(self.random, self.rules, episodes)
        noise = torch.from_numpy(self.random.random((self.rules.time_limit, episodes)))
        yield self._worlds(starts, self.rules), floats(noise, self.device)

    def _worlds(self, starts: Starts, rules: Rules) -> TimeGridworldBatch:
        worlds = TimeGridworldBatch(len(starts.stimulus), rules, self.device)
        worlds.start(starts)
        return worlds

    def loss(self, model: Any, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        seen = model.seen(self._frames)
        played = walk(model, seen, x, sampled(t))
        policy, value, entropy = learn(model, seen, x, played, self.config.discount)
        logged = played.reward.mean(-1), entropy, policy, value
        self._window.append([value.item() for value in logged])
        # Its weight falls linearly and then stays.
        done = min(1.0, self.at / self.config.entropy_iterations)
        return policy + value - self.config.entropy * (1 - (1 - LAST_ENTROPY) * done) * entropy

    def measures(self, model: Any) -> Mapping[str, torch.Tensor]:
        found = {
            tag: torch.tensor(values).mean()
            for tag, values in zip(_LOGGED, zip(*self._window, strict=True), strict=False)
        }
        last = self.at == self.config.max_iterations
        if last or self.at % self.config.eval_interval == 0:
            found |= self._tested(model)
        return found

    def _tested(self, model: Any) -> dict[str, torch.Tensor]:
        """Return what greedy players do, for every T: reward, step of arrival, shares of arrivals.

        The step of arrival is a mean over the episodes that arrive.
        """
        seen = model.seen(self._frames)
        low, high = self.config.eval_stimuli
        found: dict[str, torch.Tensor] = {}
        rewards: dict[int, torch.Tensor] = {}
        for stimulus in range(low, high + 1):
            worlds = self._asked(stimulus)
            played = walk(model, seen, worlds, greedy)
            arrived = played.arrived.to(seen)
            exact = played.arrived & (worlds.t == stimulus)
            rewards[stimulus] = played.reward.mean(-1)
            tag = f"metric/test/stimulus/{stimulus}"
            found[f"{tag}/reward"] = rewards[stimulus]
            found[f"{tag}/arrival"] = (worlds.t * arrived).sum(-1) / arrived.sum(-1)
            found[f"{tag}/exact"] = exact.to(seen).mean(-1)
            found[f"{tag}/arrived"] = arrived.mean(-1)
        first, last = self.config.stimulus_range
        groups = {
            _WITHIN: [reward for t, reward in rewards.items() if first <= t <= last],
            _BEYOND: [reward for t, reward in rewards.items() if t > last],
        }
        found |= {tag: torch.stack(some).mean(0) for tag, some in groups.items() if some}
        return found | self._shown(model, seen)

    def _shown(self, model: Any, seen: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the number of the frame at each step of one episode, NaN behind its end."""
        rules = replace(self.rules, time_limit=SHOWN[0] + BEHIND)
        worlds = self._worlds(Starts(*(np.array([part]) for part in SHOWN)), rules)
        frames: list[torch.Tensor] = []

        def watched(logits: torch.Tensor, step: int, episode: torch.Tensor) -> torch.Tensor:
            frames.append(worlds.frame.to(seen))
            return greedy(logits, step, episode)

        walk(model, seen, worlds, watched)
        frames.append(worlds.frame.to(seen))
        frames += [frames[-1]] * (rules.time_limit + 1 - len(frames))
        ended = [frame.masked_fill(step > worlds.t, torch.nan) for step, frame in enumerate(frames)]
        return {f"metric/test/episode/{step}": f.squeeze(-1) for step, f in enumerate(ended)}

    def _asked(self, stimulus: int) -> TimeGridworldBatch:
        """Return the worlds in which one T is tested: the same for all runs."""
        config, random = self.config, np.random.default_rng((TEST_SEED, stimulus))
        limit = max(config.time_limit, stimulus + BEHIND)
        rules = replace(self.rules, stimulus_range=(stimulus, stimulus), time_limit=limit)
        return self._worlds(draw_starts(random, rules, config.eval_episodes), rules)

    def get_state(self, run: int) -> dict[str, Any]:
        return {"window": [list(values) for values in self._window], "random": self.random}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self._window.clear()
        self._window.extend(state["window"])


# A flag is a few lines of a table.
# fmt: off
def _check_wiring(c: Config) -> None:
    if c.layer_type == ALONE:
        refuse(c.is_typed("nac_wiring"), "--nac-wiring",
            f"{ALONE} is the baseline, which has no unit to be wired", "leave it out")
        return
    recurrent = c.nac_wiring == "recurrent"
    what, other, units = "a recurrent cell alone", "recurrent", flag.buildable_layers
    if recurrent:
        what, other, units = "no recurrent cell", "feedforward", cell_names
    refuse(c.layer_type not in units(), "--nac-wiring", f"{c.layer_type} has {what}",
        f"use --nac-wiring {other}")


def _check_worlds(c: Config) -> None:
    _, last = c.stimulus_range
    refuse(c.time_limit < last, "--time-limit",
        f"{c.time_limit} ends worlds before step {last}, which --stimulus-range asks for",
        f"give at least {last}")
    refuse(c.reachable_only and c.no_reachable_only, "--reachable-only",
        "contradicts --no-reachable-only", "leave one of them out")


_TASK = (
    LAYER_TYPE.but(default="NAC", choices=and_layers(cell_names),
        help="Unit of the register next to the LSTM, by its key or name; LSTM: no register."),
    choice("--nac-wiring", "recurrent",
        "Register of the unit: a state that it maps at every step, given the number at the "
        "first, or the number mapped once.", ("recurrent", "feedforward"),
        in_name="w-{nac_wiring}"),
    choice("--observation", "symbolic",
        "What is seen of a world: two planes of 5 x 5, or 56 x 56 pixels.",
        ("symbolic", "pixels"), in_name="o-{observation}"),
    Flag("--stimulus-range", flag.span, [5, 12], "Steps of arrival that training asks for.",
        in_name="t-{stimulus_range:pair}"),
    Flag("--max-reward", number(above=0), 10, "Reward of an arrival at the right step.",
        in_name="m{max_reward}"),
    Flag("--time-limit", integer(1, 10**6), 24, "Steps after which a world of training ends.",
        in_name="l{time_limit}"),
    choice("--reward-shape", "linear",
        "Reward of an arrival: less by one for each step from the right one, or for the right "
        "step only. The published shape is unknown.", REWARD_SHAPES, in_name="r-{reward_shape}"),
    choice("--late", "symmetric",
        "Whether a late arrival pays as an early one does, or nothing.", LATE,
        in_name="late-{late}"),
    switch("--reachable-only", "Place every square within reach, as is done by default.",
        unnamed="it says what is done anyway", result=False),
    switch("--no-reachable-only", "Place squares also where they cannot be reached in time.",
        in_name="far"),
    Flag("--hidden-size", integer(1), 64, "Width of the LSTM.", in_name="h{hidden_size}"),
    Flag("--register-size", integer(1), 4, "Width of the register.", in_name="k{register_size}"),
    Flag("--episodes-per-update", integer(1), 64, "Number of whole episodes in an update.",
        in_name="b{episodes_per_update}"),
    Flag("--entropy", number(0), 0.02, "First weight of the policy's entropy in the loss.",
        in_name="e-{entropy}-{entropy_iterations}"),
    Flag("--entropy-iterations", integer(1), 3000,
        "Updates over which that weight falls to a tenth."),
    Flag("--discount", number(above=0, maximum=1), 0.99, "Discount of a return per step.",
        in_name="g{discount}"),
    MAX_ITERATIONS.but(default=3000),
    Flag("--eval-stimuli", flag.span, [5, 25], "Steps of arrival that are tested, each by itself.",
        unnamed=TESTING),
    Flag("--eval-episodes", integer(1), 400, "Episodes of a test, with the most likely actions.",
        unnamed=TESTING),
    Flag("--eval-interval", integer(1), 500,
        "Updates between two tests, which log points at its multiples make; the last update is "
        "one, too.", unnamed=TESTING),
)
SCRIPT = task_script(
    "gridworld_time",
    summary="Train a player of a grid world to arrive at a given step, and test it on later steps.",
    example="--layer-type NAC --nac-wiring recurrent --seed 0-2",
    task=_TASK,
    checks=(_check_wiring, _check_worlds), batch_size=None, learning_rate=1e-3, clip_grad_norm=0.5,
    log_interval=100,
)
TASK = GridworldTask
