"""Programs of `+`, `-` and `if`: read token by token, and tested on larger numbers.

Section 4.4 of the NALU paper and its figure of programs. Its sizes, rates and steps, and the
numbers of that figure, are not published; a differentiable neural computer, which it compares with
as well, is left out.

A program of nesting k is k operations: the first has numbers as operands, every later one has the
program so far, in parentheses and at a random place, and numbers for the others. They read as
Python does: `12 if ( 7 + 5 ) < 9 else 40`. A controller programs an arithmetic unit at every word
of a program; other readers are baselines.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import linear, lstm_step, nac_weight
from stable_nalu.layer import entries
from stable_nalu.layer.base import Cell
from stable_nalu.layer.nalu import LARGEST_EXPONENT
from stable_nalu.layer.registry import GeneralizedCell
from stable_nalu.network.dense import Dense
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import cell_names, choice, integer, whole_range, whole_ranges
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS, refuse
from stable_nalu.training import floats
from stable_nalu.training.task import Batch, Kind, Task

from .shared import task_script

TOKENS = ("num", "+", "-", "if", "<", ">", "else", "(", ")")
"""Words of a program; `num` stands for any number, which is one token, whatever its length."""
BLANK = -1
"""What fills up the shorter programs of a table."""

_FORMS = (
    ("num", "+", "num"),
    ("num", "-", "num"),
    ("num", "if", "num", "<", "num", "else", "num"),
    ("num", "if", "num", ">", "num", "else", "num"),
)
_WIDTH = max(map(len, _FORMS))
_OPERANDS = np.array([form.count("num") for form in _FORMS])
_MOST = int(_OPERANDS.max())
_WORDS = np.array([[TOKENS.index(w) for w in f] + [BLANK] * (_WIDTH - len(f)) for f in _FORMS])
_COLUMNS = np.array(
    [([at for at, word in enumerate(f) if word == "num"] + [0] * _MOST)[:_MOST] for f in _FORMS]
)
"""Forms of an operation, as tokens, and where their operands are."""

PROGRAMS = {"addition": (1,), "programs": (1, 1, 2)}
"""Kind of programs -> how many forms each of its operations has, in the order above.

An `if` compares by `<` or `>`, with equal chance.
"""
USUAL_NESTING = {"addition": 1, "programs": 2}


class Programs(NamedTuple):
    """Programs as tables of tokens `(count, length)`.

    tokens: places in `TOKENS`, or BLANK. values: the numbers, and 0 for other tokens. lengths,
    results: how many tokens each has, and what it computes.
    """

    tokens: np.ndarray
    values: np.ndarray
    lengths: np.ndarray
    results: np.ndarray


class Steps(NamedTuple):
    """Programs read token by token; the longest come first.

    counts: how many of them have a token at each step. tokens, values `(rows,)`: of all programs
    at the first step, then at the second, and so on. ends `(batch,)`: the row of each program's
    last token. results `(batch,)`: what they compute.
    """

    counts: tuple[int, ...]
    tokens: np.ndarray
    values: np.ndarray
    ends: np.ndarray
    results: np.ndarray


def draw(
    random: np.random.Generator, kind: str, count: int, nesting: int, low: int, high: int
) -> Programs:
    """Draw programs of whole numbers from `low` to `high`, the latter left out."""
    chance = random.random((3, count, nesting))
    numbers = random.integers(low, high, (count, nesting, _MOST))
    sizes = np.array(PROGRAMS[kind])
    operation = (chance[0] * len(sizes)).astype(np.int64)
    forms = (sizes.cumsum() - sizes)[operation] + (chance[1] * sizes[operation]).astype(np.int64)
    # Which operand the program so far is.
    places = (chance[2] * _OPERANDS[forms]).astype(np.int64)
    row = np.arange(count)
    # Tokens and values, side by side.
    opens, closes = (np.full((count, 1, 2), (TOKENS.index(sign), 0)) for sign in "()")
    written = np.empty((count, 0, 2), np.int64)
    results = np.empty(count, np.int64)
    for level, (form, place) in enumerate(zip(forms.T, places.T, strict=True)):
        own, operands = np.stack((_WORDS[form], np.zeros_like(_WORDS[form])), -1), numbers[:, level]
        # Forms with fewer operands have numbers too many, all for column 0: the first comes last.
        for operand in reversed(range(_MOST)):
            own[row, _COLUMNS[form, operand], 1] = operands[:, operand]
        if level:
            column = np.arange(_WIDTH) - _COLUMNS[form, place][:, None]
            before = np.where((column < 0)[..., None], own, (BLANK, 0))
            behind = np.where((column > 0)[..., None], own, (BLANK, 0))
            own = np.concatenate((before, opens, written, closes, behind), 1)
            operands[row, place] = results
        written = own
        a, b, c, d = operands.T
        results = np.choose(form, (a + b, a - b, np.where(b < c, a, d), np.where(b > c, a, d)))
    blank = written[..., 0] == BLANK
    lengths = (~blank).sum(1)
    order = blank.argsort(1, kind="stable")[:, : lengths.max(), None]
    tokens, values = np.moveaxis(np.take_along_axis(written, order, 1), -1, 0)
    return Programs(tokens, values, lengths, results)


def in_steps(programs: Programs, batches: int = 1) -> Iterator[Steps]:
    """Yield programs batch by batch, in the order in which they are read."""
    for part in np.split(np.arange(len(programs.lengths)), batches):
        order = part[(-programs.lengths[part]).argsort(kind="stable")]
        tokens, values, lengths, results = (own[order] for own in programs)
        # Rows of each step that have a token: the first so many.
        counts = (lengths[:, None] > np.arange(tokens.shape[1])).sum(0)
        places = np.arange(len(order))
        step, row = (places < counts[:, None]).nonzero()
        ends = (counts.cumsum() - counts)[lengths - 1] + places
        own = tuple(counts[counts > 0].tolist())
        yield Steps(own, tokens[row, step], values[row, step], ends, results)


VALID_SEED, TEST_SEED = 20180801, 20180802
TESTED = 1000
"""Programs of each range of numbers that are tested."""


def evaluated(
    kind: str, nesting: int, train_range: Sequence[int], test_ranges: Sequence[Sequence[int]]
) -> list[Programs]:
    """Return the programs that all runs are tested on: of the range of training, and of others."""
    seeds = [(VALID_SEED, 0), *((TEST_SEED, place) for place in range(len(test_ranges)))]
    return [
        draw(np.random.default_rng(seed), kind, TESTED, nesting, low, high)
        for seed, (low, high) in zip(seeds, (train_range, *test_ranges), strict=True)
    ]


def shown(programs: Programs) -> int:
    """Return the place of the program that is shown: the first one of a middle length."""
    return int((programs.lengths == np.sort(programs.lengths)[len(programs.lengths) // 2]).argmax())


def words(programs: Programs, row: int) -> list[str]:
    tokens = programs.tokens[row, : programs.lengths[row]].tolist()
    numbers = programs.values[row].tolist()
    return [
        str(number) if TOKENS[token] == "num" else TOKENS[token]
        for token, number in zip(tokens, numbers, strict=False)
    ]


MATRICES = {"NAC": 2, "NALU": 3}
"""Units whose matrices the controller makes at every step -> how many these are."""

_EPSILON = 1e-7


class Reading(NamedTuple):
    """Programs as the network reads them, step by step; see `Steps`.

    x `(*runs, rows, inputs)`: what is known beforehand of the controller's inputs, or a row per
    step where this is the same for all programs. values `(*runs, rows)`.
    """

    counts: tuple[int, ...]
    x: torch.Tensor
    values: torch.Tensor
    ends: torch.Tensor

    @property
    def counts_of_x(self) -> tuple[int, ...]:
        shared = self.x.shape[-2] < self.values.shape[-1]
        return (1,) * len(self.counts) if shared else self.counts


def sees_value(config: Config) -> bool:
    """Return whether the numbers are inputs of the LSTM: the flag, or yes for baselines."""
    return (config.controller_sees_value or ("yes", "no")[config.layer_type in MATRICES]) == "yes"


def sees_registers(config: Config) -> bool:
    """Return whether the registers are inputs of the controller: the flag, or yes for programs."""
    if config.layer_type not in MATRICES:
        return False
    usual = "yes" if config.program == "programs" else "no"
    return (config.controller_sees_registers or usual) == "yes"


class ProgramNetwork(ExtendedTorchModule):
    """Read programs and say what they compute: `Reading` -> `(*runs, batch)`.

    NAC, NALU: K registers n start at 0, and the unit maps the number that is read and the registers
    to registers, n_t = unit([v_t, n_{t-1}]); the first one is the answer. Its matrices are biased
    linear maps of h_t, the output of an LSTM, the controller, which may see v_t and tanh(n_{t-1}).
    Other units are recurrent cells, whose last state a linear layer reads.
    """

    def __init__(self, c: Config, **layer_options: Any):
        super().__init__("network")
        unit, self.hidden_size, self.register_size = c.layer_type, c.hidden_size, c.register_size
        self.unit_name, self.sees_registers = unit, sees_registers(c)
        self.known = inputs = len(TOKENS) + sees_value(c)
        if unit in MATRICES:
            seen = inputs + c.register_size * self.sees_registers
            self.core = GeneralizedCell(seen, c.hidden_size, "LSTM", name="controller")
            size = MATRICES[unit] * c.register_size * (1 + c.register_size)
            self.matrices = Dense(c.hidden_size, size, name="matrices")
            return
        if unit == "UGRNN":
            self.core = UGRNNCell(inputs, c.hidden_size)
        else:
            self.core = GeneralizedCell(inputs, c.hidden_size, unit, name="core", **layer_options)
        self.answer = Dense(c.hidden_size, 1, name="answer")

    def forward(self, programs: Reading) -> torch.Tensor:
        return self.answers(programs).gather(-1, programs.ends)

    def answers(self, programs: Reading) -> torch.Tensor:
        """Return what the network would answer after each token, `(*runs, rows)`."""
        if self.unit_name not in MATRICES:
            return self.answer(self._hidden(programs)).squeeze(-1)
        if self.sees_registers:
            return self._computed_seen(programs)
        registers, found = None, []
        rows = self.matrices(self._hidden(programs)).split(programs.counts_of_x, -2)
        for of_step, value in zip(rows, programs.values.split(programs.counts, -1), strict=True):
            registers = self._next(of_step, value, registers)
            found.append(registers[..., 0, :])
        return torch.cat(found, -1)

    def _computed_seen(self, programs: Reading) -> torch.Tensor:
        """Return the answers where the controller sees the registers: steps that wait for these."""
        cell, dense = self.core.cell, self.matrices
        of_x, of_n = cell.weight_ih.split((self.known, self.register_size), -1)
        of_state = torch.cat((of_n, cell.weight_hh), -1)
        inputs = linear(programs.x, of_x, cell.bias_ih + cell.bias_hh)
        bias = dense.bias.unsqueeze(-2).expand(*inputs.shape[:-1], dense.out_features)
        gates, made = _StepByStep(inputs, of_state, programs), _StepByStep(bias, dense.W, programs)
        h = c = inputs.new_zeros(*inputs.shape[:-2], programs.counts[0], self.hidden_size)
        registers, found = None, []
        values = programs.values.split(programs.counts, -1)
        for count, value in zip(programs.counts, values, strict=True):
            if registers is None:
                seen = h.new_zeros(*h.shape[:-1], self.register_size)
            else:
                seen = torch.tanh(registers[..., :count].mT)
            h, c = h[..., :count, :], c[..., :count, :]
            h, c = lstm_step(gates.of(torch.cat((seen, h), -1)), c)
            registers = self._next(made.of(h), value, registers)
            found.append(registers[..., 0, :])
        return torch.cat(found, -1)

    def _hidden(self, programs: Reading) -> torch.Tensor:
        """Return the state behind each row of x, which is all that the core sees."""
        if self.unit_name == "LSTM" or self.unit_name in MATRICES:
            return _lstm(programs, self.core.cell)
        if isinstance(self.core, UGRNNCell):
            return self.core.unrolled(programs)
        return _unrolled(programs, programs.x, self.hidden_size, self.core)

    def _next(
        self, made: torch.Tensor, value: torch.Tensor, registers: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the registers behind a step, `(*runs, K, batch)`.

        made: what the controller says, `(*runs, batch, matrices x K x (1 + K))`; a row may be all.
        """
        if registers is None:
            registers = value.new_zeros(*value.shape[:-1], self.register_size, value.shape[-1])
        x = torch.cat((value.unsqueeze(-2), registers[..., : value.shape[-1]]), -2).unsqueeze(-3)
        # A matrix for each row: elements of all rows lie side by side, products of matrices so
        # small would take longer.
        sizes = (MATRICES[self.unit_name], self.register_size, 1 + self.register_size)
        w_hat, m_hat, *G = made.mT.contiguous().unflatten(-2, sizes).unbind(-4)
        W = nac_weight(w_hat, m_hat)
        a = (W * x).sum(-2)
        if not G:
            return a
        exponent = (W * torch.log(x.abs() + _EPSILON)).sum(-2)
        m = torch.exp(exponent.clamp(max=LARGEST_EXPONENT))
        g = torch.sigmoid((G[0] * x).sum(-2))
        return m + g * (a - m)


class _StepByStep:
    """A linear map z + x W^T whose x is only known step by step, and z beforehand.

    The gradient of W is one product for all steps together. Shapes: z `(*runs, rows, out)`, W
    `(*runs, out, in)`, x `(*runs, rows of the step, in)`.
    """

    def __init__(self, z: torch.Tensor, W: torch.Tensor, programs: Reading):
        self._seen: list[torch.Tensor] = []
        self._parts = iter(_WeightOfAllSteps.apply(z, W, self._seen).split(programs.counts, -2))
        self._W = W.detach().mT

    def of(self, x: torch.Tensor) -> torch.Tensor:
        self._seen.append(x.detach())
        return next(self._parts) + x @ self._W


class _WeightOfAllSteps(torch.autograd.Function):
    """Gives z on, and takes the gradient of W from all that steps have made of z."""

    @staticmethod
    def forward(ctx: Any, z, W, seen):  # noqa: ARG004
        ctx.seen = seen
        return z.view_as(z)

    @staticmethod
    def backward(ctx: Any, dz):  # pyright: ignore[reportIncompatibleMethodOverride]
        return dz, dz.mT @ torch.cat(ctx.seen, -2), None


def _lstm(programs: Reading, cell: ExtendedTorchModule) -> torch.Tensor:
    inputs = linear(programs.x, cell.weight_ih, cell.bias_ih + cell.bias_hh)
    counts, W = programs.counts_of_x, cell.weight_hh.mT
    h = c = inputs.new_zeros(*inputs.shape[:-2], counts[0], cell.hidden_size)
    found: list[torch.Tensor] = []
    for gates in inputs.split(counts, -2):
        count = gates.shape[-2]
        # The first state is 0.
        own = gates + h[..., :count, :] @ W if found else gates
        h, c = lstm_step(own, c[..., :count, :])
        found.append(h)
    return torch.cat(found, -2)


def _unrolled(
    programs: Reading, inputs: torch.Tensor, size: int, cell: Callable[..., torch.Tensor]
) -> torch.Tensor:
    """Return the states of a cell behind all rows, which starts at 0."""
    found: list[torch.Tensor] = []
    h = inputs.new_zeros(*inputs.shape[:-2], programs.counts[0], size)
    for x in inputs.split(programs.counts, -2):
        h = cell(x, h[..., : x.shape[-2], :])
        found.append(h)
    return torch.cat(found, -2)


class UGRNNCell(Cell):
    r"""Map (x_t, h) to h_t: the update gate cell of Collins et al. (2016, arXiv:1611.09913).

        c = tanh(A [x_t, h] + a);   g = sigmoid(B [x_t, h] + b)
        h_t = g h + (1 - g) c

    Initial parameters are drawn from U(+-1 / sqrt(hidden)), as in torch's cells.
    """

    def __init__(self, input_size: int, hidden_size: int, *, name: str | None = "core"):
        super().__init__(input_size, hidden_size, name=name)
        self.weight_ih = torch.nn.Parameter(torch.empty(2 * hidden_size, input_size))
        self.weight_hh = torch.nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        self.bias = torch.nn.Parameter(torch.empty(2 * hidden_size))

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        z = linear(x_t, self.weight_ih, self.bias) + h_tm1 @ self.weight_hh.mT
        return _moved(z, h_tm1)

    def unrolled(self, programs: Reading) -> torch.Tensor:
        """Return the states behind all rows of x."""
        step = _StepByStep(linear(programs.x, self.weight_ih, self.bias), self.weight_hh, programs)
        return _unrolled(programs, programs.x, self.hidden_size, lambda _, h: _moved(step.of(h), h))


def _moved(z: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """Return h moved towards its new value, given the map of input and state."""
    new, kept = z.chunk(2, dim=-1)
    new = torch.tanh(new)
    return new + torch.sigmoid(kept) * (h - new)


BLOCK = 16
"""Batches that are drawn at once, as most of the work is done once per drawing."""

_TEST = "metric/test/relative"
_LARGEST = 10.0**18


class ProgramTask(Task):
    """Compute programs; the loss is the root of the mean squared error of a batch.

    Each range of numbers has three measures: that error, the same relative to the root of the
    mean squared result, and the share of digits that are right. Of one program, what would be
    answered after each token is logged, too.
    """

    kind = Kind(cost=50, errors=("metric/valid/relative", _TEST))

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        self.random = np.random.default_rng(config.seed)
        """It stands before the block whose batches are taken."""
        self._nesting = config.nesting or USUAL_NESTING[config.program]
        self._same_words = config.program == "addition" and self._nesting == 1
        self._block: Iterator[Steps] | None = None
        self._behind = self.random
        self._taken = 0
        ranges = config.train_range, config.test_ranges
        low, high = config.train_range
        beyond = ", ".join(f"[{first}, {last})" for first, last in config.test_ranges)
        what = f"{config.program} of nesting {self._nesting}"
        self.about = f"dataset: {what}, numbers from [{low}, {high}); tested from {beyond}"
        tested = evaluated(config.program, self._nesting, *ranges)
        self._tests = [
            (f"{low}-{high}", *self._test(of_range))
            for (low, high), of_range in zip((ranges[0], *ranges[1]), tested, strict=True)
        ]

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return ProgramNetwork(config, **layer_options)

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

    def _drawn(self) -> Iterator[Steps]:
        self._behind = deepcopy(self.random)
        count = self.config.batch_size * BLOCK
        low, high = self.config.train_range
        drawn = draw(self._behind, self.config.program, count, self._nesting, low, high)
        return in_steps(drawn, BLOCK)

    def _reading(self, steps: Steps) -> Batch:
        values = floats(torch.from_numpy(steps.values), self.device)
        tokens = steps.tokens
        if self._same_words and not sees_value(self.config):
            # All programs read the same to a controller that sees words alone.
            tokens = tokens[:: steps.counts[0]]
        # What each token is seen as; the last one is that of a blank.
        one_hot = np.vstack((np.eye(len(TOKENS)), np.zeros(len(TOKENS))))
        x = floats(torch.from_numpy(one_hot[tokens]), self.device)
        if sees_value(self.config):
            scale = max(map(abs, self.config.train_range))
            x = torch.cat((x, values.unsqueeze(-1) / scale), -1)
        results = floats(torch.from_numpy(steps.results), self.device)
        ends = torch.from_numpy(steps.ends).to(self.device)
        return Reading(steps.counts, x, values, ends), results

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

    def _test(self, table: Programs) -> tuple[Reading, torch.Tensor, list[int]]:
        """Return what is read, its results, and the rows of the program that is shown."""
        steps = next(in_steps(table))
        one = shown(table)
        place = (-table.lengths).argsort(kind="stable").tolist().index(one)
        rows = (np.cumsum((0, *steps.counts))[: table.lengths[one]] + place).tolist()
        return (*self._reading(steps), rows)

    def get_state(self, run: int) -> dict[str, Any]:
        return {"taken": self._taken, "random": self.random}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self._taken, self._block = state["taken"], None


def root_mean_square(error: torch.Tensor) -> torch.Tensor:
    """Return the root of the mean square over the last dimension; its gradient at 0 is 0."""
    return torch.linalg.vector_norm(error, dim=-1) / error.shape[-1] ** 0.5


def right_digits(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return the share of characters of each rounded `y` that match `t`.

    Both are written as whole numbers and aligned at their last digits. A sign is a character, and a
    character without a partner is wrong. A number that is not finite is all wrong.
    """
    shares: list[float] = []
    for answer, result in zip(y.tolist(), t.tolist(), strict=True):
        both = max(-_LARGEST, min(answer, _LARGEST)), result
        backwards = [str(round(n))[::-1] for n in both] if math.isfinite(answer) else ("-", "0")
        signs = list(zip_longest(*backwards))
        shares.append(sum(one == other for one, other in signs) / len(signs))
    return torch.tensor(shares, device=y.device)


# A flag is a few lines of a table.
# fmt: off
def _check_reader(c: Config) -> None:
    """Reject flags of a controller that the layer does not have, or that is the layer itself."""
    made = c.layer_type in MATRICES
    of_controller = "controller_sees_value", "controller_sees_registers", "register_size"
    for option in sorted(entries()[c.layer_type].options) if made else of_controller:
        flag, has_none = f"--{option.replace('_', '-')}", "has no controller and no registers"
        refuse(c.is_typed(option), flag,
            f"the controller makes the matrices of the {c.layer_type}" if made
            else f"{c.layer_type} {has_none}",
            "leave it out" if made else "leave it out, or use --layer-type NALU")


def _check_ranges(c: Config) -> None:
    text = str(c.train_range).replace(" ", "")
    refuse(c.train_range in c.test_ranges, "--test-ranges",
        f"{text} is the range of training, which is measured anyway", "leave it out")


_YES_OR_NO = "yes", "no"
_TASK = (
    LAYER_TYPE.but(
        help="Unit of the registers that an LSTM controls, NAC or NALU; others are recurrent "
        "cells whose last state is read.",
        choices=lambda: tuple(dict.fromkeys(("LSTM", "UGRNN", *MATRICES, *cell_names())))),
    choice("--program", "addition", "Sums alone, or programs of +, - and if.", tuple(PROGRAMS),
        in_name="p-{program}"),
    Flag("--nesting", integer(1), None,
        "Operations of a program, each but the first on the result of the one before; by "
        "default 1 for addition, 2 for programs.", in_name="k{nesting}"),
    Flag("--train-range", whole_range, [0, 100], "Range of the numbers in training.",
        in_name="i-{train_range:pair}"),
    Flag("--test-ranges", whole_ranges, [[100, 1000], [1000, 10000]],
        "Ranges of numbers that are tested, each by itself.", in_name="e-{test_ranges:ends}"),
    Flag("--hidden-size", integer(1), 64, "Width of the LSTM or cell.", in_name="h{hidden_size}"),
    Flag("--register-size", integer(1), 4, "Number of registers.", in_name="r{register_size}"),
    choice("--controller-sees-value", None,
        "Whether the LSTM sees the numbers, by default not if it controls registers.", _YES_OR_NO,
        in_name="v-{controller_sees_value}"),
    choice("--controller-sees-registers", None,
        "Whether the LSTM sees tanh of the registers, by default only for programs, as an if "
        "needs a comparison.", _YES_OR_NO, in_name="n-{controller_sees_registers}"),
    MAX_ITERATIONS.but(default=10000),
)
SCRIPT = task_script(
    "program_evaluation",
    summary="Train a reader of small programs, and test it on larger numbers.",
    example="--program addition --layer-type NALU --seed 0-2",
    task=_TASK,
    checks=(_check_reader, _check_ranges), batch_size=64, learning_rate=3e-3, clip_grad_norm=1.0,
)
TASK = ProgramTask
