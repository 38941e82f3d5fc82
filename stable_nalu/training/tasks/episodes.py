"""Episodes of the grid world that a network plays, and what it learns from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from stable_nalu.environment.worlds import TimeGridworldBatch
from stable_nalu.functional.lstm import chosen, lstm_step
from stable_nalu.network.time_gridworld import TimeGridworldNetwork

Choose = Callable[[torch.Tensor, int, torch.Tensor], torch.Tensor]
"""From the logits of a step, its number and the episodes that take it to an action each."""

_WORTH_LEAVING_OUT = 0.9
"""Episodes that have ended are left out where no run has more than this part of its rows left."""


@dataclass
class Walk:
    """Episodes from their start to their end; where gradients are taken, a list entry per step.

    reward, arrived: of whole episodes, `(*runs, batch)`.

    Of a step, shaped `(*runs, rows)`: episode, the one of each row; frame, what was seen; heard,
    what T and the register added to the gates, with gradients; action; live, whether the episode
    was going on; rows, which of those of the step before these are, if not all.
    """

    reward: torch.Tensor
    arrived: torch.Tensor
    episode: list[torch.Tensor] = field(default_factory=list)
    frame: list[torch.Tensor] = field(default_factory=list)
    heard: list[torch.Tensor] = field(default_factory=list)
    action: list[torch.Tensor] = field(default_factory=list)
    live: list[torch.Tensor] = field(default_factory=list)
    rows: list[torch.Tensor | None] = field(default_factory=list)


def walk(
    model: TimeGridworldNetwork, seen: torch.Tensor, worlds: TimeGridworldBatch, choose: Choose
) -> Walk:
    """Play all worlds to their ends. seen: what each frame adds to the gates."""
    table, first = _rows_of_runs(seen.detach(), worlds.shape)
    hidden_weight = model.weight_of_hidden.detach().mT
    h = c = seen.new_zeros(*worlds.shape, model.hidden_size)
    stimulus = worlds.stimulus.to(seen)
    episode = torch.arange(worlds.shape[-1], device=seen.device).expand(worlds.shape)
    found = Walk(torch.zeros_like(stimulus), torch.zeros_like(worlds.done))
    register, step = None, 0
    while not bool(worlds.done.all()):
        rows = _going_on(worlds.done.gather(-1, episode))
        if rows is not None:
            h, c, episode = chosen(h, rows), chosen(c, rows), episode.gather(-1, rows)
            register = None if register is None else chosen(register, rows)
        asked = stimulus.gather(-1, episode)
        register = model.counted(asked, register, step)
        heard = model.heard(asked, register)
        with torch.no_grad():
            frame = worlds.frame.gather(-1, episode)
            own = table.index_select(0, (frame + first).flatten()).view(heard.shape)
            gates = own.add_(heard).add_(h @ hidden_weight)
            h, c = lstm_step(gates, c)
            action = choose(model.heads(h)[0], step, episode)
        if torch.is_grad_enabled():
            live = ~worlds.done.gather(-1, episode)
            found.episode.append(episode)
            found.frame.append(frame)
            found.heard.append(heard)
            found.action.append(action)
            found.live.append(live)
            found.rows.append(rows)
        change = worlds.step(torch.zeros_like(worlds.player).scatter(-1, episode, action))
        found.reward = found.reward + change.reward
        found.arrived = found.arrived | change.terminated
        step += 1
    return found


def _going_on(done: torch.Tensor) -> torch.Tensor | None:
    """Return the rows of each run that are not done, and as many others as the longest has more.

    None: leaving the others out would not be worth while.
    """
    most = int((~done).sum(-1).max())
    if most > _WORTH_LEAVING_OUT * done.shape[-1]:
        return None
    return done.to(torch.uint8).argsort(dim=-1, stable=True)[..., :most]


def _rows_of_runs(
    seen: torch.Tensor, shape: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor | int]:
    """Return the rows of all runs in one table, and the first row of each run."""
    if len(shape) == 1:
        return seen, 0
    runs, frames = seen.shape[0], seen.shape[-2]
    return seen.flatten(0, -2), torch.arange(runs, device=seen.device).unsqueeze(-1) * frames


def _hidden(model: TimeGridworldNetwork, inputs: torch.Tensor, played: Walk) -> torch.Tensor:
    """Return the outputs of the LSTM in all steps, given what the gates add up besides W h."""
    found: list[torch.Tensor] = []
    h = c = inputs.new_zeros(*played.episode[0].shape, model.hidden_size)
    lengths = [one.shape[-1] for one in played.episode]
    for gates, rows in zip(inputs.split(lengths, -2), played.rows, strict=True):
        h, c = chosen(h, rows), chosen(c, rows)
        h, c = lstm_step(gates + h @ model.weight_of_hidden.mT, c)
        found.append(h)
    return torch.cat(found, -2)


@dataclass(frozen=True)
class Learned:
    """What a batch of episodes teaches, each of shape `runs`: a mean over the steps taken."""

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
    table, first = _rows_of_runs(seen, worlds.shape)
    frame, heard = torch.cat(played.frame, -1), torch.cat(played.heard, -2)
    inputs = table.index_select(0, (frame + first).flatten()).view(heard.shape) + heard
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
    """Return what draws actions by uniform numbers `(*runs, steps, batch)`."""

    def choose(logits: torch.Tensor, step: int, episode: torch.Tensor) -> torch.Tensor:
        bounds = torch.softmax(logits, dim=-1).cumsum(-1)[..., :-1]
        own = noise[..., step, :].gather(-1, episode)
        return (bounds < own.unsqueeze(-1)).sum(-1)

    return choose


def greedy(logits: torch.Tensor, step: int, episode: torch.Tensor) -> torch.Tensor:
    """Return the most likely actions."""
    del step, episode
    return logits.argmax(-1)
