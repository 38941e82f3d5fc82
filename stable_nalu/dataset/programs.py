"""Small programs of `+`, `-` and `if`, and the numbers that they compute.

A program of nesting k is k operations: the first has numbers as operands, every later one has the
program so far, in parentheses and at a random place, and numbers for the others. They read as
Python does: `12 if ( 7 + 5 ) < 9 else 40`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

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


class Draws(NamedTuple):
    """What programs are made of.

    form: their operations `(count, nesting)`. place: which operand the program so far is.
    numbers: all operands `(count, nesting, 4)`, more than are used.
    """

    form: np.ndarray
    place: np.ndarray
    numbers: np.ndarray


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

    counts: how many of them have a token at each step, and are read on. tokens, values `(rows,)`:
    those of the first step, then those of the second, and so on. ends `(batch,)`: the row of each
    program's last token. results `(batch,)`: what they compute.
    """

    counts: tuple[int, ...]
    tokens: np.ndarray
    values: np.ndarray
    ends: np.ndarray
    results: np.ndarray


def draw(
    random: np.random.Generator, kind: str, count: int, nesting: int, low: int, high: int
) -> Draws:
    """Draw programs of whole numbers from `low` to `high`, the latter left out."""
    chance = random.random((3, count, nesting))
    numbers = random.integers(low, high, (count, nesting, _MOST))
    sizes = np.array(PROGRAMS[kind])
    operation = (chance[0] * len(sizes)).astype(np.int64)
    form = (sizes.cumsum() - sizes)[operation] + (chance[1] * sizes[operation]).astype(np.int64)
    return Draws(form, (chance[2] * _OPERANDS[form]).astype(np.int64), numbers)


def write(draws: Draws) -> Programs:
    """Return the programs that were drawn, in their order."""
    count, nesting = draws.form.shape
    tokens = values = np.empty((count, 0), np.int64)
    results = np.empty(count, np.int64)
    row, column = np.arange(count), np.arange(_WIDTH)
    for level in range(nesting):
        form, place, numbers = draws.form[:, level], draws.place[:, level], draws.numbers[:, level]
        words, own = _WORDS[form], np.zeros((count, _WIDTH), np.int64)
        # Forms with fewer operands have numbers too many, all for column 0: the first comes last.
        for operand in reversed(range(_MOST)):
            own[row, _COLUMNS[form, operand]] = numbers[:, operand]
        if level == 0:
            tokens, values = words, own
        else:
            at = _COLUMNS[form, place][:, None]
            tokens = _around(words, tokens, column, at, (TOKENS.index("("), TOKENS.index(")")))
            values = _around(own, values, column, at, (0, 0), filler=0)
            numbers = numbers.copy()
            numbers[row, place] = results
        results = _computed(form, numbers)
    lengths = (tokens != BLANK).sum(1)
    order = (tokens == BLANK).argsort(1, kind="stable")[:, : lengths.max()]
    tokens, values = (np.take_along_axis(part, order, 1) for part in (tokens, values))
    return Programs(tokens, values, lengths, results)


def _around(
    outer: np.ndarray,
    inner: np.ndarray,
    column: np.ndarray,
    at: np.ndarray,
    signs: tuple[int, int],
    filler: int = BLANK,
) -> np.ndarray:
    """Return `outer` with `inner`, between two signs, in place of its column `at`."""
    opens, closes = (np.full((len(outer), 1), sign) for sign in signs)
    before, behind = (np.where(kept, outer, filler) for kept in (column < at, column > at))
    return np.concatenate((before, opens, inner, closes, behind), 1)


def _computed(form: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return what operations give, whose operands are in the order of the text."""
    a, b, c, d = numbers.T
    chosen = (np.where(b < c, a, d), np.where(b > c, a, d))
    return np.choose(form, (a + b, a - b, *chosen))


def in_steps(programs: Programs, batches: int = 1) -> Iterator[Steps]:
    """Yield programs batch by batch, in the order in which they are read."""
    lengths = programs.lengths.reshape(batches, -1)
    order = (-lengths).argsort(-1, kind="stable")
    lengths = np.take_along_axis(lengths, order, -1)
    results = np.take_along_axis(programs.results.reshape(batches, -1), order, -1)
    table = order[..., None]
    tokens = np.take_along_axis(programs.tokens.reshape(*order.shape, -1), table, 1)
    values = np.take_along_axis(programs.values.reshape(*order.shape, -1), table, 1)
    places, steps = np.arange(order.shape[-1]), np.arange(tokens.shape[-1])
    # Rows of each step that have a token: the first so many.
    counts = (lengths[..., None] > steps).sum(1)
    for batch, of_steps in enumerate(counts):
        step, row = (places < of_steps[:, None]).nonzero()
        ends = (of_steps.cumsum() - of_steps)[lengths[batch] - 1] + places
        yield Steps(
            tuple(of_steps[of_steps > 0].tolist()),
            tokens[batch, row, step],
            values[batch, row, step],
            ends,
            results[batch],
        )


VALID_SEED, TEST_SEED = 20180801, 20180802
TESTED = 1000
"""Programs of each range of numbers that are tested."""


def evaluated(
    kind: str, nesting: int, train_range: Sequence[int], test_ranges: Sequence[Sequence[int]]
) -> list[Programs]:
    """Return the programs that all runs are tested on: of the range of training, and of others."""
    seeds = [(VALID_SEED, 0), *((TEST_SEED, place) for place in range(len(test_ranges)))]
    return [
        write(draw(np.random.default_rng(seed), kind, TESTED, nesting, low, high))
        for seed, (low, high) in zip(seeds, (train_range, *test_ranges), strict=True)
    ]


def shown(programs: Programs) -> int:
    """Return the place of the program that is shown: the first one of a middle length."""
    return int((programs.lengths == np.sort(programs.lengths)[len(programs.lengths) // 2]).argmax())


def words(programs: Programs, row: int) -> list[str]:
    """Return the words of a program, with its numbers."""
    tokens = programs.tokens[row, : programs.lengths[row]].tolist()
    numbers = programs.values[row].tolist()
    return [
        str(number) if TOKENS[token] == "num" else TOKENS[token]
        for token, number in zip(tokens, numbers, strict=False)
    ]
