"""Programs of `+`, `-` and `if`: read token by token, and tested on larger numbers.

Section 4.4 of the NALU paper and its figure of programs. Its sizes, rates and steps, and the
numbers of that figure, are not published; a differentiable neural computer, which it compares with
as well, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.programs import (
    TOKENS,
    USUAL_NESTING,
    Programs,
    Steps,
    draw,
    evaluated,
    in_steps,
    joined,
    shown,
    write,
)
from stable_nalu.network.programs import MATRICES, ProgramNetwork, Reading
from stable_nalu.options import Config

from .training import Batch, Task, kind

BLOCK = 16
"""Batches that are drawn at once, as most of the work is done once per drawing."""

_TEST = "metric/test/relative"
_MOST_DIGITS = 18
_ONE_HOT = np.vstack((np.eye(len(TOKENS)), np.zeros(len(TOKENS))))
"""What each token is seen as; the last one is that of a blank."""


class ProgramTask(Task):
    """Compute programs; the loss is the root of the mean squared error of a batch.

    Each range of numbers has three measures: that error, the same relative to the root of the
    mean squared result, and the share of digits that are right. Of one program, what would be
    answered after each token is logged, too.
    """

    valid: ClassVar = "metric/valid/relative"
    test: ClassVar = _TEST

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        super().__init__(configs, device, stacked=stacked)
        self.randoms = [np.random.default_rng(c.seed) for c in configs]
        self._nesting = nesting_of(self.config)
        self._same_words = self.config.program == "addition" and self._nesting == 1
        self._block: Iterator[Steps] | None = None
        self._before: list[Mapping[str, Any]] = []
        self._taken = 0
        ranges = self.config.train_range, self.config.test_ranges
        self._tests = [
            (f"{low}-{high}", self._test(programs))
            for (low, high), programs in zip(
                (ranges[0], *ranges[1]),
                evaluated(self.config.program, self._nesting, *ranges),
                strict=True,
            )
        ]

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return ProgramNetwork(
            config.layer_type,
            config.hidden_size,
            config.register_size,
            sees_value=sees_value(config),
            sees_registers=sees_registers(config),
            **layer_options,
        )

    def batches(self, unit: int) -> Iterator[Batch]:
        if self._block is None:
            # At the start, and of a resumed run, which has taken some of them.
            self._block = self._drawn()
            for _ in range(self._taken):
                next(self._block)
        if self._taken == BLOCK:
            self._block, self._taken = self._drawn(), 0
        self._taken += 1
        yield self._reading(next(self._block), len(self.configs))

    def _drawn(self) -> Iterator[Steps]:
        """Draw the next batches."""
        self._before = [random.bit_generator.state for random in self.randoms]
        count = self.config.batch_size * BLOCK
        low, high = self.config.train_range
        drawn = [
            draw(random, self.config.program, count, self._nesting, low, high)
            for random in self.randoms
        ]
        return in_steps(write(joined(drawn)), len(self.configs), BLOCK)

    def _reading(self, steps: Steps, runs: int) -> Batch:
        """Return what networks read, and results; programs of one run are for all of the stack."""

        def tensor(of_runs: np.ndarray) -> torch.Tensor:
            parts = of_runs if runs == len(self.configs) else of_runs.repeat(len(self.configs), 0)
            return torch.from_numpy(parts if self.stacked else parts[0]).to(self.device)

        kind_of_number = torch.get_default_dtype()
        values = tensor(steps.values).to(kind_of_number)
        tokens = steps.tokens
        if self._same_words and not sees_value(self.config):
            # All programs read the same to a controller that sees words alone.
            tokens = tokens[:, :: steps.counts[0]]
        x = tensor(_ONE_HOT[tokens]).to(kind_of_number)
        if sees_value(self.config):
            scale = max(map(abs, self.config.train_range))
            x = torch.cat((x, values.unsqueeze(-1) / scale), -1)
        results = tensor(steps.results).to(kind_of_number)
        return Reading(steps.counts, x, values, tensor(steps.ends)), results

    def loss(self, model: ExtendedTorchModule, x: Any, t: torch.Tensor) -> torch.Tensor:
        return root_mean_square(model(x) - t)

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = {}
        relative: list[torch.Tensor] = []
        assert isinstance(model, ProgramNetwork)
        for name, (x, t, trace) in self._tests:
            tag = f"metric/test/{name}" if relative else "metric/valid"
            answers = model.answers(x)
            y = answers.gather(-1, x.ends)
            found[f"{tag}/rmse"] = root_mean_square(y - t)
            relative.append(found[f"{tag}/rmse"] / root_mean_square(t))
            found[f"{tag}/relative"] = relative[-1]
            found[f"{tag}/digits"] = right_digits(y, t).mean(-1).to(y)
            for step, row in enumerate(trace):
                found[f"metric/trace/{name}/{step}"] = answers[..., row]
        return found | {_TEST: torch.stack(relative[1:]).mean(0)}

    def _test(self, programs: Programs) -> tuple[Reading, torch.Tensor, list[int]]:
        """Return what is read, its results, and the rows of the program that is shown."""
        steps = next(in_steps(programs, 1))
        one = shown(programs)
        place = (-programs.lengths).argsort(kind="stable").tolist().index(one)
        rows = (np.cumsum((0, *steps.counts))[: programs.lengths[one]] + place).tolist()
        return (*self._reading(steps, 1), rows)

    def get_state(self, run: int) -> dict[str, Any]:
        random = self.randoms[run].bit_generator
        state = self._before[run] if self._before else random.state
        return {"random": state, "taken": self._taken}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self.randoms[run].bit_generator.state = state["random"]
        self._taken, self._block, self._before = state["taken"], None, []

    def introduction(self) -> str:
        low, high = self.config.train_range
        ranges = ", ".join(f"[{low}, {high})" for low, high in self.config.test_ranges)
        return (
            f"dataset: {self.config.program} of nesting {self._nesting}, numbers from "
            f"[{low}, {high}); tested from {ranges}"
        )


def nesting_of(config: Config) -> int:
    """Return the number of operations of a program: the flag, or what is usual for the kind."""
    return config.nesting or USUAL_NESTING[config.program]


def sees_value(config: Config) -> bool:
    """Return whether the numbers are inputs of the LSTM: the flag, or yes for baselines."""
    return (config.controller_sees_value or ("yes", "no")[config.layer_type in MATRICES]) == "yes"


def sees_registers(config: Config) -> bool:
    """Return whether the registers are inputs of the controller: the flag, or yes for programs."""
    if config.layer_type not in MATRICES:
        return False
    usual = "yes" if config.program == "programs" else "no"
    return (config.controller_sees_registers or usual) == "yes"


def root_mean_square(error: torch.Tensor) -> torch.Tensor:
    """Return the root of the mean square over the last dimension; its gradient at 0 is 0."""
    return torch.linalg.vector_norm(error, dim=-1) / error.shape[-1] ** 0.5


def right_digits(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return the share of characters of each rounded `y` that are those of `t`.

    Both are written as whole numbers and laid one below the other by their last digits; a sign is
    a character, and what only one of them has is wrong. What is not a finite number is all wrong.
    """
    finite = y.isfinite()
    limit = 10.0**_MOST_DIGITS
    whole = torch.where(finite, y.double().round(), 0.0).clamp(-limit, limit).long()
    one, other = _characters(whole), _characters(t.double().round().long())
    written = (one != _NONE) | (other != _NONE)
    right = ((one == other) & written).sum(-1) / written.sum(-1)
    return torch.where(finite, right, 0.0)


_NONE, _MINUS = -1, 10


def _characters(numbers: torch.Tensor) -> torch.Tensor:
    """Return the characters of whole numbers from the last one on, padded with `_NONE`."""
    powers = 10 ** torch.arange(_MOST_DIGITS + 1, device=numbers.device)
    size = numbers.abs().unsqueeze(-1)
    digits = size // powers % 10
    digits = digits.masked_fill((size < powers) & (powers > 1), _NONE)
    sign = torch.where(numbers < 0, _MINUS, _NONE).unsqueeze(-1)
    # Behind the digits, which the padding separates from the sign.
    length = (digits != _NONE).sum(-1, keepdim=True)
    return torch.cat((digits, torch.full_like(sign, _NONE)), -1).scatter(-1, length, sign)


KINDS = {"program_evaluation": kind(ProgramTask, cost=50)}
