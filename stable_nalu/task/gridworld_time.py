"""The grid world of the NALU paper: arrive at a given step, also beyond those trained on.

Section 4.5 and figure 5 of the paper, which trains by A3C; here by the advantage actor-critic on
batches of whole episodes. What an arrival pays is assumed.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.network import gridworld
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import (
    and_layers,
    buildable_layers,
    cell_names,
    choice,
    integer,
    number,
    span,
)
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS
from stable_nalu.training.surroundings import floats
from stable_nalu.training.task import Batch, Goal, Kind, Task

from .description import TESTING, task_script

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

    kind = Kind(cost=1000)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(_WITHIN, _BEYOND)

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        self.random = np.random.default_rng(config.seed)
        self.rules = rules_of(config)
        self._window: deque[list[float]] = deque(maxlen=WINDOW)
        if config.observation == "pixels":
            frames = gridworld.pictures().permute(0, 3, 1, 2) / 255
        else:
            frames = gridworld.planes().flatten(1)
        self._frames = floats(frames, device)
        low, high = config.stimulus_range
        shape = config.reward_shape
        self.about = f"world: arrive at a step from {low} to {high}, reward {shape} (assumed)"

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return gridworld.TimeGridworldNetwork(
            config.layer_type,
            config.nac_wiring,
            config.observation,
            config.hidden_size,
            config.register_size,
            **layer_options,
        )

    def batches(self) -> Iterator[Batch]:
        episodes = self.config.episodes_per_update
        starts = gridworld.draw_starts(self.random, self.rules, episodes)
        noise = torch.from_numpy(self.random.random((self.rules.time_limit, episodes)))
        yield self._worlds(starts, self.rules), floats(noise, self.device)

    def _worlds(
        self, starts: gridworld.Starts, rules: gridworld.Rules
    ) -> gridworld.TimeGridworldBatch:
        worlds = gridworld.TimeGridworldBatch(len(starts.stimulus), rules, self.device)
        worlds.start(starts)
        return worlds

    def loss(self, model: Any, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        seen = model.seen(self._frames)
        played = gridworld.walk(model, seen, x, gridworld.sampled(t))
        learned = gridworld.learn(model, seen, x, played, self.config.discount)
        logged = (played.reward.mean(-1), learned.entropy, learned.policy, learned.value)
        self._window.append([value.item() for value in logged])
        return learned.policy + learned.value - self._entropy_weight() * learned.entropy

    def _entropy_weight(self) -> float:
        """Return the weight of the entropy, which falls linearly and then stays."""
        done = min(1.0, self.at / self.config.entropy_iterations)
        return self.config.entropy * (1 - (1 - LAST_ENTROPY) * done)

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
            played = gridworld.walk(model, seen, worlds, gridworld.greedy)
            arrived = played.arrived.to(seen)
            exact = played.arrived & (worlds.t == stimulus)
            rewards[stimulus] = played.reward.mean(-1)
            tag = f"metric/test/stimulus/{stimulus}"
            found[f"{tag}/reward"] = rewards[stimulus]
            found[f"{tag}/arrival"] = (worlds.t * arrived).sum(-1) / arrived.sum(-1)
            found[f"{tag}/exact"] = exact.to(seen).mean(-1)
            found[f"{tag}/arrived"] = arrived.mean(-1)
        return found | self._summed_up(rewards) | self._shown(model, seen)

    def _shown(self, model: Any, seen: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the number of the frame at each step of one episode, NaN behind its end."""
        rules = rules_of(self.config, time_limit=SHOWN[0] + BEHIND)
        worlds = self._worlds(gridworld.Starts(*(np.array([part]) for part in SHOWN)), rules)
        frames: list[torch.Tensor] = []

        def watched(logits: torch.Tensor, step: int, episode: torch.Tensor) -> torch.Tensor:
            frames.append(worlds.frame.to(seen))
            return gridworld.greedy(logits, step, episode)

        gridworld.walk(model, seen, worlds, watched)
        frames.append(worlds.frame.to(seen))
        frames += [frames[-1]] * (rules.time_limit + 1 - len(frames))
        ended = [frame.masked_fill(step > worlds.t, torch.nan) for step, frame in enumerate(frames)]
        return {f"metric/test/episode/{step}": f.squeeze(-1) for step, f in enumerate(ended)}

    def _asked(self, stimulus: int) -> gridworld.TimeGridworldBatch:
        """Return the worlds in which one T is tested: the same for all runs."""
        config, random = self.config, np.random.default_rng((TEST_SEED, stimulus))
        limit = max(config.time_limit, stimulus + BEHIND)
        rules = rules_of(config, (stimulus, stimulus), limit)
        starts = gridworld.draw_starts(random, rules, config.eval_episodes)
        return self._worlds(starts, rules)

    def _summed_up(self, rewards: Mapping[int, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return mean rewards within the range of training and above it."""
        low, high = self.config.stimulus_range
        groups = {
            _WITHIN: [reward for t, reward in rewards.items() if low <= t <= high],
            _BEYOND: [reward for t, reward in rewards.items() if t > high],
        }
        return {tag: torch.stack(some).mean(0) for tag, some in groups.items() if some}

    def get_state(self, run: int) -> dict[str, Any]:
        return {"window": [list(values) for values in self._window], "random": self.random}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self._window.clear()
        self._window.extend(state["window"])


def rules_of(
    config: Config, stimuli: tuple[int, int] | None = None, time_limit: int | None = None
) -> gridworld.Rules:
    """Return the rules that flags set, with other steps asked for where these are given."""
    low, high = stimuli or config.stimulus_range
    return gridworld.Rules(
        (low, high),
        config.max_reward,
        time_limit or config.time_limit,
        config.reward_shape,
        config.late,
        not config.no_reachable_only,
    )


_BASELINE = "LSTM"


def _check_wiring(c: Config) -> None:
    """Require a unit that can be wired as asked for."""
    if c.layer_type == _BASELINE:
        if c.is_typed("nac_wiring"):
            problem = f"{_BASELINE} is the baseline, which has no unit to be wired"
            raise OptionError("--nac-wiring", problem, "leave it out")
        return
    recurrent = c.nac_wiring == "recurrent"
    if c.layer_type not in (cell_names() if recurrent else buildable_layers()):
        what, other = ("no recurrent cell", "feedforward")
        if not recurrent:
            what, other = ("a recurrent cell alone", "recurrent")
        raise OptionError("--nac-wiring", f"{c.layer_type} has {what}", f"use --nac-wiring {other}")


def _check_worlds(c: Config) -> None:
    """Require worlds that can be left at every step that is asked for."""
    _, last = c.stimulus_range
    if c.time_limit < last:
        raise OptionError(
            "--time-limit",
            f"{c.time_limit} ends worlds before step {last}, which --stimulus-range asks for",
            f"give at least {last}",
        )
    if c.reachable_only and c.no_reachable_only:
        raise OptionError(
            "--reachable-only", "contradicts --no-reachable-only", "leave one of them out"
        )


SCRIPT = task_script(
    "gridworld_time",
    summary="Train a player of a grid world to arrive at a given step, and measure when it arrives "
    "if the step is later than in training.",
    example="--layer-type NAC --nac-wiring recurrent --seed 0-2",
    task=(
        LAYER_TYPE.but(
            default="NAC",
            help="Unit of the register beside the LSTM, by its key or name; LSTM: no register.",
            choices=and_layers(cell_names),
        ),
        choice(
            "--nac-wiring",
            "recurrent",
            "Register of the unit: a state that it maps at every step, given the number at the "
            "first, or the number mapped once.",
            ("recurrent", "feedforward"),
        ),
        choice(
            "--observation",
            "symbolic",
            "What is seen of a world: two planes of 5 x 5, or 56 x 56 pixels.",
            ("symbolic", "pixels"),
        ),
        Flag("--stimulus-range", span, [5, 12], "Steps of arrival that training asks for."),
        Flag("--max-reward", number(above=0), 10, "Reward of an arrival at the right step."),
        Flag("--time-limit", integer(1, 10**6), 24, "Steps after which a world of training ends."),
        choice(
            "--reward-shape",
            "linear",
            "Reward of an arrival: less by one for each step from the right one, or for the right "
            "step only. The published shape is unknown.",
            ("linear", "exact"),
        ),
        choice(
            "--late",
            "symmetric",
            "Whether a late arrival pays as an early one does, or nothing.",
            ("symmetric", "zero"),
        ),
        switch(
            "--reachable-only",
            "Place every square within reach, as is done by default.",
            unnamed="it says what is done anyway",
            result=False,
        ),
        switch("--no-reachable-only", "Place squares also where they cannot be reached in time."),
        Flag("--hidden-size", integer(1), 64, "Width of the LSTM."),
        Flag("--register-size", integer(1), 4, "Width of the register."),
        Flag("--episodes-per-update", integer(1), 64, "Number of whole episodes in an update."),
        Flag("--entropy", number(0), 0.02, "First weight of the policy's entropy in the loss."),
        Flag(
            "--entropy-iterations",
            integer(1),
            3000,
            "Updates over which that weight falls to a tenth.",
        ),
        Flag("--discount", number(above=0, maximum=1), 0.99, "Discount of a return per step."),
        MAX_ITERATIONS.but(default=3000),
        Flag(
            "--eval-stimuli",
            span,
            [5, 25],
            "Steps of arrival that are tested, each by itself.",
            unnamed=TESTING,
        ),
        Flag(
            "--eval-episodes",
            integer(1),
            400,
            "Episodes of a test, with the most likely actions.",
            unnamed=TESTING,
        ),
        Flag(
            "--eval-interval",
            integer(1),
            500,
            "Updates between two tests, which log points at its multiples make; the last update is "
            "one, too.",
            unnamed=TESTING,
        ),
    ),
    fragments=(
        "w-{nac_wiring} o-{observation} t-{stimulus_range:pair} m{max_reward} l{time_limit}",
        "r-{reward_shape} late-{late}",
        nf.either("no_reachable_only", "far", "near"),
        "h{hidden_size} k{register_size} b{episodes_per_update} e-{entropy}-{entropy_iterations}",
        "g{discount}",
    ),
    checks=(_check_wiring, _check_worlds),
    batch_size=None,
    learning_rate=1e-3,
    clip_grad_norm=0.5,
    log_interval=100,
)
TASK = GridworldTask
