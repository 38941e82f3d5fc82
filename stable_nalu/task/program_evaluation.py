"""Programs of `+`, `-` and `if`: read token by token, and tested on larger numbers.

Section 4.4 of the NALU paper and its figure of programs. Its sizes, rates and steps, and the
numbers of that figure, are not published; a differentiable neural computer, which it compares with
as well, is left out.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import programs
from stable_nalu.layer import entries
from stable_nalu.network import texts
from stable_nalu.options import Config, Flag
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import cell_names, choice, integer, whole_range, whole_ranges
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS
from stable_nalu.training.surroundings import floats
from stable_nalu.training.task import Batch, Goal, Kind, Task

from .description import task_script

BLOCK = 16
"""Batches that are drawn at once, as most of the work is done once per drawing."""

MACHINES = ("NAC", "NALU")
"""Units whose matrices a controller makes."""

_TEST = "metric/test/relative"
_MOST_DIGITS = 18


class ProgramTask(Task):
    """Compute programs; the loss is the root of the mean squared error of a batch.

    Each range of numbers has three measures: that error, the same relative to the root of the
    mean squared result, and the share of digits that are right. Of one program, what would be
    answered after each token is logged, too.
    """

    kind = Kind(cost=50)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal("metric/valid/relative", _TEST)

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        self.random = np.random.default_rng(config.seed)
        """It stands before the block whose batches are taken."""
        self._nesting = config.nesting or programs.USUAL_NESTING[config.program]
        self._same_words = config.program == "addition" and self._nesting == 1
        self._block: Iterator[programs.Steps] | None = None
        self._behind = self.random
        self._taken = 0
        ranges = config.train_range, config.test_ranges
        low, high = config.train_range
        beyond = ", ".join(f"[{first}, {last})" for first, last in config.test_ranges)
        self.about = (
            f"dataset: {config.program} of nesting {self._nesting}, numbers from "
            f"[{low}, {high}); tested from {beyond}"
        )
        tested = programs.evaluated(config.program, self._nesting, *ranges)
        self._tests = [
            (f"{low}-{high}", *self._test(of_range))
            for (low, high), of_range in zip((ranges[0], *ranges[1]), tested, strict=True)
        ]

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return texts.ProgramNetwork(
            config.layer_type,
            config.hidden_size,
            config.register_size,
            sees_value=sees_value(config),
            sees_registers=sees_registers(config),
            **layer_options,
        )

    def batches(self) -> Iterator[Batch]:
        if self._block is None:
            # At the start, and of a resumed run, which has taken some of them.
            self._block = self._drawn()
            for _ in range(self._taken):
                next(self._block)
        if self._taken == BLOCK:
            self.random = self._behind
            self._block, self._taken = self._drawn(), 0
        self._taken += 1
        yield self._reading(next(self._block))

    def _drawn(self) -> Iterator[programs.Steps]:
        """Draw the next batches."""
        self._behind = deepcopy(self.random)
        count = self.config.batch_size * BLOCK
        low, high = self.config.train_range
        drawn = programs.draw(self._behind, self.config.program, count, self._nesting, low, high)
        return programs.in_steps(programs.write(drawn), BLOCK)

    def _reading(self, steps: programs.Steps) -> Batch:
        """Return what networks read, and results."""
        values = floats(torch.from_numpy(steps.values), self.device)
        tokens = steps.tokens
        if self._same_words and not sees_value(self.config):
            # All programs read the same to a controller that sees words alone.
            tokens = tokens[:: steps.counts[0]]
        # What each token is seen as; the last one is that of a blank.
        one_hot = np.vstack((np.eye(len(programs.TOKENS)), np.zeros(len(programs.TOKENS))))
        x = floats(torch.from_numpy(one_hot[tokens]), self.device)
        if sees_value(self.config):
            scale = max(map(abs, self.config.train_range))
            x = torch.cat((x, values.unsqueeze(-1) / scale), -1)
        results = floats(torch.from_numpy(steps.results), self.device)
        ends = torch.from_numpy(steps.ends).to(self.device)
        return texts.Reading(steps.counts, x, values, ends), results

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        return root_mean_square(model(x) - t)

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = {}
        relative: list[torch.Tensor] = []
        for name, x, t, trace in self._tests:
            tag = f"metric/test/{name}" if relative else "metric/valid"
            answers = model.answers(x)
            y = answers[x.ends]
            found[f"{tag}/rmse"] = root_mean_square(y - t)
            relative.append(found[f"{tag}/rmse"] / root_mean_square(t))
            found[f"{tag}/relative"] = relative[-1]
            found[f"{tag}/digits"] = right_digits(y, t).mean().to(y)
            for step, row in enumerate(trace):
                found[f"metric/trace/{name}/{step}"] = answers[row]
        return found | {_TEST: torch.stack(relative[1:]).mean(0)}

    def _test(self, table: programs.Programs) -> tuple[texts.Reading, torch.Tensor, list[int]]:
        """Return what is read, its results, and the rows of the program that is shown."""
        steps = next(programs.in_steps(table))
        one = programs.shown(table)
        place = (-table.lengths).argsort(kind="stable").tolist().index(one)
        rows = (np.cumsum((0, *steps.counts))[: table.lengths[one]] + place).tolist()
        return (*self._reading(steps), rows)

    def get_state(self, run: int) -> dict[str, Any]:
        return {"taken": self._taken, "random": self.random}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self._taken, self._block = state["taken"], None


def sees_value(config: Config) -> bool:
    """Return whether the numbers are inputs of the LSTM: the flag, or yes for baselines."""
    return (config.controller_sees_value or ("yes", "no")[config.layer_type in MACHINES]) == "yes"


def sees_registers(config: Config) -> bool:
    """Return whether the registers are inputs of the controller: the flag, or yes for programs."""
    if config.layer_type not in MACHINES:
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


def _check_reader(c: Config) -> None:
    """Reject flags of a controller that the layer does not have, or that is the layer itself."""
    if c.layer_type in MACHINES:
        for option in sorted(entries()[c.layer_type].options):
            if c.is_typed(option):
                flag = f"--{option.replace('_', '-')}"
                problem = f"the controller makes the matrices of the {c.layer_type}"
                raise OptionError(flag, problem, "leave it out")
        return
    for flag in ("controller_sees_value", "controller_sees_registers", "register_size"):
        if c.is_typed(flag):
            problem = f"{c.layer_type} has no controller and no registers"
            remedy = f"leave it out, or use --layer-type {MACHINES[-1]}"
            raise OptionError(f"--{flag.replace('_', '-')}", problem, remedy)


def _check_ranges(c: Config) -> None:
    """Require test ranges of other numbers than those of training."""
    if c.train_range in c.test_ranges:
        text = str(c.train_range).replace(" ", "")
        problem = f"{text} is the range of training, which is measured anyway"
        raise OptionError("--test-ranges", problem, "leave it out")


def _ranges(c: Config) -> str:
    return "-".join(("e", *(str(end) for ends in c.test_ranges for end in ends)))


def _yes_or_no(name: str, help: str) -> Flag:
    return choice(name, None, help, ("yes", "no"))


SCRIPT = task_script(
    "program_evaluation",
    summary="Train a reader of small programs, token by token, and measure what it makes of larger "
    "numbers than those it was trained on.",
    example="--program addition --layer-type NALU --seed 0-2",
    task=(
        LAYER_TYPE.but(
            help="Unit of the registers that an LSTM controls, NAC or NALU; others are recurrent "
            "cells whose last state is read.",
            choices=lambda: tuple(dict.fromkeys(("LSTM", "UGRNN", *MACHINES, *cell_names()))),
        ),
        choice(
            "--program",
            "addition",
            "Sums alone, or programs of +, - and if.",
            ("addition", "programs"),
        ),
        Flag(
            "--nesting",
            integer(1),
            None,
            "Operations of a program, each but the first on the result of the one before; by "
            "default 1 for addition, 2 for programs.",
        ),
        Flag("--train-range", whole_range, [0, 100], "Range of the numbers in training."),
        Flag(
            "--test-ranges",
            whole_ranges,
            [[100, 1000], [1000, 10000]],
            "Ranges of numbers that are tested, each by itself.",
        ),
        Flag("--hidden-size", integer(1), 64, "Width of the LSTM or cell."),
        Flag("--register-size", integer(1), 4, "Number of registers."),
        _yes_or_no(
            "--controller-sees-value",
            "Whether the LSTM sees the numbers, by default not if it controls registers.",
        ),
        _yes_or_no(
            "--controller-sees-registers",
            "Whether the LSTM sees tanh of the registers, by default only for programs, as an if "
            "needs a comparison.",
        ),
        MAX_ITERATIONS.but(default=10000),
    ),
    fragments=(
        "p-{program} k{nesting} i-{train_range:pair}",
        nf.NameField(_ranges, ("test_ranges",)),
        "h{hidden_size} r{register_size} v-{controller_sees_value} n-{controller_sees_registers}",
    ),
    checks=(_check_reader, _check_ranges),
    batch_size=64,
    learning_rate=3e-3,
    clip_grad_norm=1.0,
)
TASK = ProgramTask
