"""The grid world of the NALU paper: arrive at a step that is told, also beyond those trained on.

Section 4.5 and figure 5 of the paper, which trains by A3C; here by the advantage actor-critic on
batches of whole episodes. What an arrival pays is assumed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.environment.worlds import (
    Rules,
    Starts,
    TimeGridworldBatch,
    draw_starts,
    pictures,
    planes,
)
from stable_nalu.network.time_gridworld import TimeGridworldNetwork
from stable_nalu.options import Config

from .episodes import greedy, learn, sampled, walk
from .training import Batch, Task, kind

WINDOW = 100
"""Updates over which logged values of training are averaged."""

LAST_ENTROPY = 0.1
"""The part of the entropy's weight that is left at the end."""

TEST_SEED = 20180802
BEHIND = 12
"""Steps behind T that a tested episode may take, so that late arrivals are seen."""

SHOWN = Starts(np.array([16]), np.array([0]), np.array([18]))
"""The episode that is logged step by step: T = 16, from a corner six steps off the square."""

_LOGGED = (
    "metric/train/reward",
    "metric/train/entropy",
    "loss/train/policy",
    "loss/train/value",
)

_WITHIN, _BEYOND = "metric/test/within", "metric/test/beyond"


class GridworldTask(Task):
    """Learn to arrive at step T of a range, and be tested on every T of a longer one."""

    valid, test = _WITHIN, _BEYOND

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        super().__init__(configs, device, stacked=stacked)
        self.randoms = [np.random.default_rng(c.seed) for c in configs]
        self.rules = rules_of(self.config)
        self._window: deque[list[torch.Tensor]] = deque(maxlen=WINDOW)
        frames = frames_of(self.config.observation)
        self._frames = frames.to(device, torch.get_default_dtype())
        self._runs = (len(configs),) if stacked else ()

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return TimeGridworldNetwork(
            config.layer_type,
            config.nac_wiring,
            config.observation,
            config.hidden_size,
            config.register_size,
            **layer_options,
        )

    def batches(self, unit: int) -> Iterator[Batch]:
        episodes = self.config.episodes_per_update
        shape = (self.rules.time_limit, episodes)
        starts, noise = [], []
        for random in self.randoms:
            starts.append(draw_starts(random, self.rules, episodes))
            noise.append(torch.from_numpy(random.random(shape)))
        yield self._worlds(starts, self.rules, episodes), self.joined(noise)

    def _worlds(self, starts: Sequence[Starts], rules: Rules, count: int) -> TimeGridworldBatch:
        worlds = TimeGridworldBatch((*self._runs, count), rules, self.device)
        parts = (np.stack(of_runs) for of_runs in zip(*starts, strict=True))
        worlds.start(Starts(*(part if self.stacked else part[0] for part in parts)))
        return worlds

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any) -> torch.Tensor:
        assert isinstance(model, TimeGridworldNetwork)
        seen = model.seen(self._frames)
        played = walk(model, seen, x, sampled(t))
        learned = learn(model, seen, x, played, self.config.discount)
        reward = played.reward.mean(-1)
        logged = (reward, learned.entropy, learned.policy, learned.value)
        self._window.append([value.detach() for value in logged])
        return learned.policy + learned.value - self._entropy_weight() * learned.entropy

    def _entropy_weight(self) -> float:
        """Return the weight of the entropy, which falls linearly and then stays."""
        done = min(1.0, self.unit / self.config.entropy_iterations)
        return self.config.entropy * (1 - (1 - LAST_ENTROPY) * done)

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        means = [torch.stack(values).mean(0) for values in zip(*self._window, strict=True)]
        found: dict[str, torch.Tensor] = dict(zip(_LOGGED, means, strict=bool(means)))
        last = self.unit == self.config.max_iterations
        if last or self.unit % self.config.eval_interval == 0:
            found |= self._tested(model)
        return found

    def _tested(self, model: ExtendedTorchModule) -> dict[str, torch.Tensor]:
        """Return what greedy players do, for every T: reward, step of arrival, shares of arrivals.

        The step of arrival is a mean over the episodes that arrive.
        """
        assert isinstance(model, TimeGridworldNetwork)
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
        return found | self._summed_up(rewards) | self._shown(model, seen)

    def _shown(self, model: TimeGridworldNetwork, seen: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the number of the frame at each step of one episode, NaN behind its end."""
        rules = rules_of(self.config, time_limit=int(SHOWN.stimulus[0]) + BEHIND)
        worlds = self._worlds([SHOWN] * len(self.configs), rules, 1)
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
        config, count = self.config, self.config.eval_episodes
        limit = max(config.time_limit, stimulus + BEHIND)
        rules = rules_of(config, (stimulus, stimulus), limit)
        starts = draw_starts(np.random.default_rng((TEST_SEED, stimulus)), rules, count)
        return self._worlds([starts] * len(self.configs), rules, count)

    def _summed_up(self, rewards: Mapping[int, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return mean rewards within the range of training and above it."""
        low, high = self.config.stimulus_range
        groups = {
            _WITHIN: [reward for t, reward in rewards.items() if low <= t <= high],
            _BEYOND: [reward for t, reward in rewards.items() if t > high],
        }
        return {tag: torch.stack(some).mean(0) for tag, some in groups.items() if some}

    def get_state(self, run: int) -> dict[str, Any]:
        window = [[float(v.reshape(-1)[run]) for v in values] for values in self._window]
        return {"random": self.randoms[run].bit_generator.state, "window": window}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.randoms[run].bit_generator.state = state["random"]
        like = torch.zeros(self._runs, dtype=torch.get_default_dtype(), device=self.device)
        if run == 0:
            self._window.clear()
            self._window.extend([like.clone() for _ in _LOGGED] for _ in state["window"])
        for kept, values in zip(self._window, state["window"], strict=True):
            for tensor, value in zip(kept, values, strict=True):
                tensor.view(-1)[run] = value

    def introduction(self) -> str:
        low, high = self.config.stimulus_range
        shape = self.config.reward_shape
        return f"world: arrive at a step from {low} to {high}, reward {shape} (assumed)"


def rules_of(
    config: Config, stimuli: tuple[int, int] | None = None, time_limit: int | None = None
) -> Rules:
    """Return the rules that flags set, with other steps asked for where these are given."""
    low, high = stimuli or config.stimulus_range
    return Rules(
        (low, high),
        config.max_reward,
        time_limit or config.time_limit,
        config.reward_shape,
        config.late,
        not config.no_reachable_only,
    )


def frames_of(observation: str) -> torch.Tensor:
    """Return all that can be seen, as the network takes it."""
    if observation == "pixels":
        return pictures().permute(0, 3, 1, 2) / 255
    return planes().flatten(1)


KINDS = {"gridworld_time": kind(GridworldTask, cost=1000)}
